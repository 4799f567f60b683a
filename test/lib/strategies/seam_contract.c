/* What store.h promises, as steps of a few sales in one fiber: each step ends before the next
 * begins, so that every order of steps is written down here and none is left to luck. */
#include "seam_contract_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

struct sale *sales[SALES];

void begin_sales(const struct seam_world *world, const char *spec, int stock) {
    world->make_product(spec, stock);
    for (int i = 0; i < SALES; i++)
        sales[i] = world->begin_sale(NULL);
}

void end_sales(const struct seam_world *world) {
    for (int i = 0; i < SALES; i++)
        world->end_sale(sales[i]);
}

struct stock_row read_row(struct sale *sale, int shard) {
    struct stock_row row;

    assert_int_equal(store_read_stock(sale, shard, &row), OUTCOME_OK);
    assert_int_equal(row.shard, shard);
    return row;
}

enum outcome write_row(struct sale *sale, struct stock_row seen, enum guard guard) {
    return store_write_stock(sale, &seen, guard, NULL);
}

/* ---- stock */

static void a_write_sells_the_last_unit_that_was_seen(const struct seam_world *world) {
    struct stock_row before, after;

    begin_sales(world, "none", 5);
    before = read_row(sales[0], 0);
    assert_int_equal(before.first_unit, 1);
    assert_int_equal(before.available, 5);
    assert_int_equal(write_row(sales[0], before, GUARD_ANY), OUTCOME_SOLD);
    assert_int_equal(sales[0]->unit, 5);
    assert_int_equal(sales[0]->remaining, 4);
    assert_int_equal(sales[0]->fence, 0);
    after = read_row(sales[1], 0);
    assert_int_equal(after.available, 4);
    assert_int_equal(after.version, before.version + 1);
    end_sales(world);
}

static void an_unguarded_write_overwrites(const struct seam_world *world) {
    struct stock_row seen;

    begin_sales(world, "none", 5);
    seen = read_row(sales[2], 0);
    assert_int_equal(write_row(sales[0], read_row(sales[0], 0), GUARD_ANY), OUTCOME_SOLD);
    assert_int_equal(write_row(sales[1], read_row(sales[1], 0), GUARD_ANY), OUTCOME_SOLD);
    assert_int_equal(write_row(sales[2], seen, GUARD_ANY), OUTCOME_SOLD);
    assert_int_equal(sales[2]->unit, sales[0]->unit);
    assert_int_equal(read_row(sales[3], 0).available, 4);
    end_sales(world);
}

/* Nothing is written then, not in the ledger either. */
static void assert_conflict(struct sale *sale, struct stock_row seen, enum guard guard) {
    struct stock_row before = read_row(sale, 0), after;
    bool is_found = true;

    assert_int_equal(write_row(sale, seen, guard), OUTCOME_CONFLICT);
    after = read_row(sale, 0);
    assert_int_equal(after.available, before.available);
    assert_int_equal(after.version, before.version);
    assert_int_equal(store_find_sale(sale, &is_found), OUTCOME_OK);
    assert_false(is_found);
}

static void guards_see_what_changed_since(const struct seam_world *world) {
    static const enum guard guards[] = {GUARD_VERSION, GUARD_VALUE};

    for (size_t i = 0; i < sizeof guards / sizeof *guards; i++) {
        struct stock_row seen;

        begin_sales(world, "none", 5);
        seen = read_row(sales[0], 0);
        assert_int_equal(write_row(sales[1], read_row(sales[1], 0), guards[i]), OUTCOME_SOLD);
        assert_conflict(sales[0], seen, guards[i]);
        assert_int_equal(write_row(sales[0], read_row(sales[0], 0), guards[i]), OUTCOME_SOLD);
        assert_int_equal(sales[0]->unit, 4);
        end_sales(world);
    }
}

/* A value that came back is a version that did not. */
static void a_version_tells_what_a_value_does_not(const struct seam_world *world) {
    struct stock_row old, now;

    begin_sales(world, "none", 5);
    old = read_row(sales[2], 0);
    assert_int_equal(write_row(sales[0], read_row(sales[0], 0), GUARD_ANY), OUTCOME_SOLD);
    now = read_row(sales[1], 0);
    now.available++; /* as if one had come back: 5 again after one more sale */
    assert_int_equal(write_row(sales[1], now, GUARD_ANY), OUTCOME_SOLD);
    old.available = read_row(sales[2], 0).available;
    assert_conflict(sales[2], old, GUARD_VERSION);
    assert_int_equal(write_row(sales[2], old, GUARD_VALUE), OUTCOME_SOLD);
    end_sales(world);
}

