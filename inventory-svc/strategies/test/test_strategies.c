/* Strategies over a model store of a few lines: no server, and every interleaving by hand. */
#include "fiber.h"
#include "strategies.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define SHARDS 4
#define PAUSES 3 /* until a sale gives up */

/* The stock of one product, and a lock per shard that one sale holds and others are refused. */
static struct model {
    struct stock_row rows[SHARDS];
    bool is_locked[SHARDS];
    int readers;                        /* who share the lock of row 0 */
    const struct sale *holders[SHARDS]; /* and how often they have it */
    int times[SHARDS];
    uint64_t stamped; /* how often a lock was won */
    int locks_taken;
    enum outcome read_outcome, write_outcome; /* OK, or what the next ones answer */
    enum outcome unlocked_with;
    bool is_lease_lost;
} model;

/* A sale in a fiber that stops in store_work() until it is let on. */
struct model_sale {
    struct sale sale;
    const struct strategy *strategy;
    int first_shard;
    struct fiber_event go;
    enum outcome outcome;
};

/* What store_lock() hands out: its address says which shard. */
static char held[SHARDS];

static enum outcome read_stock(struct sale *sale, int shard, struct stock_row *row) {
    (void)sale;
    *row = model.rows[shard];
    return model.read_outcome;
}

static void note_sold(struct sale *sale, const struct stock_row *seen) {
    sale->shard = seen->shard;
    sale->unit = seen->first_unit + seen->available - 1;
    sale->remaining = seen->available - 1;
}

static enum outcome begin_write(struct sale *sale, enum guard guard,
                                const struct store_lock *under) {
    (void)sale;
    (void)guard;
    (void)under;
    return OUTCOME_OK;
}

static void end_write(struct sale *sale) {
    (void)sale;
}

static enum outcome write_stock(struct sale *sale, const struct stock_row *seen, enum guard guard,
                                const struct store_lock *under) {
    (void)guard;
    (void)under;
    if (model.write_outcome != OUTCOME_OK)
        return model.write_outcome;
    model.rows[seen->shard].available = seen->available - 1;
    note_sold(sale, seen);
    return OUTCOME_SOLD;
}

static enum outcome take_stock(struct sale *sale, int shard) {
    if (model.rows[shard].available == 0)
        return OUTCOME_SOLD_OUT;
    note_sold(sale, &model.rows[shard]);
    model.rows[shard].available--;
    return OUTCOME_SOLD;
}

static enum outcome lock(struct sale *sale, enum lock_kind kind, int shard,
                         struct store_lock **out) {
    const bool is_again = kind == LOCK_REENTRANT && model.holders[shard] == sale;

    if ((model.is_locked[shard] && !is_again) || model.readers > 0)
        return OUTCOME_BUSY;
    model.is_locked[shard] = true;
    model.holders[shard] = sale;
    model.times[shard]++;
    model.locks_taken++;
    model.stamped++;
    *out = (struct store_lock *)(void *)&held[shard];
    return OUTCOME_OK;
}

static char shared_hold; /* what those who share hold */

static enum outcome lock_shared(struct sale *sale, enum lock_kind kind, int shard,
                                struct store_lock **out) {
    (void)sale;
    (void)kind;
    if (model.is_locked[shard])
        return OUTCOME_BUSY;
    model.readers++;
    *out = (struct store_lock *)(void *)&shared_hold;
    return OUTCOME_OK;
}

static uint64_t stamp(struct sale *sale, int shard) {
    (void)sale;
    return model.is_locked[shard] ? 0 : model.stamped + 1;
}

static enum outcome lock_stamped(struct sale *sale, int shard, uint64_t given,
                                 struct store_lock **out) {
    return given == stamp(sale, shard) ? lock(sale, LOCK_STAMPED, shard, out) : OUTCOME_CONFLICT;
}

static enum outcome check_lock(struct sale *sale, const struct store_lock *given) {
    (void)sale;
    (void)given;
    return model.is_lease_lost ? OUTCOME_BUSY : OUTCOME_OK;
}

static void unlock(struct sale *sale, struct store_lock *given, enum outcome outcome) {
    (void)sale;
    model.unlocked_with = outcome;
    if ((char *)given == &shared_hold) {
        model.readers--;
        return;
    }
    model.is_locked[(char *)given - held] = --model.times[(char *)given - held] > 0;
}

static void wait_for_go(struct sale *sale) {
    fiber_event_wait(&((struct model_sale *)(void *)sale)->go);
}

/* The ledger knows nothing of it. */
static enum outcome find_sale(struct sale *sale, bool *is_found) {
    (void)sale;
    *is_found = false;
    return OUTCOME_OK;
}

static int deal(struct sale *sale) {
    return ((struct model_sale *)(void *)sale)->first_shard;
}

