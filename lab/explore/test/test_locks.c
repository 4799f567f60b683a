/* Tests each kind of lock without faults: which orders it excludes, and which it lets in. */
#include "read_then_write.h"
#include "test.h"
#include "trial.h"

static enum lock_kind kind;

static enum outcome lock_and_sell(struct sale *sale) {
    return lock_then_write(sale, kind);
}

static unsigned explore_kind(enum lock_kind which, int instances, int machines) {
    kind = which;
    return explore_trial(
        &(struct trial){.sell = lock_and_sell, .instances = instances, .machines = machines});
}

static void test_a_lock_of_the_process_guards_one_instance(void **state) {
    static const enum lock_kind kinds[] = {LOCK_LOCAL, LOCK_REENTRANT, LOCK_RWLOCK, LOCK_STAMPED,
                                           LOCK_SPIN};

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        assert_int_equal(explore_kind(kinds[i], 1, 1), 0);
        assert_int_equal(explore_kind(kinds[i], 2, 1), FLAW_TWIN);
    }
}

static void test_a_lock_on_the_disk_guards_one_machine(void **state) {
    assert_int_equal(explore_kind(LOCK_MKDIR, 2, 1), 0);
    assert_int_equal(explore_kind(LOCK_FLOCK, 2, 1), 0);
    assert_int_equal(explore_kind(LOCK_MKDIR, 2, 2), FLAW_TWIN);
    assert_int_equal(explore_kind(LOCK_FLOCK, 2, 2), FLAW_TWIN);
}

static void test_a_lock_at_a_server_guards_all(void **state) {
    static const enum lock_kind kinds[] = {
        LOCK_REDIS,     LOCK_REDIS_FAIR,       LOCK_REDIS_WAIT, LOCK_REDIS_RW,    LOCK_REDLOCK,
        LOCK_ZOOKEEPER, LOCK_ZOOKEEPER_UNFAIR, LOCK_ETCD,       LOCK_PG_ADVISORY, LOCK_TABLE};

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        assert_int_equal(explore_kind(kinds[i], 3, 1), 0);
}

static void test_an_advisory_lock_of_a_shared_session_guards_nothing(void **state) {
    assert_int_equal(explore_kind(LOCK_PG_ADVISORY_RAW, 1, 1), FLAW_TWIN);
}

static enum outcome lock_twice(struct sale *sale) {
    struct store_lock *outer, *inner;
    enum outcome outcome = store_lock(sale, LOCK_REENTRANT, 0, &outer);

    assert_int_equal(outcome, OUTCOME_OK);
    outcome = store_lock(sale, LOCK_REENTRANT, 0, &inner);
    assert_int_equal(outcome, OUTCOME_OK);
    store_unlock(sale, inner, outcome);
    outcome = read_then_write(sale, 0, GUARD_ANY, outer);
    store_unlock(sale, outer, outcome);
    return outcome;
}

static void test_one_release_of_two_keeps_the_lock(void **state) {
    assert_int_equal(explore_trial(&(struct trial){.sell = lock_twice, .instances = 1}), 0);
}

static enum outcome lock_beside(struct sale *sale) {
    struct store_lock *lock;
    enum outcome outcome = store_lock_shared(sale, kind, 0, &lock);

    if (outcome != OUTCOME_OK)
        return outcome;
    outcome = read_then_write(sale, 0, GUARD_ANY, lock);
    store_unlock(sale, lock, outcome);
    return outcome;
}

static enum outcome look_and_sell(struct sale *sale) {
    return look_then_write(sale, kind);
}

static void test_shared_and_exclusive_holders_exclude_each_other(void **state) {
    static const enum lock_kind kinds[] = {LOCK_RWLOCK, LOCK_REDIS_RW};

    for (size_t i = 0; i < 2; i++) {
        kind = kinds[i];
        assert_int_equal(explore_trial(&(struct trial){.sell = lock_beside, .instances = 1}),
                         FLAW_TWIN);
        assert_int_equal(explore_trial(&(struct trial){.sell = look_and_sell, .instances = 1}), 0);
    }
}

static enum outcome sell_by_stamp(struct sale *sale) {
    const uint64_t stamp = store_stamp(sale, 0);
    struct stock_row seen;
    struct store_lock *lock;
    enum outcome outcome;