static void an_order_is_sold_once(const struct seam_world *world) {
    struct sale *again;
    bool is_found = true;

    begin_sales(world, "none", 5);
    assert_int_equal(store_find_sale(sales[0], &is_found), OUTCOME_OK);
    assert_false(is_found);
    assert_int_equal(store_take_stock(sales[0], 0), OUTCOME_SOLD);
    assert_int_equal(store_find_sale(sales[0], &is_found), OUTCOME_OK);
    assert_true(is_found);
    again = world->begin_sale(sales[0]);
    assert_int_equal(store_take_stock(again, 0), OUTCOME_REPEATED);
    assert_int_equal(write_row(again, read_row(again, 0), GUARD_ANY), OUTCOME_REPEATED);
    assert_int_equal(read_row(again, 0).available, 4);
    world->end_sale(again);
    end_sales(world);
}

static void taking_ends_with_the_stock(const struct seam_world *world) {
    begin_sales(world, "none", 2);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(store_take_stock(sales[i], 0), OUTCOME_SOLD);
        assert_int_equal(sales[i]->unit, 2 - i);
        assert_int_equal(sales[i]->remaining, 1 - i);
    }
    assert_int_equal(store_take_stock(sales[2], 0), OUTCOME_SOLD_OUT);
    assert_int_equal(store_take_returned(sales[2]), OUTCOME_SOLD_OUT);
    end_sales(world);
}

/* Nobody else waits, so each is a batch of its own. */
static void a_sale_of_a_batch_has_its_own_outcome(const struct seam_world *world) {
    struct sale *again;

    begin_sales(world, "batched", 2);
    assert_int_equal(store_take_in_batch(sales[0], 0), OUTCOME_SOLD);
    again = world->begin_sale(sales[0]);
    assert_int_equal(store_take_in_batch(again, 0), OUTCOME_REPEATED);
    world->end_sale(again);
    assert_int_equal(store_take_in_batch(sales[1], 0), OUTCOME_SOLD);
    assert_int_equal(store_take_in_batch(sales[2], 0), OUTCOME_SOLD_OUT);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(sales[i]->unit, 2 - i);
        assert_int_equal(sales[i]->remaining, 1 - i);
    }
    assert_int_equal(read_row(sales[3], 0).version, 2);
    end_sales(world);
}

static void a_failpoint_strikes_one_sale_of_a_batch(const struct seam_world *world) {
    begin_sales(world, "batched,fail=before-write:error@1,fail=after-write:error@1", 5);
    assert_int_equal(store_take_in_batch(sales[0], 0), OUTCOME_FAILED);
    assert_int_equal(store_take_in_batch(sales[1], 0), OUTCOME_UNKNOWN);
    assert_int_equal(store_take_in_batch(sales[2], 0), OUTCOME_SOLD);
    assert_int_equal(read_row(sales[3], 0).available, 3);
    end_sales(world);
}

static void shards_share_the_units_without_a_gap(const struct seam_world *world) {
    int64_t next = 1;

    begin_sales(world, "sharded,shards=3", 8);
    for (int i = 0; i < 3; i++) {
        struct stock_row row = read_row(sales[0], i);

        assert_int_equal(row.first_unit, next);
        next += row.available;
    }
    assert_int_equal(next, 9);
    end_sales(world);
}

/* ---- locks */

static struct store_lock *win(struct sale *sale, enum lock_kind kind) {
    struct store_lock *lock = NULL;

    assert_int_equal(store_lock(sale, kind, 0, &lock), OUTCOME_OK);
    assert_non_null(lock);
    return lock;
}

