/* The contract of keys that expire, of scripts, of a sale's own token, and of work in pieces. */
#include "seam_contract.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static struct sale *sales[2];

static void begin(const struct seam_world *world) {
    for (int i = 0; i < 2; i++)
        sales[i] = world->begin_sale(NULL);
}

static void end(const struct seam_world *world) {
    for (int i = 0; i < 2; i++)
        world->end_sale(sales[i]);
}

static struct stock_row read_row(struct sale *sale) {
    struct stock_row row;

    assert_int_equal(store_read_stock(sale, 0, &row), OUTCOME_OK);
    return row;
}

static void assert_key(struct sale *sale, const char *key, const char *value) {
    char found[KV_TEXT];

    assert_int_equal(store_kv_get(sale, key, found), OUTCOME_OK);
    assert_string_equal(found, value);
}

static void set(const char *key, int64_t ttl_ms) {
    bool was_set;

    assert_int_equal(store_kv_set_absent(sales[0], key, "a", ttl_ms, &was_set), OUTCOME_OK);
    assert_true(was_set);
}

void seam_key_ends_with_its_ttl(const struct seam_world *world) {
    begin(world);
    set("short", 40);
    set("long", 60000);
    set("late", 0);
    assert_int_equal(store_kv_expire(sales[0], "late", 40), OUTCOME_OK);
    assert_int_equal(store_kv_expire(sales[0], "never set", 40), OUTCOME_OK);
    world->sleep(60);
    assert_key(sales[0], "short", "");
    assert_key(sales[0], "late", "");
    assert_key(sales[0], "long", "a");
    end(world);
}

void seam_script_ends_at_the_first_no(const struct seam_world *world) {
    struct kv_call count = {KV_COUNT, .key = "number"};
    struct kv_call set = {KV_SET_ABSENT, .key = "lock", .value = "a", .ttl_ms = 60000,
                          .then = &count};
    struct kv_call expire = {KV_EXPIRE, .key = "lock", .ttl_ms = 40};
    struct kv_call is = {KV_IS, .key = "lock", .value = "b", .then = &expire};

    begin(world);
    assert_int_equal(store_kv(sales[0], &set), OUTCOME_OK);
    assert_true(set.is_yes && count.is_yes);
    assert_string_equal(count.reply, "1");
    assert_int_equal(store_kv(sales[1], &set), OUTCOME_OK);
    assert_false(set.is_yes || count.is_yes);
    assert_key(sales[1], "number", "1");
    assert_int_equal(store_kv(sales[1], &is), OUTCOME_OK);
    assert_false(is.is_yes || expire.is_yes);
    world->sleep(60);
    assert_key(sales[1], "lock", "a");
    is.value = "a";
    assert_int_equal(store_kv(sales[1], &is), OUTCOME_OK);
    assert_true(is.is_yes && expire.is_yes);
    world->sleep(60);
    assert_key(sales[1], "lock", "");
    end(world);
}

void seam_command_that_is_refused_ends_its_script(const struct seam_world *world) {
    struct kv_call count = {KV_COUNT, .key = "lock"};
    struct kv_call set = {KV_SET_ABSENT, .key = "lock", .value = "a", .then = &count};

    begin(world);
    assert_int_equal(store_kv(sales[0], &set), OUTCOME_BUSY);
    assert_false(set.is_yes || count.is_yes);
    assert_key(sales[0], "lock", "a"); /* the commands before it have taken effect */
    end(world);
}

void seam_sale_has_a_token_of_its_own(const struct seam_world *world) {
    struct stock_row seen, old;

    begin(world);
    seen = read_row(sales[0]);
    old = read_row(sales[1]);
    seen.token = 7;
    assert_int_equal(store_write_stock(sales[0], &seen, GUARD_FENCE, NULL), OUTCOME_SOLD);
    assert_int_equal(sales[0]->fence, 7);
    old.token = 8;
    assert_int_equal(store_write_stock(sales[1], &old, GUARD_FENCE, NULL), OUTCOME_CONFLICT);
    seen = read_row(sales[1]);
    assert_int_equal(seen.fence, 7);
    seen.token = 7;
    assert_int_equal(store_write_stock(sales[1], &seen, GUARD_FENCE, NULL), OUTCOME_CONFLICT);
    seen.token = 8;
    assert_int_equal(store_write_stock(sales[1], &seen, GUARD_FENCE, NULL), OUTCOME_SOLD);
    end(world);
}

void seam_work_is_done_in_pieces(const struct seam_world *world) {
    begin(world);
    assert_true(store_work_for(sales[0], 2));
    assert_true(store_work_for(sales[0], 2));
    assert_false(store_work_for(sales[0], 2));
    assert_true(store_work_for(sales[0], 2));
    store_work(sales[0]);
    assert_false(store_work_for(sales[0], 5));
    end(world);
}