static enum outcome pause_for_nothing(struct sale *sale) {
    return sale->pauses < PAUSES ? OUTCOME_OK : OUTCOME_BUSY;
}

static enum outcome pass(struct sale *sale, enum fail_point point) {
    (void)sale;
    (void)point;
    return OUTCOME_OK;
}

static const struct store_ops ops = {.read_stock = read_stock,
                                     .begin_write = begin_write,
                                     .end_write = end_write,
                                     .find_sale = find_sale,
                                     .deal = deal,
                                     .pass = pass,
                                     .write_stock = write_stock,
                                     .take_stock = take_stock,
                                     .lock = lock,
                                     .lock_shared = lock_shared,
                                     .stamp = stamp,
                                     .lock_stamped = lock_stamped,
                                     .pause = pause_for_nothing,
                                     .check_lock = check_lock,
                                     .unlock = unlock,
                                     .work = wait_for_go};

static const struct sale_options options = {.shards = SHARDS};

static int set_up(void **state) {
    (void)state;
    memset(&model, 0, sizeof model);
    for (int i = 0; i < SHARDS; i++)
        model.rows[i] = (struct stock_row){.shard = i, .first_unit = 1 + 10 * i, .available = 10};
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    fiber_cleanup();
    return 0;
}

static void run(void *arg) {
    struct model_sale *sale = arg;

    sale->outcome = sale->strategy->sell(&sale->sale);
}

static const struct strategy *find(const char *name) {
    const struct strategy *const *at = strategies;

    while (strcmp((*at)->name, name) != 0)
        assert_non_null(*++at);
    return *at;
}

static void begin(struct model_sale *sale, const char *name, int first_shard) {
    *sale = (struct model_sale){
        .sale = {.ops = &ops, .options = &options},
        .first_shard = first_shard,
        .strategy = find(name),
        .go = FIBER_EVENT_INIT,
    };
    assert_int_equal(fiber_start(run, sale), 0);
}

static enum outcome sell(const char *name, int first_shard, struct model_sale *sale) {
    begin(sale, name, first_shard);
    fiber_event_set(&sale->go);
    return sale->outcome;
}

static void test_two_sales_without_a_guard_sell_the_same_unit(void **state) {
    struct model_sale one, two;

    (void)state;
    begin(&one, "none", 0);
    begin(&two, "none", 0);
    fiber_event_set(&one.go);
    fiber_event_set(&two.go);
    assert_int_equal(one.outcome, OUTCOME_SOLD);
    assert_int_equal(two.outcome, OUTCOME_SOLD);
    assert_int_equal(one.sale.unit, two.sale.unit);
    assert_int_equal(model.rows[0].available, 9);
}

static void test_two_sales_one_after_the_other_sell_two_units(void **state) {
    struct model_sale one, two;

    (void)state;
    assert_int_equal(sell("none", 0, &one), OUTCOME_SOLD);
    assert_int_equal(sell("none", 0, &two), OUTCOME_SOLD);
    assert_int_equal(one.sale.unit, 10);
    assert_int_equal(two.sale.unit, 9);
}

static void test_a_conditional_update_never_sells_a_unit_twice(void **state) {
    struct model_sale one, two;

    (void)state;
    begin(&one, "atomic", 0);
    begin(&two, "atomic", 0);
    fiber_event_set(&two.go);
    fiber_event_set(&one.go);
    assert_int_equal(two.sale.unit, 10);
    assert_int_equal(one.sale.unit, 9);
}

static void test_a_lock_keeps_the_second_sale_out(void **state) {
    static const char *const names[] = {"mutex", "redis", "sharded", "mkdir",
                                        "flock", "spin",  "segment"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct model_sale one, two;

        (void)set_up(state);
        begin(&one, names[i], 0);
        begin(&two, names[i], 0);
        assert_int_equal(two.outcome, OUTCOME_BUSY);
        fiber_event_set(&one.go);
        assert_int_equal(one.outcome, OUTCOME_SOLD);
        assert_int_equal(model.unlocked_with, OUTCOME_SOLD);
        assert_false(model.is_locked[0]);
    }
}

static void test_a_nested_lock_is_given_back_by_both(void **state) {
    struct model_sale one, two;

    (void)state;
    begin(&one, "reentrant", 0);
    assert_int_equal(model.times[0], 2);
    begin(&two, "reentrant", 0);
    assert_int_equal(two.outcome, OUTCOME_BUSY);
    fiber_event_set(&one.go);
    assert_int_equal(one.outcome, OUTCOME_SOLD);
    assert_int_equal(model.times[0], 0);
    assert_false(model.is_locked[0]);
}