static void a_lock_has_one_holder(const struct seam_world *world) {
    static const enum lock_kind kinds[] = {LOCK_LOCAL,     LOCK_REDIS,  LOCK_MKDIR,
                                           LOCK_FLOCK,     LOCK_RWLOCK, LOCK_STAMPED,
                                           LOCK_REENTRANT, LOCK_SPIN,   LOCK_TABLE};

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct store_lock *lock, *other;
        const bool is_at_server = kinds[i] == LOCK_REDIS || kinds[i] == LOCK_TABLE;

        begin_sales(world, is_at_server ? "redis,wait=1s" : "redis,wait=100ms", 5);
        lock = win(sales[0], kinds[i]);
        assert_int_equal(store_lock(sales[1], kinds[i], 0, &other), OUTCOME_BUSY);
        assert_true(sales[1]->message[0] != '\0');
        store_unlock(sales[0], lock, OUTCOME_SOLD);
        sales[0] = (world->end_sale(sales[0]), world->begin_sale(NULL));
        store_unlock(sales[0], win(sales[0], kinds[i]), OUTCOME_SOLD);
        end_sales(world);
    }
}

static void a_reentrant_lock_is_given_back_as_often_as_taken(const struct seam_world *world) {
    struct store_lock *outer, *inner, *other;

    begin_sales(world, "reentrant,wait=50ms", 5);
    outer = win(sales[0], LOCK_REENTRANT);
    inner = win(sales[0], LOCK_REENTRANT);
    store_unlock(sales[0], inner, OUTCOME_SOLD);
    assert_int_equal(store_lock(sales[1], LOCK_REENTRANT, 0, &other), OUTCOME_BUSY);
    store_unlock(sales[0], outer, OUTCOME_SOLD);
    sales[2] = (world->end_sale(sales[2]), world->begin_sale(NULL));
    store_unlock(sales[2], win(sales[2], LOCK_REENTRANT), OUTCOME_SOLD);
    end_sales(world);
}

static void a_lock_is_shared_or_had_alone(const struct seam_world *world) {
    struct store_lock *shared[2], *lock;

    begin_sales(world, "rwlock,wait=50ms", 5);
    for (int i = 0; i < 2; i++)
        assert_int_equal(store_lock_shared(sales[i], LOCK_RWLOCK, 0, &shared[i]), OUTCOME_OK);
    assert_int_equal(store_lock(sales[2], LOCK_RWLOCK, 0, &lock), OUTCOME_BUSY);
    for (int i = 0; i < 2; i++)
        store_unlock(sales[i], shared[i], OUTCOME_OK);
    sales[2] = (world->end_sale(sales[2]), world->begin_sale(NULL));
    lock = win(sales[2], LOCK_RWLOCK);
    assert_int_equal(store_lock_shared(sales[3], LOCK_RWLOCK, 0, &shared[0]), OUTCOME_BUSY);
    store_unlock(sales[2], lock, OUTCOME_SOLD);
    end_sales(world);
}

static void a_stamp_is_out_of_date_when_somebody_had_the_lock(const struct seam_world *world) {
    struct store_lock *lock, *other;
    uint64_t stamps[2];

    begin_sales(world, "stamped", 5);
    for (int i = 0; i < 2; i++)
        stamps[i] = store_stamp(sales[i], 0);
    assert_true(stamps[0] != 0);
    assert_int_equal(store_lock_stamped(sales[0], 0, stamps[0], &lock), OUTCOME_OK);
    assert_int_equal(store_stamp(sales[2], 0), 0);
    assert_int_equal(store_lock_stamped(sales[2], 0, 0, &other), OUTCOME_CONFLICT);
    assert_int_equal(store_lock_stamped(sales[1], 0, stamps[1], &other), OUTCOME_CONFLICT);
    store_unlock(sales[0], lock, OUTCOME_SOLD);
    assert_int_equal(store_lock_stamped(sales[1], 0, stamps[1], &other), OUTCOME_CONFLICT);
    store_unlock(sales[2], win(sales[2], LOCK_STAMPED), OUTCOME_SOLD);
    stamps[1] = store_stamp(sales[1], 0);
    assert_int_equal(store_lock_stamped(sales[1], 0, stamps[1], &lock), OUTCOME_OK);
    store_unlock(sales[1], lock, OUTCOME_SOLD);
    end_sales(world);
}

/* Of a write that may still land. */
static void a_lock_is_kept_after_an_unknown_outcome(const struct seam_world *world) {
    struct store_lock *other;

    begin_sales(world, "redis,wait=1s,ttl=5s", 5);
    store_unlock(sales[0], win(sales[0], LOCK_REDIS), OUTCOME_UNKNOWN);
    assert_int_equal(store_lock(sales[1], LOCK_REDIS, 0, &other), OUTCOME_BUSY);
    end_sales(world);
}

