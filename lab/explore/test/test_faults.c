/* Tests which locks and guards each fault breaks. */
#include "read_then_write.h"
#include "test.h"
#include "trial.h"

static enum lock_kind kind;
static enum guard guard;

static enum outcome lock_and_sell(struct sale *sale) {
    struct store_lock *lock;
    enum outcome outcome = store_lock(sale, kind, 0, &lock);

    if (outcome != OUTCOME_OK)
        return outcome;
    outcome = read_then_write(sale, 0, guard, lock);
    store_unlock(sale, lock, outcome);
    return outcome;
}

/* A lock of the process runs with one instance, because with two it guards nothing anyway. */
static unsigned flaws_of(enum lock_kind which, enum guard how, unsigned faults) {
    const bool is_local = which == LOCK_LOCAL || which == LOCK_SPIN;

    kind = which;
    guard = how;
    return explore_trial(&(struct trial){
        .sell = lock_and_sell, .faults = faults, .instances = is_local ? 1 : 2, .replicas = 1});
}

static const enum lock_kind leases[] = {LOCK_REDIS,   LOCK_REDIS_FAIR, LOCK_REDIS_WAIT,
                                        LOCK_REDLOCK, LOCK_ZOOKEEPER,  LOCK_ETCD};
#define LEASES (sizeof leases / sizeof *leases)

static void test_a_pause_breaks_each_lease_and_no_fence(void **state) {
    for (size_t i = 0; i < LEASES; i++) {
        assert_int_equal(flaws_of(leases[i], GUARD_ANY, 1U << FAULT_PAUSE), FLAW_TWIN);
        assert_int_equal(flaws_of(leases[i], GUARD_FENCE, 1U << FAULT_PAUSE), 0);
    }
    assert_int_equal(flaws_of(LOCK_PG_ADVISORY, GUARD_ANY, 1U << FAULT_PAUSE), FLAW_TWIN);
    assert_int_equal(flaws_of(LOCK_TABLE, GUARD_FENCE, 1U << FAULT_PAUSE), 0);
}

/* It looks at its lease once, and then writes in a transaction without a guard. */
static enum outcome lock_and_sell_in_transaction(struct sale *sale) {
    struct store_lock *lock;
    struct stock_row seen;
    enum outcome outcome = store_lock(sale, LOCK_REDIS, 0, &lock);

    if (outcome != OUTCOME_OK)
        return outcome;
    outcome = store_read_stock(sale, 0, &seen);
    if (outcome == OUTCOME_OK && seen.available <= 0)
        outcome = OUTCOME_SOLD_OUT;
    if (outcome == OUTCOME_OK)
        outcome = store_begin(sale, READ_COMMITTED);
    if (outcome == OUTCOME_OK)
        outcome = store_end(sale, store_write_stock(sale, &seen, guard, lock));
    store_unlock(sale, lock, outcome);
    return outcome;
}

static void test_a_pause_may_end_after_the_lease_and_before_the_transaction(void **state) {
    struct trial trial = {
        .sell = lock_and_sell_in_transaction, .faults = 1U << FAULT_PAUSE, .ttl_ms = 1000};

    guard = GUARD_ANY;
    assert_int_equal(explore_trial(&trial), FLAW_TWIN);
    guard = GUARD_FENCE;
    assert_int_equal(explore_trial(&trial), 0);
}

