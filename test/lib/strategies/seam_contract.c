/* The promises of store.h, as steps of a few sales in one fiber. Each step ends before the next
 * begins, so every order of steps is written here, and none is left to luck. */
#include "seam_contract.h"
#include "strategies.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

#define SALES 4
#define SAME  SALES

/* The sales of a case, and one more for the order of another. NULL: none. */
static struct sale *sales[SALES + 1];

static void end_sales(const struct seam_world *world) {
    for (int i = 0; i <= SAME; i++)
        if (sales[i] != NULL)
            world->end_sale(sales[i]);
    sales[SAME] = NULL;
}

static void begin_sales(const struct seam_world *world, const char *spec, int stock) {
    end_sales(world);
    world->make_product(spec, stock);
    for (int i = 0; i < SALES; i++)
        sales[i] = world->begin_sale(NULL);
}

static struct stock_row read_row(struct sale *sale, int shard) {
    struct stock_row row;

    assert_int_equal(store_read_stock(sale, shard, &row), OUTCOME_OK);
    assert_int_equal(row.shard, shard);
    return row;
}

static enum outcome write_row(struct sale *sale, struct stock_row seen, enum guard guard) {
    return store_write_stock(sale, &seen, guard, NULL);
}

static bool is_in_ledger(struct sale *sale) {
    bool is_found = false;

    assert_int_equal(store_find_sale(sale, &is_found), OUTCOME_OK);
    return is_found;
}

/* ---- Stock */

static void a_write_sells_the_last_unit_that_was_seen(const struct seam_world *world) {
    struct stock_row before = read_row(sales[0], 0), after;

    assert_int_equal(before.first_unit, 1);
    assert_int_equal(before.available, 5);
    assert_int_equal(write_row(sales[0], before, GUARD_ANY), OUTCOME_SOLD);
    assert_int_equal(sales[0]->unit, 5);
    assert_int_equal(sales[0]->remaining, 4);
    assert_int_equal(sales[0]->fence, 0);
    after = read_row(sales[1], 0);
    assert_int_equal(after.available, 4);
    assert_int_equal(after.version, before.version + 1);
}

static void an_unguarded_write_overwrites(const struct seam_world *world) {
    struct stock_row seen = read_row(sales[2], 0);

    assert_int_equal(write_row(sales[0], read_row(sales[0], 0), GUARD_ANY), OUTCOME_SOLD);
    assert_int_equal(write_row(sales[1], read_row(sales[1], 0), GUARD_ANY), OUTCOME_SOLD);
    assert_int_equal(write_row(sales[2], seen, GUARD_ANY), OUTCOME_SOLD);
    assert_int_equal(sales[2]->unit, sales[0]->unit);
    assert_int_equal(read_row(sales[3], 0).available, 4);
}

/* Then nothing is written, not in the ledger either. */
static void assert_conflict(struct sale *sale, struct stock_row seen, enum guard guard) {
    struct stock_row before = read_row(sale, 0), after;

    assert_int_equal(write_row(sale, seen, guard), OUTCOME_CONFLICT);
    after = read_row(sale, 0);
    assert_int_equal(after.available, before.available);
    assert_int_equal(after.version, before.version);
    assert_false(is_in_ledger(sale));
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
    }
}

/* A value that came back has another version. */
static void a_version_tells_what_a_value_does_not(const struct seam_world *world) {
    struct stock_row old = read_row(sales[2], 0), now;

    assert_int_equal(write_row(sales[0], read_row(sales[0], 0), GUARD_ANY), OUTCOME_SOLD);
    now = read_row(sales[1], 0);
    now.available++; /* as after a returned unit: 5 again after one more sale */
    assert_int_equal(write_row(sales[1], now, GUARD_ANY), OUTCOME_SOLD);
    old.available = read_row(sales[2], 0).available;
    assert_conflict(sales[2], old, GUARD_VERSION);
    assert_int_equal(write_row(sales[2], old, GUARD_VALUE), OUTCOME_SOLD);
}