    if (stamp == 0)
        return OUTCOME_CONFLICT;
    outcome = store_read_stock(sale, 0, &seen);
    if (outcome != OUTCOME_OK || seen.available <= 0)
        return outcome == OUTCOME_OK ? OUTCOME_SOLD_OUT : outcome;
    outcome = store_lock_stamped(sale, 0, stamp, &lock);
    if (outcome != OUTCOME_OK)
        return outcome;
    outcome = store_write_stock(sale, &seen, GUARD_ANY, lock);
    store_unlock(sale, lock, outcome);
    return outcome;
}

static void test_a_stamp_tells_that_somebody_had_the_lock(void **state) {
    assert_int_equal(explore_trial(&(struct trial){.sell = sell_by_stamp, .instances = 1}), 0);
    assert_int_equal(explore_trial(&(struct trial){.sell = sell_by_stamp}), FLAW_TWIN);
}

static enum outcome lock_and_go(struct sale *sale) {
    struct store_lock *lock;

    return store_lock(sale, kind, 0, &lock) == OUTCOME_OK ? OUTCOME_SOLD_OUT : OUTCOME_BUSY;
}

static void test_a_holder_without_a_release_keeps_the_lock(void **state) {
    kind = LOCK_REDIS;
    assert_int_equal(explore_trial(&(struct trial){.sell = lock_and_go, .orders = 2}), FLAW_STUCK);
}

/* Notes the turns. The first order holds the lock, and the others begin to wait one by one. */
static enum outcome note_turns(struct sale *sale) {
    struct store_lock *lock;
    struct stock_row row;

    if (store_lock(sale, kind, 0, &lock) != OUTCOME_OK)
        return OUTCOME_BUSY;
    (void)store_read_stock(sale, 0, &row);
    store_unlock(sale, lock, OUTCOME_OK);
    return store_read_stock(sale, 0, &row) == OUTCOME_OK ? OUTCOME_SOLD_OUT : OUTCOME_BUSY;
}

static size_t moves_after(enum lock_kind which, const char *text) {
    static const struct strategy strategy = {.name = "turns", .sell = note_turns};
    static struct model_world world;
    struct schedule schedule;
    size_t at;

    kind = which;
    world.setup = (struct model_setup){.strategy = &strategy,
                                       .options = {.shards = 1, .wait_ms = 5000, .ttl_ms = 10000},
                                       .orders = 3,
                                       .instances = 3,
                                       .stock = 2};
    assert_int_equal(schedule_read(&schedule, text), 0);
    return explore_replay(&world, &schedule, NULL, &at) == 0 ? SCHEDULE_MOVES : at;
}

static void test_a_line_is_served_in_its_order(void **state) {
    /* A has the lock. C and then B wait. A releases it, and B tries to take it. */
    assert_int_equal(moves_after(LOCK_REDIS_FAIR, "ACBAAB"), 5);
    assert_int_equal(moves_after(LOCK_REDIS_FAIR, "ACBAAC"), SCHEDULE_MOVES);
    assert_int_equal(moves_after(LOCK_REDIS, "ACBAAB"), SCHEDULE_MOVES);
    assert_int_equal(moves_after(LOCK_REDIS, "ACBAAC"), SCHEDULE_MOVES);
    /* No other order can take it while A has it. */
    assert_int_equal(moves_after(LOCK_REDIS, "ACC"), 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_lock_of_the_process_guards_one_instance),
        cmocka_unit_test(test_a_lock_on_the_disk_guards_one_machine),
        cmocka_unit_test(test_a_lock_at_a_server_guards_all),
        cmocka_unit_test(test_an_advisory_lock_of_a_shared_session_guards_nothing),
        cmocka_unit_test(test_one_release_of_two_keeps_the_lock),
        cmocka_unit_test(test_shared_and_exclusive_holders_exclude_each_other),
        cmocka_unit_test(test_a_stamp_tells_that_somebody_had_the_lock),
        cmocka_unit_test(test_a_holder_without_a_release_keeps_the_lock),
        cmocka_unit_test(test_a_line_is_served_in_its_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