/* The instance of A has a lease and a transaction. */
static void test_a_pause_ends_at_each_end_of_something(void **state) {
    static struct model_world world;

    world.setup = setup_of("redis,ttl=1s", 2, 2);
    model_begin(&world);
    world.state.orders[0].state = ORDER_RUNS;
    world.state.orders[0].lock = (struct store_lock){.kind = LOCK_REDIS, .times = 1};
    world.state.grants[0] = (struct model_grant){.owner = 1, .kind = LOCK_REDIS};
    world.state.txns[0] = (struct model_txn){.state = TXN_READ_COMMITTED, .idle_ms = 5000};
    world.setup.faults = 1U << FAULT_PAUSE;
    assert_true(is_offered(&world, MOVE_PAUSE, 0));
    (void)model_make(&world, (struct model_move){MOVE_PAUSE, 0});
    assert_int_equal(world.state.grants[0].owner, 0);
    assert_int_equal(world.state.txns[0].state, TXN_READ_COMMITTED);
    assert_true(is_offered(&world, MOVE_RESUME, 0));
    assert_true(is_offered(&world, MOVE_PAUSE, 0));
    (void)model_make(&world, (struct model_move){MOVE_PAUSE, 0});
    assert_int_equal(world.state.txns[0].state, TXN_LOST);
    assert_true(is_offered(&world, MOVE_RESUME, 0));
    assert_false(is_offered(&world, MOVE_PAUSE, 0));
}

static void test_a_pause_breaks_no_lock_without_a_ttl(void **state) {
    assert_int_equal(flaws_of(LOCK_LOCAL, GUARD_ANY, 1U << FAULT_PAUSE), 0);
    assert_int_equal(flaws_of(LOCK_FLOCK, GUARD_ANY, 1U << FAULT_PAUSE), 0);
}

static void test_a_lease_outlives_its_dead_holders_write(void **state) {
    for (size_t i = 0; i < LEASES; i++)
        assert_int_equal(flaws_of(leases[i], GUARD_ANY, 1U << FAULT_CRASH), 0);
    assert_int_equal(explore_trial(&(struct trial){
                         .sell = lock_and_sell, .faults = 1U << FAULT_CRASH, .ttl_ms = 500}),
                     0);
}

static void test_a_lock_that_a_crash_frees_lets_the_next_in_before_the_write(void **state) {
    assert_int_equal(flaws_of(LOCK_FLOCK, GUARD_ANY, 1U << FAULT_CRASH), FLAW_TWIN);
    assert_int_equal(flaws_of(LOCK_LOCAL, GUARD_ANY, 1U << FAULT_CRASH), FLAW_TWIN);
    assert_int_equal(flaws_of(LOCK_PG_ADVISORY, GUARD_ANY, 1U << FAULT_CRASH), FLAW_TWIN);
    assert_int_equal(flaws_of(LOCK_PG_ADVISORY, GUARD_FENCE, 1U << FAULT_CRASH), 0);
}

static enum outcome lock_row_and_sell(struct sale *sale) {
    return lock_row_then_write(sale, 0, ROW_WAIT);
}

/* Its connection ends, with its commit or without it, before the others have waited for too long. */
static void test_a_dead_transaction_turns_nobody_away(void **state) {
    for (int returns = 0; returns < 2; returns++) {
        assert_int_equal(explore_trial(&(struct trial){.sell = lock_row_and_sell,
                                                       .faults = 1U << FAULT_CRASH,
                                                       .returns_to_count = returns != 0}),
                         0);
        for (int i = 0; i < 3; i++)
            assert_int_equal(trial_told[i] & 1U << OUTCOME_BUSY, 0);
    }
}

static void test_a_directory_stays_after_a_crash(void **state) {
    assert_int_equal(flaws_of(LOCK_MKDIR, GUARD_ANY, 1U << FAULT_CRASH), FLAW_STUCK);
}

static void test_a_lock_is_kept_while_an_unanswered_write_may_land(void **state) {
    for (size_t i = 0; i < LEASES; i++)
        assert_int_equal(flaws_of(leases[i], GUARD_ANY, 1U << FAULT_LOST_REPLY), 0);
    assert_int_equal(flaws_of(LOCK_LOCAL, GUARD_ANY, 1U << FAULT_LOST_REPLY), 0);
    assert_int_equal(flaws_of(LOCK_FLOCK, GUARD_ANY, 1U << FAULT_LOST_REPLY), 0);
    assert_int_equal(flaws_of(LOCK_TABLE, GUARD_FENCE, 1U << FAULT_LOST_REPLY), 0);
    assert_int_equal(flaws_of(LOCK_MKDIR, GUARD_ANY, 1U << FAULT_LOST_REPLY), FLAW_STUCK);
}