static void an_order_is_sold_once(const struct seam_world *world) {
    assert_false(is_in_ledger(sales[0]));
    assert_int_equal(store_take_stock(sales[0], 0), OUTCOME_SOLD);
    assert_true(is_in_ledger(sales[0]));
    sales[SAME] = world->begin_sale(sales[0]);
    assert_int_equal(store_take_stock(sales[SAME], 0), OUTCOME_REPEATED);
    assert_int_equal(write_row(sales[SAME], read_row(sales[SAME], 0), GUARD_ANY), OUTCOME_REPEATED);
    assert_int_equal(read_row(sales[SAME], 0).available, 4);
}

static void taking_ends_with_the_stock(const struct seam_world *world) {
    for (int i = 0; i < 2; i++) {
        assert_int_equal(store_take_stock(sales[i], 0), OUTCOME_SOLD);
        assert_int_equal(sales[i]->unit, 2 - i);
        assert_int_equal(sales[i]->remaining, 1 - i);
    }
    assert_int_equal(store_take_stock(sales[2], 0), OUTCOME_SOLD_OUT);
    assert_int_equal(store_take_returned(sales[2]), OUTCOME_SOLD_OUT);
}

/* No other sale waits, so each is a batch of its own. */
static void a_sale_of_a_batch_has_its_own_outcome(const struct seam_world *world) {
    assert_int_equal(store_take_in_batch(sales[0], 0), OUTCOME_SOLD);
    sales[SAME] = world->begin_sale(sales[0]);
    assert_int_equal(store_take_in_batch(sales[SAME], 0), OUTCOME_REPEATED);
    assert_int_equal(store_take_in_batch(sales[1], 0), OUTCOME_SOLD);
    assert_int_equal(store_take_in_batch(sales[2], 0), OUTCOME_SOLD_OUT);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(sales[i]->unit, 2 - i);
        assert_int_equal(sales[i]->remaining, 1 - i);
    }
    assert_int_equal(read_row(sales[3], 0).version, 2);
}

static void a_failpoint_strikes_one_sale_of_a_batch(const struct seam_world *world) {
    assert_int_equal(store_take_in_batch(sales[0], 0), OUTCOME_FAILED);
    assert_int_equal(store_take_in_batch(sales[1], 0), OUTCOME_UNKNOWN);
    assert_int_equal(store_take_in_batch(sales[2], 0), OUTCOME_SOLD);
    assert_int_equal(read_row(sales[3], 0).available, 3);
}

static void shards_share_the_units_without_a_gap(const struct seam_world *world) {
    int64_t next = 1;

    for (int i = 0; i < 3; i++) {
        struct stock_row row = read_row(sales[0], i);

        assert_int_equal(row.first_unit, next);
        next += row.available;
    }
    assert_int_equal(next, 9);
}

/* ---- Locks */

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
    }
}

static void a_reentrant_lock_is_given_back_as_often_as_taken(const struct seam_world *world) {
    struct store_lock *outer = win(sales[0], LOCK_REENTRANT), *inner, *other;

    inner = win(sales[0], LOCK_REENTRANT);
    store_unlock(sales[0], inner, OUTCOME_SOLD);
    assert_int_equal(store_lock(sales[1], LOCK_REENTRANT, 0, &other), OUTCOME_BUSY);
    store_unlock(sales[0], outer, OUTCOME_SOLD);
    sales[2] = (world->end_sale(sales[2]), world->begin_sale(NULL));
    store_unlock(sales[2], win(sales[2], LOCK_REENTRANT), OUTCOME_SOLD);
}

static void a_lock_is_shared_or_had_alone(const struct seam_world *world) {
    struct store_lock *shared[2], *lock;

    for (int i = 0; i < 2; i++)
        assert_int_equal(store_lock_shared(sales[i], LOCK_RWLOCK, 0, &shared[i]), OUTCOME_OK);
    assert_int_equal(store_lock(sales[2], LOCK_RWLOCK, 0, &lock), OUTCOME_BUSY);
    for (int i = 0; i < 2; i++)
        store_unlock(sales[i], shared[i], OUTCOME_OK);
    sales[2] = (world->end_sale(sales[2]), world->begin_sale(NULL));
    lock = win(sales[2], LOCK_RWLOCK);
    assert_int_equal(store_lock_shared(sales[3], LOCK_RWLOCK, 0, &shared[0]), OUTCOME_BUSY);
    store_unlock(sales[2], lock, OUTCOME_SOLD);
}