static void test_sold_out_is_told_to_those_who_share_the_lock(void **state) {
    struct model_sale sale;

    (void)state;
    model.rows[0].available = 0;
    model.readers = 1;
    assert_int_equal(sell("rwlock", 0, &sale), OUTCOME_SOLD_OUT);
    assert_int_equal(model.readers, 1);
    assert_int_equal(model.locks_taken, 0);
    model.rows[0].available = 1;
    assert_int_equal(sell("rwlock", 0, &sale), OUTCOME_BUSY); /* it gave its own back first */
    assert_int_equal(model.readers, 1);
    model.readers = 0;
    assert_int_equal(sell("rwlock", 0, &sale), OUTCOME_SOLD);
    assert_false(model.is_locked[0]);
}

/* Both read one count; the first to write wins, and the other reads again. */
static void test_a_stamp_that_is_out_of_date_is_tried_again(void **state) {
    struct model_sale one, two;

    (void)state;
    begin(&one, "stamped", 0);
    begin(&two, "stamped", 0);
    assert_int_equal(model.locks_taken, 0);
    fiber_event_set(&two.go);
    assert_int_equal(two.outcome, OUTCOME_SOLD);
    fiber_event_set(&one.go);
    assert_int_equal(one.outcome, OUTCOME_SOLD);
    assert_int_equal(one.sale.pauses, 1);
    assert_int_equal(two.sale.unit, 10);
    assert_int_equal(one.sale.unit, 9);
    assert_false(model.is_locked[0]);
}

static void test_a_stamp_that_is_never_given_is_busy(void **state) {
    struct model_sale sale;

    (void)state;
    model.is_locked[0] = true;
    assert_int_equal(sell("stamped", 0, &sale), OUTCOME_BUSY);
    assert_int_equal(sale.sale.pauses, PAUSES);
}

static void test_a_lost_lease_stops_the_write(void **state) {
    struct model_sale sale;

    (void)state;
    begin(&sale, "redis", 0);
    model.is_lease_lost = true;
    fiber_event_set(&sale.go);
    assert_int_equal(sale.outcome, OUTCOME_BUSY);
    assert_int_equal(model.rows[0].available, 10);
}

static void test_the_lock_learns_that_the_outcome_is_unknown(void **state) {
    struct model_sale sale;

    (void)state;
    model.write_outcome = OUTCOME_UNKNOWN;
    assert_int_equal(sell("redis", 0, &sale), OUTCOME_UNKNOWN);
    assert_int_equal(model.unlocked_with, OUTCOME_UNKNOWN);
}

static void test_a_failed_read_is_the_outcome(void **state) {
    static const char *const names[] = {"none",    "mutex", "redis",     "sharded",
                                        "mkdir",   "flock", "reentrant", "rwlock",
                                        "stamped", "spin",  "segment"};
    struct model_sale sale;

    (void)state;
    model.read_outcome = OUTCOME_BUSY;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        assert_int_equal(sell(names[i], 0, &sale), OUTCOME_BUSY);
}

static void sell_all(const char *name) {
    struct model_sale sale;
    int64_t sold[SHARDS * 10 + 1] = {0};

    for (int i = 0; i < SHARDS * 10; i++) {
        assert_int_equal(sell(name, 2, &sale), OUTCOME_SOLD);
        assert_int_equal(sold[sale.sale.unit]++, 0);
    }
    model.locks_taken = 0;
    assert_int_equal(sell(name, 2, &sale), OUTCOME_SOLD_OUT);
}

static void test_shards_lend_to_each_other_until_all_are_empty(void **state) {
    sell_all("sharded");
    assert_int_equal(model.locks_taken, 0);
    (void)set_up(state);
    sell_all("segment");
    assert_int_equal(model.locks_taken, SHARDS);
}

static void test_every_outcome_has_a_name_and_a_text(void **state) {
    (void)state;
    assert_string_equal(outcome_name(OUTCOME_SOLD_OUT), "SOLD_OUT");
    assert_string_equal(outcome_text(OUTCOME_SOLD_OUT), "no unit left");
    assert_string_equal(outcome_name(OUTCOME_FAILED), "FAILED");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_outcome_has_a_name_and_a_text),
        cmocka_unit_test_setup_teardown(test_two_sales_without_a_guard_sell_the_same_unit, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_two_sales_one_after_the_other_sell_two_units, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_conditional_update_never_sells_a_unit_twice, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_lock_keeps_the_second_sale_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_nested_lock_is_given_back_by_both, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_sold_out_is_told_to_those_who_share_the_lock, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_stamp_that_is_out_of_date_is_tried_again, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_stamp_that_is_never_given_is_busy, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_lost_lease_stops_the_write, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_lock_learns_that_the_outcome_is_unknown, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_failed_read_is_the_outcome, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_shards_lend_to_each_other_until_all_are_empty, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