/* It releases the lock even if the write's end is unknown. */
static enum outcome forget_unknown(struct sale *sale) {
    struct store_lock *lock;
    enum outcome outcome = store_lock(sale, LOCK_REDIS, 0, &lock);

    if (outcome != OUTCOME_OK)
        return outcome;
    outcome = read_then_write(sale, 0, GUARD_ANY, lock);
    store_unlock(sale, lock, outcome == OUTCOME_UNKNOWN ? OUTCOME_OK : outcome);
    return outcome;
}

static void test_an_early_release_lets_the_own_write_land_late(void **state) {
    assert_int_equal(
        explore_trial(&(struct trial){.sell = forget_unknown, .faults = 1U << FAULT_LOST_REPLY}),
        FLAW_TWIN);
}

static enum outcome pause_and_sell_again(struct sale *sale) {
    enum outcome outcome = store_take_stock(sale, 0);

    while (outcome == OUTCOME_UNKNOWN && store_pause(sale) == OUTCOME_OK)
        outcome = store_take_stock(sale, 0);
    return outcome;
}

/* No other order changes anything, but the sale can learn what it does not know. */
static void test_a_pause_after_a_lost_reply_ends(void **state) {
    assert_int_equal(explore_trial(&(struct trial){.sell = pause_and_sell_again,
                                                   .orders = 1,
                                                   .faults = 1U << FAULT_LOST_REPLY}),
                     0);
    assert_int_equal(trial_told[0], 1U << OUTCOME_SOLD | 1U << OUTCOME_REPEATED);
}

static void test_a_failover_forgets_a_lease_that_no_replica_had(void **state) {
    static const enum lock_kind kept[] = {LOCK_REDLOCK, LOCK_ZOOKEEPER, LOCK_ETCD,
                                          LOCK_PG_ADVISORY};
    const struct trial with_two = {
        .sell = lock_and_sell, .faults = 1U << FAULT_FAILOVER, .replicas = 2};

    assert_int_equal(flaws_of(LOCK_REDIS, GUARD_ANY, with_two.faults), FLAW_TWIN);
    assert_int_equal(flaws_of(LOCK_REDIS, GUARD_FENCE, with_two.faults), 0);
    assert_int_equal(flaws_of(LOCK_REDIS_WAIT, GUARD_ANY, with_two.faults), FLAW_TWIN);
    assert_int_equal(explore_trial(&with_two), 0);
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        assert_int_equal(flaws_of(kept[i], GUARD_ANY, with_two.faults), 0);
}

/* It does not look at its lease before it writes. */
static enum outcome trust_the_lock(struct sale *sale) {
    struct store_lock *lock;
    enum outcome outcome = store_lock(sale, kind, 0, &lock);

    if (outcome != OUTCOME_OK)
        return outcome;
    outcome = read_then_write(sale, 0, GUARD_ANY, NULL);
    store_unlock(sale, lock, outcome);
    return outcome;
}

static void test_renewals_fail_and_a_holder_that_looks_notices(void **state) {
    for (size_t i = 0; i < LEASES; i++) {
        kind = leases[i];
        assert_int_equal(
            explore_trial(&(struct trial){.sell = trust_the_lock, .faults = 1U << FAULT_EXPIRY}),
            FLAW_TWIN);
        assert_int_equal(explore_trial(&(struct trial){.sell = trust_the_lock}), 0);
    }
}

static void test_only_a_lock_without_renewal_expires_unseen(void **state) {
    for (size_t i = 0; i < LEASES; i++)
        assert_int_equal(flaws_of(leases[i], GUARD_ANY, 1U << FAULT_EXPIRY), 0);
    assert_int_equal(flaws_of(LOCK_TABLE, GUARD_ANY, 1U << FAULT_EXPIRY), FLAW_TWIN);
    assert_int_equal(flaws_of(LOCK_TABLE, GUARD_FENCE, 1U << FAULT_EXPIRY), 0);
}