static void a_stamp_is_out_of_date_when_somebody_had_the_lock(const struct seam_world *world) {
    struct store_lock *lock, *other;
    uint64_t stamps[2];

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
}

/* The write may still land. */
static void a_lock_is_kept_after_an_unknown_outcome(const struct seam_world *world) {
    struct store_lock *other;

    store_unlock(sales[0], win(sales[0], LOCK_REDIS), OUTCOME_UNKNOWN);
    assert_int_equal(store_lock(sales[1], LOCK_REDIS, 0, &other), OUTCOME_BUSY);
}

static void a_fence_grows_and_an_old_read_conflicts(const struct seam_world *world) {
    for (int k = 0; k < 2; k++) {
        const enum lock_kind kind = k == 0 ? LOCK_REDIS : LOCK_TABLE;
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
    }
}

/* ---- Keys and values */

static void assert_key(struct sale *sale, const char *key, const char *value) {
    char found[KV_TEXT];

    assert_int_equal(store_kv_get(sale, key, found), OUTCOME_OK);
    assert_string_equal(found, value);
}

static bool was_set(struct sale *sale, const char *key, const char *value, int64_t ttl_ms) {
    bool is_new = false;

    assert_int_equal(store_kv_set_absent(sale, key, value, ttl_ms, &is_new), OUTCOME_OK);
    return is_new;
}

static void a_key_is_set_once_until_it_is_deleted(const struct seam_world *world) {
    assert_key(sales[0], "lock", "");
    assert_true(was_set(sales[0], "lock", "a", 0));
    assert_false(was_set(sales[1], "lock", "b", 0));
    assert_true(was_set(sales[1], "other", "b", 0));
    assert_key(sales[1], "lock", "a");
    assert_int_equal(store_kv_delete_if_equal(sales[1], "lock", "b"), OUTCOME_OK);
    assert_key(sales[1], "lock", "a");
    assert_int_equal(store_kv_delete_if_equal(sales[0], "lock", "a"), OUTCOME_OK);
    assert_true(was_set(sales[1], "lock", "b", 0));
    assert_int_equal(store_kv_delete(sales[0], "lock"), OUTCOME_OK); /* another sale's */
    assert_key(sales[1], "lock", "");
}

/* ---- Transactions */

/* A transaction that only tries to get the row, and gives it up again. */
static enum outcome try_row(struct sale *sale, int shard, enum row_wait wait) {
    struct stock_row row;

    assert_int_equal(store_begin(sale, READ_COMMITTED), OUTCOME_OK);
    return store_end(sale, store_read_for_update(sale, shard, wait, &row) == OUTCOME_OK
                               ? OUTCOME_CONFLICT
                               : OUTCOME_BUSY);
}

static void a_transaction_is_seen_when_it_is_committed(const struct seam_world *world) {
    struct stock_row seen;

    assert_int_equal(store_begin(sales[0], READ_COMMITTED), OUTCOME_OK);
    assert_int_equal(store_read_for_update(sales[0], 0, ROW_WAIT, &seen), OUTCOME_OK);
    assert_int_equal(seen.available, 5);
    assert_int_equal(write_row(sales[0], seen, GUARD_ANY), OUTCOME_SOLD);
    assert_int_equal(sales[0]->unit, 0);
    assert_int_equal(read_row(sales[0], 0).available, 4);
    assert_int_equal(read_row(sales[1], 0).available, 5);
    assert_int_equal(store_end(sales[0], OUTCOME_SOLD), OUTCOME_SOLD);
    assert_int_equal(sales[0]->unit, 5);
    assert_int_equal(read_row(sales[1], 0).available, 4);
}

