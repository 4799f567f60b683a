/* The layouts: tokens there and back, and channels. */
#include "test.h"
#include "wire_layout.h"

#include <string.h>

static const struct wire_layout *const layouts[] = {&wire_string, &wire_redisson};

static void test_a_token_is_a_thread_and_comes_back(void **state) {
    static const char *const cases[][2] = {
        {"0123456789abcdef0123456789abcdef00000000", "01234567-89ab-cdef-0123-456789abcdef:0"},
        {"ffffffffffffffffffffffffffffffffffffffff",
         "ffffffff-ffff-ffff-ffff-ffffffffffff:4294967295"},
        {"00000000000000000000000000000000000000ff", "00000000-0000-0000-0000-000000000000:255"}};
    char field[WIRE_FIELD_SIZE], owner[OWNER_SIZE];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_string_equal(wire_redisson.field_of(cases[i][0], field), cases[i][1]);
        wire_redisson.owner_of(field, owner);
        assert_string_equal(owner, cases[i][0]);
    }
}

/* The text that lk_inspect() showed, for lk_break(). */
static void test_what_others_wrote_stays_as_it_is(void **state) {
    static const char *const names[] = {"", "b983c153-7421-469a-addb-44fb92259a1b:1", "node 7"};
    char field[WIRE_FIELD_SIZE];

    for (size_t i = 0; i < 2 * sizeof names / sizeof *names; i++)
        assert_string_equal(layouts[i % 2]->field_of(names[i / 2], field), names[i / 2]);
}

static void test_redisson_names_its_channel_by_the_hash_tag(void **state) {
    char channel[WIRE_CHANNEL_SIZE], name[NAME_MAX_BYTES + 1];

    wire_redisson.channel_of("stock:42", channel);
    assert_string_equal(channel, "redisson_lock__channel:{stock:42}");
    wire_redisson.channel_of("stock:{42}", channel);
    assert_string_equal(channel, "redisson_lock__channel:stock:{42}");
    memset(name, 'n', NAME_MAX_BYTES);
    name[NAME_MAX_BYTES] = '\0';
    for (int i = 0; i < 2; i++) {
        layouts[i]->channel_of(name, channel);
        assert_int_equal(strspn(strchr(channel, '{') + 1, "n"), NAME_MAX_BYTES);
        assert_true(channel[strlen(channel) - 1] == (i == 0 ? 'e' : '}'));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_token_is_a_thread_and_comes_back),
        cmocka_unit_test(test_what_others_wrote_stays_as_it_is),
        cmocka_unit_test(test_redisson_names_its_channel_by_the_hash_tag),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
