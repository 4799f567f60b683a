/* Tests the limits of the server of keys: no overflow, and a refused command leaves no key. */
#include "keys.h"
#include "test.h"

#include <string.h>

static struct keys keys;

static int set_up(void **state) {
    memset(&keys, 0, sizeof keys);
    return 0;
}

static void test_moments_do_not_overflow(void **state) {
    struct kv_call set = {KV_SET_ABSENT, .key = "k", .value = "x", .ttl_ms = INT64_MAX};
    struct kv_call expire = {KV_EXPIRE, .key = "k", .ttl_ms = INT64_MAX};

    assert_int_equal(keys_call(&keys, 0, 1000, &set), OUTCOME_BUSY);
    assert_string_equal(set.reply, "ERR invalid expire time in 'set' command");
    set.ttl_ms = 0;
    assert_int_equal(keys_call(&keys, 0, 1000, &set), OUTCOME_OK);
    assert_int_equal(keys_call(&keys, 0, 1000, &expire), OUTCOME_BUSY);
    assert_int_equal(keys.key_count, 1);
    assert_int_equal(keys_expire_next(&keys), 0);
}

static void test_rows_without_room_are_refused(void **state) {
    struct data_set set = {.token = "a"};
    struct stock_row row = {.first_unit = 1, .available = 1};
    struct loaded_unit taken;

    segments_open(&keys.segments[0], &set);
    for (int i = 0; i < SEGMENTS_AHEAD; i++, set.last = row.shard++)
        assert_int_equal(segments_load(&keys.segments[0], &set, &row), OUTCOME_OK);
    assert_int_equal(segments_load(&keys.segments[0], &set, &row), OUTCOME_BUSY);
    assert_int_equal(segments_take(&keys.segments[0], 0, true, 1000, &taken), OUTCOME_OK);
    assert_int_equal(segments_load(&keys.segments[0], &set, &row), OUTCOME_OK);
}

/* The value has no room, so the key must not appear without it. */
static void test_a_key_without_room_is_not_set(void **state) {
    char value[2 * KV_TEXT] = "";
    struct kv_call call = {KV_SET_ABSENT, .key = "k", .value = value};

    memset(value, 'x', sizeof value - 1);
    assert_int_equal(keys_call(&keys, 0, 1000, &call), OUTCOME_BUSY);
    assert_string_equal(call.reply, "ERR the model has no room for this key or its value");
    assert_int_equal(keys.key_count, 0);
    call.value = "x";
    assert_int_equal(keys_call(&keys, 0, 1000, &call), OUTCOME_OK);
    assert_true(call.is_yes);
}

static void test_only_numbers_are_counted(void **state) {
    struct kv_call count = {KV_COUNT, .key = "k"}, delete = {KV_DELETE, .key = "k"};
    static const char *const no[] = {"", "x", " 1", "01", "1 ", "-0", "9223372036854775807"};

    for (size_t i = 0; i < sizeof no / sizeof *no; i++) {
        struct kv_call set = {KV_SET_ABSENT, .key = "k", .value = no[i]};

        assert_int_equal(keys_call(&keys, 0, 1000, &set), OUTCOME_OK);
        assert_int_equal(keys_call(&keys, 0, 1000, &count), OUTCOME_BUSY);
        assert_int_equal(keys_call(&keys, 0, 1000, &delete), OUTCOME_OK);
    }
    for (int i = 1; i <= 12; i++)
        assert_int_equal(keys_call(&keys, 0, 1000, &count), OUTCOME_OK);
    assert_string_equal(count.reply, "12");
}

static void test_servers_share_nothing(void **state) {
    struct kv_call set = {KV_SET_ABSENT, .key = "k", .value = "x"};
    const struct keys old = keys;

    for (int i = 0; i < 3; i++) {
        assert_int_equal(keys_call(&keys, i, 1000, &set), OUTCOME_OK);
        assert_true(set.is_yes);
    }
    keys_lose(&keys, 1);
    assert_false(keys_are_at(&keys, 1));
    keys_go_back(&keys, &old, 0);
    assert_null(keys_find(&keys, 0, "k"));
    assert_non_null(keys_find(&keys, 2, "k"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_moments_do_not_overflow, set_up),
        cmocka_unit_test_setup(test_rows_without_room_are_refused, set_up),
        cmocka_unit_test_setup(test_a_key_without_room_is_not_set, set_up),
        cmocka_unit_test_setup(test_only_numbers_are_counted, set_up),
        cmocka_unit_test_setup(test_servers_share_nothing, set_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