static void what_is_rolled_back_was_not_sold(const struct seam_world *world) {
    static const enum outcome ends[][2] = {{OUTCOME_BUSY, OUTCOME_BUSY},
                                           {OUTCOME_UNKNOWN, OUTCOME_FAILED},
                                           {OUTCOME_SOLD, OUTCOME_FAILED}};

    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        begin_sales(world, "none,fail=before-commit:error@1", 5);
        assert_int_equal(store_begin(sales[0], READ_COMMITTED), OUTCOME_OK);
        assert_int_equal(write_row(sales[0], read_row(sales[0], 0), GUARD_ANY), OUTCOME_SOLD);
        assert_int_equal(store_end(sales[0], ends[i][0]), ends[i][1]);
        assert_int_equal(sales[0]->unit, 0);
        assert_int_equal(read_row(sales[1], 0).available, 5);
        assert_false(is_in_ledger(sales[0]));
    }
}

static void a_row_for_update_is_kept_from_others(const struct seam_world *world) {
    struct stock_row row;

    assert_int_equal(store_begin(sales[0], READ_COMMITTED), OUTCOME_OK);
    assert_int_equal(store_read_for_update(sales[0], 0, ROW_NOWAIT, &row), OUTCOME_OK);
    for (enum row_wait wait = ROW_WAIT; wait <= ROW_SKIP_LOCKED; wait++)
        assert_int_equal(try_row(sales[1], 0, wait), OUTCOME_BUSY);
    assert_int_equal(try_row(sales[1], ANY_SHARD, ROW_SKIP_LOCKED), OUTCOME_BUSY);
    assert_int_equal(read_row(sales[1], 0).available, 5);
    assert_int_equal(store_end(sales[0], OUTCOME_SOLD_OUT), OUTCOME_SOLD_OUT);
    /* A read that may still wait: the rollback may be under way. */
    sales[2] = (world->end_sale(sales[2]), world->begin_sale(NULL));
    assert_int_equal(try_row(sales[2], 0, ROW_WAIT), OUTCOME_CONFLICT);
}

static void any_shard_is_one_that_nobody_holds(const struct seam_world *world) {
    struct stock_row rows[3], none;
    int64_t units = 0;

    for (int i = 0; i < 3; i++) {
        assert_int_equal(store_begin(sales[i], READ_COMMITTED), OUTCOME_OK);
        assert_int_equal(store_read_for_update(sales[i], ANY_SHARD, ROW_SKIP_LOCKED, &rows[i]),
                         OUTCOME_OK);
    }
    assert_int_equal(try_row(sales[3], ANY_SHARD, ROW_SKIP_LOCKED), OUTCOME_BUSY);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(write_row(sales[i], rows[i], GUARD_ANY), OUTCOME_SOLD);
        assert_int_equal(store_end(sales[i], OUTCOME_SOLD), OUTCOME_SOLD);
        units += sales[i]->unit;
    }
    assert_int_equal(units, 1 + 2 + 3);
    assert_int_equal(store_begin(sales[3], READ_COMMITTED), OUTCOME_OK);
    for (enum row_wait wait = ROW_WAIT; wait <= ROW_SKIP_LOCKED; wait++)
        assert_int_equal(store_read_for_update(sales[3], ANY_SHARD, wait, &none), OUTCOME_SOLD_OUT);
    assert_int_equal(store_end(sales[3], OUTCOME_SOLD_OUT), OUTCOME_SOLD_OUT);
}

static void a_serializable_sale_that_was_overtaken_conflicts(const struct seam_world *world) {
    struct stock_row seen;

    assert_int_equal(store_begin(sales[0], SERIALIZABLE), OUTCOME_OK);
    seen = read_row(sales[0], 0);
    assert_int_equal(store_take_stock(sales[1], 0), OUTCOME_SOLD);
    assert_int_equal(read_row(sales[0], 0).available, 5);
    assert_int_equal(write_row(sales[0], seen, GUARD_ANY), OUTCOME_CONFLICT);
    assert_int_equal(store_end(sales[0], OUTCOME_CONFLICT), OUTCOME_CONFLICT);
    assert_int_equal(read_row(sales[2], 0).available, 4);
}