static void check_fence(const struct seam_world *world, enum lock_kind kind) {
    struct stock_row old, seen;
    struct store_lock *lock;

    begin_sales(world, "redis,ttl=5s", 5);
    old = read_row(sales[2], 0);
    for (int i = 0; i < 2; i++) {
        lock = win(sales[i], kind);
        seen = read_row(sales[i], 0);
        assert_int_equal(store_write_stock(sales[i], &seen, GUARD_FENCE, lock), OUTCOME_SOLD);
        assert_true(sales[i]->fence > seen.fence);
        store_unlock(sales[i], lock, OUTCOME_SOLD);
    }
    lock = win(sales[2], kind);
    assert_int_equal(store_write_stock(sales[2], &old, GUARD_FENCE, lock), OUTCOME_CONFLICT);
    store_unlock(sales[2], lock, OUTCOME_CONFLICT);
    assert_int_equal(read_row(sales[3], 0).available, 3);
    end_sales(world);
}

static void a_fence_grows_and_an_old_read_conflicts(const struct seam_world *world) {
    check_fence(world, LOCK_REDIS);
    check_fence(world, LOCK_TABLE);
}

/* ---- keys and values */

static void a_key_is_set_once_until_it_is_deleted(const struct seam_world *world) {
    char value[KV_TEXT];
    bool was_set;

    begin_sales(world, "none", 1);
    assert_int_equal(store_kv_get(sales[0], "lock", value), OUTCOME_OK);
    assert_string_equal(value, "");
    assert_int_equal(store_kv_set_absent(sales[0], "lock", "a", 0, &was_set), OUTCOME_OK);
    assert_true(was_set);
    assert_int_equal(store_kv_set_absent(sales[1], "lock", "b", 0, &was_set), OUTCOME_OK);
    assert_false(was_set);
    assert_int_equal(store_kv_set_absent(sales[1], "other", "b", 0, &was_set), OUTCOME_OK);
    assert_true(was_set);
    assert_int_equal(store_kv_get(sales[1], "lock", value), OUTCOME_OK);
    assert_string_equal(value, "a");
    assert_int_equal(store_kv_delete_if_equal(sales[1], "lock", "b"), OUTCOME_OK);
    assert_int_equal(store_kv_get(sales[1], "lock", value), OUTCOME_OK);
    assert_string_equal(value, "a");
    assert_int_equal(store_kv_delete_if_equal(sales[0], "lock", "a"), OUTCOME_OK);
    assert_int_equal(store_kv_set_absent(sales[1], "lock", "b", 0, &was_set), OUTCOME_OK);
    assert_true(was_set);
    assert_int_equal(store_kv_delete(sales[0], "lock"), OUTCOME_OK); /* another's */
    assert_int_equal(store_kv_get(sales[1], "lock", value), OUTCOME_OK);
    assert_string_equal(value, "");
    end_sales(world);
}

static void a_key_ends_with_its_ttl(const struct seam_world *world) {
    char value[KV_TEXT];
    bool was_set;

    begin_sales(world, "none", 1);
    assert_int_equal(store_kv_set_absent(sales[0], "short", "a", 40, &was_set), OUTCOME_OK);
    assert_int_equal(store_kv_set_absent(sales[0], "long", "a", 60000, &was_set), OUTCOME_OK);
    assert_int_equal(store_kv_set_absent(sales[0], "late", "a", 0, &was_set), OUTCOME_OK);
    assert_int_equal(store_kv_expire(sales[0], "late", 40), OUTCOME_OK);
    assert_int_equal(store_kv_expire(sales[0], "never set", 40), OUTCOME_OK);
    world->sleep(60);
    assert_int_equal(store_kv_get(sales[0], "short", value), OUTCOME_OK);
    assert_string_equal(value, "");
    assert_int_equal(store_kv_get(sales[0], "late", value), OUTCOME_OK);
    assert_string_equal(value, "");
    assert_int_equal(store_kv_get(sales[0], "long", value), OUTCOME_OK);
    assert_string_equal(value, "a");
    end_sales(world);
}

/* ---- everything else */