static void test_a_lease_is_renewed_while_its_holder_works(void **state) {
    struct trial trial = {
        .sell = lock_and_sell, .orders = 2, .ttl_ms = 100, .work_ms = 1000, .replicas = 1};

    guard = GUARD_ANY;
    kind = LOCK_REDIS;
    assert_int_equal(explore_trial(&trial), 0);
    /* The holder sees that its lock has expired, and sells nothing. */
    kind = LOCK_TABLE;
    assert_int_equal(explore_trial(&trial), FLAW_STUCK);
}

static enum outcome take_one(struct sale *sale) {
    return store_take_stock(sale, 0);
}

static enum outcome sell_in_transaction(struct sale *sale) {
    return lock_row_then_write(sale, 0, ROW_WAIT);
}

static void test_the_database_alone_survives_all_of_them(void **state) {
    const unsigned all = (1U << FAULT_COUNT) - 1;

    assert_int_equal(explore_trial(&(struct trial){.sell = take_one, .faults = all}), 0);
    assert_int_equal(explore_trial(&(struct trial){.sell = sell_in_transaction, .faults = all}), 0);
}

static enum outcome unlock_early(struct sale *sale) {
    struct store_lock *lock;
    enum outcome outcome = store_lock(sale, LOCK_REDIS, 0, &lock);

    if (outcome != OUTCOME_OK)
        return outcome;
    assert_int_equal(store_begin(sale, READ_COMMITTED), OUTCOME_OK);
    outcome = read_then_write(sale, 0, GUARD_ANY, lock);
    store_unlock(sale, lock, outcome);
    return store_end(sale, outcome);
}

static enum outcome look_and_sell(struct sale *sale) {
    return look_then_write(sale, LOCK_REDIS_RW);
}

static void test_the_table_leaves_nothing_out(void **state) {
    static enum outcome (*const sells[])(struct sale *) = {lock_and_sell, unlock_early,
                                                           look_and_sell};

    kind = LOCK_TABLE;
    guard = GUARD_ANY;
    for (size_t i = 0; i < 3; i++)
        assert_table_leaves_nothing_out((struct trial){
            .sell = sells[i], .orders = 2, .faults = 1U << FAULT_PAUSE | 1U << FAULT_CRASH});
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_pause_breaks_each_lease_and_no_fence),
        cmocka_unit_test(test_a_pause_breaks_no_lock_without_a_ttl),
        cmocka_unit_test(test_a_lease_outlives_its_dead_holders_write),
        cmocka_unit_test(test_a_lock_that_a_crash_frees_lets_the_next_in_before_the_write),
        cmocka_unit_test(test_a_dead_transaction_turns_nobody_away),
        cmocka_unit_test(test_a_directory_stays_after_a_crash),
        cmocka_unit_test(test_a_lock_is_kept_while_an_unanswered_write_may_land),
        cmocka_unit_test(test_an_early_release_lets_the_own_write_land_late),
        cmocka_unit_test(test_a_pause_after_a_lost_reply_ends),
        cmocka_unit_test(test_a_failover_forgets_a_lease_that_no_replica_had),
        cmocka_unit_test(test_renewals_fail_and_a_holder_that_looks_notices),
        cmocka_unit_test(test_only_a_lock_without_renewal_expires_unseen),
        cmocka_unit_test(test_a_pause_may_end_after_the_lease_and_before_the_transaction),
        cmocka_unit_test(test_a_pause_ends_at_each_end_of_something),
        cmocka_unit_test(test_a_lease_is_renewed_while_its_holder_works),
        cmocka_unit_test(test_the_database_alone_survives_all_of_them),
        cmocka_unit_test(test_the_table_leaves_nothing_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