static void an_order_is_sold_once_in_transactions_too(const struct seam_world *world) {
    assert_int_equal(store_take_stock(sales[0], 0), OUTCOME_SOLD);
    sales[SAME] = world->begin_sale(sales[0]);
    assert_int_equal(store_begin(sales[SAME], READ_COMMITTED), OUTCOME_OK);
    assert_int_equal(write_row(sales[SAME], read_row(sales[SAME], 0), GUARD_ANY), OUTCOME_REPEATED);
    assert_int_equal(store_end(sales[SAME], OUTCOME_REPEATED), OUTCOME_REPEATED);
    assert_int_equal(read_row(sales[SAME], 0).available, 4);
}

/* ---- Rows that are handed out to a server of keys, and sold from there */

static void a_row_is_handed_to_one_data_set(const struct seam_world *world) {
    struct stock_row row, same;

    assert_int_equal(store_hand_out(sales[0], &(struct data_set){"a", -1}, &row), OUTCOME_OK);
    assert_int_equal(row.shard, 0);
    assert_int_equal(row.first_unit, 1);
    assert_int_equal(row.available, 3);
    assert_int_equal(store_hand_out(sales[1], &(struct data_set){"a", -1}, &same), OUTCOME_OK);
    assert_int_equal(same.shard, row.shard);
    assert_int_equal(store_hand_out(sales[0], &(struct data_set){"b", -1}, &row), OUTCOME_OK);
    assert_int_equal(row.shard, 1);
    assert_int_equal(store_hand_out(sales[0], &(struct data_set){"a", 0}, &row), OUTCOME_OK);
    assert_int_equal(row.shard, 2);
    assert_int_equal(store_hand_out(sales[0], &(struct data_set){"a", 2}, &row), OUTCOME_SOLD_OUT);
    assert_int_equal(store_hand_out(sales[0], &(struct data_set){"b", 1}, &row), OUTCOME_SOLD_OUT);
}

static void a_row_without_units_is_not_handed_out(const struct seam_world *world) {
    struct stock_row row;

    assert_int_equal(store_hand_out(sales[0], &(struct data_set){"a", -1}, &row), OUTCOME_OK);
    assert_int_equal(store_hand_out(sales[0], &(struct data_set){"a", row.shard}, &row),
                     OUTCOME_SOLD_OUT);
}

static struct data_set open_set(struct sale *sale) {
    struct data_set set;

    assert_int_equal(store_open_data_set(sale, &set), OUTCOME_OK);
    return set;
}

/* Load these units of a row. */
static void load_units(struct sale *sale, int shard, int64_t first, int64_t available) {
    const struct data_set set = open_set(sale);
    const struct stock_row row = {.shard = shard, .first_unit = first, .available = available};

    assert_int_equal(store_load_row(sale, &set, &row), OUTCOME_OK);
}

/* OK, and this many units were there before. 0: nothing is loaded. */
static struct loaded_unit take_of(struct sale *sale, int64_t available) {
    struct loaded_unit taken;

    assert_int_equal(store_take_loaded(sale, &taken), OUTCOME_OK);
    assert_int_equal(taken.seen.available, available);
    return taken;
}

static void a_data_set_is_made_once(const struct seam_world *world) {
    struct data_set first = open_set(sales[0]), second;

    assert_int_equal(first.last, -1);
    load_units(sales[1], 1, 4, 2);
    second = open_set(sales[1]);
    assert_string_equal(second.token, first.token);
    assert_int_equal(second.last, 1);
}