static void a_deal_is_even_or_random(const struct seam_world *world) {
    int dealt[3] = {0};

    begin_sales(world, "sharded,shards=3", 9);
    for (int i = 0; i < 9; i++)
        dealt[store_deal(sales[i % SALES])]++;
    for (int i = 0; i < 3; i++)
        assert_int_equal(dealt[i], 3);
    end_sales(world);
}

static void an_empty_row_is_remembered_until_it_is_read_again(const struct seam_world *world) {
    begin_sales(world, "sharded,shards=3", 1);
    for (int i = 0; i < 3; i++) {
        assert_false(store_saw_empty(sales[0], i));
        assert_int_equal(read_row(sales[0], i).available, i == 0);
        assert_int_equal(store_saw_empty(sales[1], i), i != 0);
    }
    assert_int_equal(store_take_stock(sales[0], 0), OUTCOME_SOLD);
    assert_false(store_saw_empty(sales[0], 0));
    assert_int_equal(read_row(sales[0], 0).available, 0);
    assert_true(store_saw_empty(sales[0], 0) && store_saw_empty(sales[0], 2));
    end_sales(world);
}

static void tokens_differ(const struct seam_world *world) {
    char a[TOKEN_TEXT], b[TOKEN_TEXT];

    begin_sales(world, "none", 1);
    store_random_token(sales[0], a);
    store_random_token(sales[0], b);
    assert_int_equal(strspn(a, "0123456789abcdef"), TOKEN_TEXT - 1);
    assert_string_not_equal(a, b);
    end_sales(world);
}

static void pauses_end_with_the_wait(const struct seam_world *world) {
    enum outcome outcome;
    unsigned pauses = 0;

    begin_sales(world, "none,wait=100ms", 1);
    while ((outcome = store_pause(sales[0])) == OUTCOME_OK)
        pauses++;
    assert_int_equal(outcome, OUTCOME_BUSY);
    assert_int_equal(sales[0]->pauses, pauses);
    assert_true(pauses > 0 && pauses <= 100);
    end_sales(world);
}

static void a_failpoint_strikes_the_nth_sale_once(const struct seam_world *world) {
    struct stock_row row;

    begin_sales(world, "none,fail=after-read:error@2", 5);
    (void)read_row(sales[0], 0);
    assert_int_equal(store_read_stock(sales[1], 0, &row), OUTCOME_FAILED);
    (void)read_row(sales[1], 0);
    (void)read_row(sales[2], 0);
    end_sales(world);
}

static void a_write_that_failed_on_purpose_is_unknown(const struct seam_world *world) {
    begin_sales(world, "none,fail=after-write:error@1", 5);
    assert_int_equal(store_take_stock(sales[0], 0), OUTCOME_UNKNOWN);
    assert_int_equal(store_take_stock(sales[1], 0), OUTCOME_SOLD);
    assert_int_equal(read_row(sales[2], 0).available, 3);
    end_sales(world);
}

const struct seam_case seam_contract[] = {
    CASE(a_write_sells_the_last_unit_that_was_seen),
    CASE(an_unguarded_write_overwrites),
    CASE(guards_see_what_changed_since),
    CASE(a_version_tells_what_a_value_does_not),
    CASE(an_order_is_sold_once),
    CASE(taking_ends_with_the_stock),
    CASE(a_sale_of_a_batch_has_its_own_outcome),
    CASE(a_failpoint_strikes_one_sale_of_a_batch),
    CASE(shards_share_the_units_without_a_gap),
    CASE(a_lock_has_one_holder),
    CASE(a_reentrant_lock_is_given_back_as_often_as_taken),
    CASE(a_lock_is_shared_or_had_alone),
    CASE(a_stamp_is_out_of_date_when_somebody_had_the_lock),
    CASE(a_lock_is_kept_after_an_unknown_outcome),
    CASE(a_fence_grows_and_an_old_read_conflicts),
    CASE(a_key_is_set_once_until_it_is_deleted),
    CASE(a_key_ends_with_its_ttl),
    CASE(a_deal_is_even_or_random),
    CASE(an_empty_row_is_remembered_until_it_is_read_again),
    CASE(tokens_differ),
    CASE(pauses_end_with_the_wait),
    CASE(a_failpoint_strikes_the_nth_sale_once),
    CASE(a_write_that_failed_on_purpose_is_unknown),
    {NULL, NULL},
};