static void loaded_units_are_taken_from_the_last_one_on(const struct seam_world *world) {
    struct loaded_unit taken;

    (void)take_of(sales[0], 0);
    load_units(sales[0], 0, 1, 2);
    load_units(sales[0], 2, 6, 1);
    taken = take_of(sales[0], 2);
    assert_int_equal(taken.seen.shard, 0);
    assert_int_equal(taken.seen.first_unit, 1);
    assert_false(taken.is_half_sold);
    (void)take_of(sales[1], 1);
    taken = take_of(sales[2], 1);
    assert_int_equal(taken.seen.shard, 2);
    assert_int_equal(taken.seen.first_unit, 6);
    (void)take_of(sales[3], 0);
}

static void an_order_takes_one_loaded_unit(const struct seam_world *world) {
    struct loaded_unit taken;

    load_units(sales[0], 0, 1, 5);
    sales[0]->may_be_repeat = true;
    assert_false(take_of(sales[0], 5).is_again);
    sales[SAME] = world->begin_sale(sales[0]);
    sales[SAME]->may_be_repeat = true;
    taken = take_of(sales[SAME], 5);
    assert_true(taken.is_again);
    assert_int_equal(taken.seen.first_unit, 1);
    (void)take_of(sales[1], 4);
}

/* True once, and only for the last loaded row. */
static void the_half_of_the_last_row_is_told(const struct seam_world *world) {
    load_units(sales[0], 0, 1, 1);
    load_units(sales[0], 1, 2, 3);
    assert_false(take_of(sales[0], 1).is_half_sold);
    assert_false(take_of(sales[1], 3).is_half_sold);
    assert_true(take_of(sales[2], 2).is_half_sold);
    assert_false(take_of(sales[3], 1).is_half_sold);
}

static void without_a_row_to_load_the_last_unit_is_the_end(const struct seam_world *world) {
    struct loaded_unit taken;

    load_units(sales[0], 0, 1, 1);
    load_units(sales[0], 0, 1, 0);
    assert_false(take_of(sales[0], 1).is_half_sold);
    assert_int_equal(store_take_loaded(sales[1], &taken), OUTCOME_SOLD_OUT);
    assert_true(take_of(sales[0], 1).is_again);
}

/* Two sales load at once: the second one's row is the first one's. */
static void a_row_is_loaded_once(const struct seam_world *world) {
    const struct stock_row row = {.shard = 1, .first_unit = 4, .available = 1};
    const struct data_set seen = open_set(sales[0]);

    for (int i = 0; i < 2; i++)
        assert_int_equal(store_load_row(sales[i], &seen, &row), OUTCOME_OK);
    assert_int_equal(store_load_row(sales[2], &(struct data_set){"another", 1}, &row), OUTCOME_OK);
    (void)take_of(sales[0], 1);
    (void)take_of(sales[1], 0);
}

/* The ledger has another unit for this order: the order takes a new one. */
static void a_unit_that_came_back_is_not_taken_again(const struct seam_world *world) {
    struct loaded_unit taken;

    assert_int_equal(store_take_stock(sales[0], 1), OUTCOME_SOLD);
    load_units(sales[0], 0, 1, 2);
    taken = take_of(sales[0], 2);
    assert_int_equal(store_write_pending(sales[0], &taken.seen, true), OUTCOME_REPEATED);
    assert_false(take_of(sales[0], 1).is_again);
}

static void a_pending_unit_is_brought_once(const struct seam_world *world) {
    struct stock_row seen = read_row(sales[0], 0);

    for (int i = 0; i < 2; i++) {
        assert_int_equal(store_write_pending(sales[0], &seen, true), OUTCOME_SOLD);
        assert_int_equal(sales[0]->unit, 5);
        assert_int_equal(sales[0]->remaining, 4);
    }
    assert_true(is_in_ledger(sales[0]));
    assert_int_equal(store_write_pending(sales[1], &seen, true), OUTCOME_CONFLICT);
    assert_int_equal(read_row(sales[2], 0).available, 4);
}

/* Its order has a unit already, so this one comes back. */
static void a_pending_unit_of_a_repeat_comes_back(const struct seam_world *world) {
    struct stock_row seen;

    assert_int_equal(store_take_stock(sales[0], 0), OUTCOME_SOLD);
    seen = read_row(sales[0], 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(store_write_pending(sales[0], &seen, true), OUTCOME_REPEATED);
    assert_int_equal(read_row(sales[1], 0).available, 3);
    assert_int_equal(store_take_returned(sales[1]), OUTCOME_SOLD);
    assert_int_equal(sales[1]->unit, 4);
    assert_int_equal(store_take_returned(sales[2]), OUTCOME_SOLD_OUT);
}

static void a_pending_unit_is_sold_before_it_is_brought(const struct seam_world *world) {
    struct stock_row seen = read_row(sales[0], 0);
    bool is_found = false;

    assert_int_equal(store_write_pending(sales[0], &seen, false), OUTCOME_SOLD);
    assert_int_equal(sales[0]->unit, 5);
    for (int tries = 0; tries < 2000 && !is_found; tries++) {
        assert_int_equal(store_find_sale(sales[0], &is_found), OUTCOME_OK);
        world->sleep(5);
    }
    assert_true(is_found);
}

/* ---- Everything else */

static void a_deal_is_even_or_random(const struct seam_world *world) {
    int dealt[3] = {0};

    for (int i = 0; i < 9; i++)
        dealt[store_deal(sales[i % SALES])]++;
    for (int i = 0; i < 3; i++)
        assert_int_equal(dealt[i], 3);
}

static void an_empty_row_is_remembered_until_it_is_read_again(const struct seam_world *world) {
    for (int i = 0; i < 3; i++) {
        assert_false(store_saw_empty(sales[0], i));
        assert_int_equal(read_row(sales[0], i).available, i == 0);
        assert_int_equal(store_saw_empty(sales[1], i), i != 0);
    }
    assert_int_equal(store_take_stock(sales[0], 0), OUTCOME_SOLD);
    assert_false(store_saw_empty(sales[0], 0));
    assert_int_equal(read_row(sales[0], 0).available, 0);
    assert_true(store_saw_empty(sales[0], 0) && store_saw_empty(sales[0], 2));
}

static void tokens_differ(const struct seam_world *world) {
    char a[TOKEN_TEXT], b[TOKEN_TEXT];

    store_random_token(sales[0], a);
    store_random_token(sales[0], b);
    assert_int_equal(strspn(a, "0123456789abcdef"), TOKEN_TEXT - 1);
    assert_string_not_equal(a, b);
}

static void pauses_end_with_the_wait(const struct seam_world *world) {
    enum outcome outcome;
    unsigned pauses = 0;

    while ((outcome = store_pause(sales[0])) == OUTCOME_OK)
        pauses++;
    assert_int_equal(outcome, OUTCOME_BUSY);
    assert_int_equal(sales[0]->pauses, pauses);
    assert_true(pauses > 0 && pauses <= 100);
}

static void a_failpoint_strikes_the_nth_sale_once(const struct seam_world *world) {
    struct stock_row row;

    (void)read_row(sales[0], 0);
    assert_int_equal(store_read_stock(sales[1], 0, &row), OUTCOME_FAILED);
    (void)read_row(sales[1], 0);
    (void)read_row(sales[2], 0);
}

static void a_write_that_failed_on_purpose_is_unknown(const struct seam_world *world) {
    assert_int_equal(store_take_stock(sales[0], 0), OUTCOME_UNKNOWN);
    assert_int_equal(store_take_stock(sales[1], 0), OUTCOME_SOLD);
    assert_int_equal(read_row(sales[2], 0).available, 3);
}

/* Sales begin on this many units of a product with this spec. */
#define CASE(function, spec, stock)                                                                \
    { #function, spec, stock, function }

const struct seam_case seam_contract[] = {
    CASE(a_write_sells_the_last_unit_that_was_seen, "none", 5),
    CASE(an_unguarded_write_overwrites, "none", 5),
    CASE(guards_see_what_changed_since, "none", 5),
    CASE(a_version_tells_what_a_value_does_not, "none", 5),
    CASE(an_order_is_sold_once, "none", 5),
    CASE(taking_ends_with_the_stock, "none", 2),
    CASE(a_sale_of_a_batch_has_its_own_outcome, "batched", 2),
    CASE(a_failpoint_strikes_one_sale_of_a_batch,
         "batched,fail=before-write:error@1,fail=after-write:error@1", 5),
    CASE(shards_share_the_units_without_a_gap, "sharded,shards=3", 8),
    CASE(a_lock_has_one_holder, "none", 5),
    CASE(a_reentrant_lock_is_given_back_as_often_as_taken, "reentrant,wait=50ms", 5),
    CASE(a_lock_is_shared_or_had_alone, "rwlock,wait=50ms", 5),
    CASE(a_stamp_is_out_of_date_when_somebody_had_the_lock, "stamped", 5),
    CASE(a_lock_is_kept_after_an_unknown_outcome, "redis,wait=1s,ttl=5s", 5),
    CASE(a_fence_grows_and_an_old_read_conflicts, "none", 5),
    CASE(a_key_is_set_once_until_it_is_deleted, "none", 1),
    CASE(seam_key_ends_with_its_ttl, "none", 1),
    CASE(seam_script_ends_at_the_first_no, "none", 1),
    CASE(seam_command_that_is_refused_ends_its_script, "none", 1),
    CASE(seam_sale_has_a_token_of_its_own, "none", 5),
    CASE(seam_work_is_done_in_pieces, "none,work=5ms", 1),
    CASE(a_deal_is_even_or_random, "sharded,shards=3", 9),
    CASE(an_empty_row_is_remembered_until_it_is_read_again, "sharded,shards=3", 1),
    CASE(tokens_differ, "none", 1),
    CASE(pauses_end_with_the_wait, "none,wait=100ms", 1),
    CASE(a_failpoint_strikes_the_nth_sale_once, "none,fail=after-read:error@2", 5),
    CASE(a_write_that_failed_on_purpose_is_unknown, "none,fail=after-write:error@1", 5),
    CASE(a_transaction_is_seen_when_it_is_committed, "none", 5),
    CASE(what_is_rolled_back_was_not_sold, "none", 5),
    CASE(a_row_for_update_is_kept_from_others, "none,wait=1s", 5),
    CASE(any_shard_is_one_that_nobody_holds, "sharded,shards=3", 3),
    CASE(a_serializable_sale_that_was_overtaken_conflicts, "none", 5),
    CASE(an_order_is_sold_once_in_transactions_too, "none", 5),
    CASE(a_row_is_handed_to_one_data_set, "sharded,shards=3", 7), /* 3, 2 and 2 */
    CASE(a_row_without_units_is_not_handed_out, "sharded,shards=3", 1),
    CASE(a_data_set_is_made_once, "sharded,shards=3", 7),
    CASE(loaded_units_are_taken_from_the_last_one_on, "sharded,shards=3", 7),
    CASE(an_order_takes_one_loaded_unit, "none", 5),
    CASE(the_half_of_the_last_row_is_told, "sharded,shards=2", 8),
    CASE(without_a_row_to_load_the_last_unit_is_the_end, "none", 1),
    CASE(a_row_is_loaded_once, "sharded,shards=3", 7),
    CASE(a_unit_that_came_back_is_not_taken_again, "sharded,shards=2", 4),
    CASE(a_pending_unit_is_brought_once, "none", 5),
    CASE(a_pending_unit_of_a_repeat_comes_back, "none", 5),
    CASE(a_pending_unit_is_sold_before_it_is_brought, "none", 5),
    CASE(seam_cart_is_sold_whole, SEAM_CART, 5), /* 3 and 2 */
    CASE(seam_cart_that_is_rolled_back_is_not_sold, SEAM_CART, 5),
    CASE(seam_each_product_of_a_cart_is_sold_once, SEAM_CART, 5),
    {.name = NULL},
};

void seam_contract_hold(const struct seam_world *world, const struct seam_case *held) {
    memset(sales, 0, sizeof sales); /* sales of a case that failed */
    strategies_exercise = &seam_sells_carts;
    begin_sales(world, held->spec, held->stock);
    held->run(world);
    end_sales(world);
}
