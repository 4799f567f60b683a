/* Thousands of simulated runs: those of a correct sale are never called a violation, and each
 * anomaly that is planted in one is found. */
#include "simulated_judge.h"

#include <inttypes.h>

/* ---- correct sales */

static void assert_no_anomaly(uint64_t seed) {
    simulated_judge();
    for (int i = 0; i < ANOMALY_COUNT; i++) {
        if (simulated_verdict.found[i].count == 0)
            continue;
        print_run(seed);
        fail_msg("%s: %s", anomaly_name((enum anomaly)i), simulated_verdict.found[i].example[0]);
    }
    assert_int_equal(simulated_verdict.counterexamples, 0);
}

static void test_no_correct_sale_is_violated(void **state) {
    int kinds[VERDICT_UNJUDGED] = {0};

    (void)state;
    for (uint64_t seed = 1; seed <= 3 * RUNS; seed++) {
        simulate(seed, false, seed % 4 != 0, seed % 3 != 0);
        assert_no_anomaly(seed);
        kinds[simulated_verdict.kind]++;
    }
    assert_in_range(kinds[VERDICT_VALID], RUNS, 3 * RUNS);
    assert_in_range(kinds[VERDICT_INCONCLUSIVE], RUNS / 20, RUNS); /* interrupted */
}

/* ---- planted anomalies: false where there is no place for it */

/* Another customer, who gets the unit of this sale by the number. */
static void sell_again(const struct ledger_sale *sale, int64_t unit) {
    struct record *record = &sim.recorder->records[sim.recorder->ended++];
    const uint32_t item = item_of(sale);
    struct ledger_sale *again = &sim.sales[item][sim.ledgers[item].sale_count];

    *record = (struct record){
        .item = item, .unit = unit, .outcome = RECORD_SOLD, .sent_ns = 1, .received_ns = 1 << 30};
    write_id(record->key, REQUESTS);
    memcpy(record->order_id, record->key, UUID_TEXT);
    add_sale(item, record->key, sale->shard, unit, unit - sim.rows[item][sale->shard].first_unit,
             pick(1, 1000));
    add_order(item, again);
}

static bool plant_twin(void) {
    const struct ledger_sale *sale = any_sale();

    if (sale != NULL)
        sell_again(sale, sale->unit);
    return sale != NULL;
}

static bool plant_oversell(void) {
    const struct ledger_sale *sale = any_sale();

    if (sale != NULL)
        sell_again(sale, one_in(2) ? 0 : sim.ledgers[item_of(sale)].initial + 1);
    return sale != NULL;
}

static void drop_sale(struct ledger_sale *sale) {
    const uint32_t item = item_of(sale);

    *sale = sim.sales[item][--sim.ledgers[item].sale_count];
}

static void drop_order(uint32_t item, const char *id) {
    struct ledger_order *order = order_of(item, id);

    if (order != NULL)
        *order = sim.orders[item][--sim.ledgers[item].order_count];
}

static bool plant_ghost(void) {
    struct record *told;
    struct ledger_sale *sale = any_told(&told);

    if (sale == NULL)
        return false;
    switch (pick(1, 4)) {
    case 1:
        drop_sale(sale);
        break;
    case 2:
        drop_order(told->item, told->key);
        break;
    case 3:
        order_of(told->item, told->key)->unit++;
        break;
    default:
        for (size_t i = 0; i < sim.recorder->ended; i++)
            sim.recorder->records[i].unit +=
                strcmp(sim.recorder->records[i].key, sale->order_id) == 0;
        break;
    }
    return true;
}

static bool is_told(const struct ledger_sale *sale) {
    for (size_t i = 0; i < sim.recorder->ended; i++)
        if (strcmp(sim.recorder->records[i].key, sale->order_id) == 0 &&
            sim.recorder->records[i].outcome == RECORD_SOLD)
            return true;
    return false;
}

/* An order of a customer who was not told, for another unit than the ledger's. */
static bool plant_wrong_order(void) {
    const struct ledger_sale *sale = any_sale();

    if (sale == NULL || is_told(sale))
        return false;
    order_of(item_of(sale), sale->order_id)->unit++;
    return true;
}

/* All who asked with this key. */
static void tell_all(const char *key, enum record_outcome outcome) {
    for (size_t i = 0; i < sim.recorder->ended; i++) {
        struct record *record = &sim.recorder->records[i];

        if (strcmp(record->key, key) != 0)
            continue;
        record->outcome = outcome;
        record->order_id[0] = '\0';
        record->unit = -1;
    }
}

static bool plant_orphan(void) {
    struct ledger_sale *sale = any_sale();

    if (sale == NULL)
        return false;
    if (one_in(2))
        tell_all(sale->order_id, one_in(2) ? RECORD_BUSY : RECORD_FAILED);
    else
        write_id(sale->order_id, REQUESTS + 1); /* of nobody */
    return true;
}

static bool plant_duplicate(void) {
    struct record *told, *again = &sim.recorder->records[sim.recorder->ended];
    const struct ledger_sale *sale = any_told(&told);

    if (sale == NULL)
        return false;
    *again = *told;
    if (one_in(2))
        again->unit++;
    else
        write_id(again->order_id, REQUESTS + 2);
    sim.recorder->ended++;
    return true;
}

/* A sale that took two. */
static bool plant_leak(void) {
    const struct ledger_sale *sale = any_sale();
    struct ledger_row *row = sale ? &sim.rows[item_of(sale)][sale->shard] : NULL;

    if (row == NULL)
        return false;
    row->available += row->available > 0 && one_in(2) ? -1 : 1;
    return true;
}

/* A unit that went away unsold, while a later one was sold; and the stock has one more, so that the
 * sums are right. Nobody was refused, which would be an UNDERSELL. */
static bool plant_passed_over(void) {
    struct ledger_sale *sale = any_sale();
    const uint32_t item = sale ? item_of(sale) : 0;
    bool is_passed = false;

    for (size_t i = 0; sale != NULL && i < sim.recorder->ended; i++)
        if (sim.recorder->records[i].outcome == RECORD_UNKNOWN ||
            sim.recorder->records[i].outcome == RECORD_SOLD_OUT)
            return false;
    for (size_t i = 0; sale != NULL && i < sim.ledgers[item].sale_count; i++)
        is_passed = is_passed ||
                    (sim.sales[item][i].shard == sale->shard && is_of_count(&sim.sales[item][i]) &&
                     sim.sales[item][i].remaining < sale->remaining);
    if (!is_passed)
        return false;
    sim.rows[item][sale->shard].available++;
    tell_all(sale->order_id, RECORD_BUSY);
    drop_order(item, sale->order_id);
    drop_sale(sale);
    return true;
}

/* Two sales of a row, one after the other, change places. */
static bool plant_stale(void) {
    struct ledger_sale *a = any_sale(), *b = any_sale();
    struct record *told_a = a ? only_yes(a) : NULL, *told_b = b ? only_yes(b) : NULL;
    struct ledger_sale swap;

    if (told_a == NULL || told_b == NULL || item_of(a) != item_of(b) || a->shard != b->shard ||
        !is_of_count(a) || !is_of_count(b) || told_a->received_ns >= told_b->sent_ns)
        return false;
    swap = *a;
    a->unit = b->unit;
    a->remaining = b->remaining;
    b->unit = swap.unit;
    b->remaining = swap.remaining;
    told_a->unit = order_of(told_a->item, told_a->key)->unit = a->unit;
    told_b->unit = order_of(told_b->item, told_b->key)->unit = b->unit;
    return true;
}

static void test_each_planted_anomaly_is_found(void **state) {
    (void)state;
    assert_planted_is_found(ANOMALY_TWIN, plant_twin, RUNS / 2);
    assert_planted_is_found(ANOMALY_OVERSELL, plant_oversell, RUNS / 2);
    assert_planted_is_found(ANOMALY_GHOST, plant_ghost, RUNS / 4);
    assert_planted_is_found(ANOMALY_GHOST, plant_wrong_order, RUNS / 100);
    assert_planted_is_found(ANOMALY_ORPHAN, plant_orphan, RUNS / 2);
    assert_planted_is_found(ANOMALY_DUPLICATE, plant_duplicate, RUNS / 4);
    assert_planted_is_found(ANOMALY_LEAK, plant_leak, RUNS / 2);
    assert_planted_is_found(ANOMALY_LEAK, plant_passed_over, RUNS / 100);
    assert_planted_is_found(ANOMALY_STALE, plant_stale, RUNS / 100);
}

/* ---- refusals that are not true */

/* The first request of a key that may have sold, or NULL. */
static const struct record *buyer_of(const struct ledger_sale *sale) {
    const struct record *first = NULL;

    for (size_t i = 0; i < sim.recorder->ended; i++) {
        const struct record *record = &sim.recorder->records[i];

        if (strcmp(record->key, sale->order_id) == 0 && record->sent_ns > 0 &&
            record->outcome != RECORD_SOLD_OUT &&
            (first == NULL || record->sent_ns < first->sent_ns))
            first = record;
    }
    return first;
}

/* A refusal that had arrived before the buyer of a unit was sent, which was there all along. */
static bool is_early(const struct record *refusal) {
    for (size_t i = 0; i < sim.ledgers[refusal->item].sale_count; i++) {
        const struct ledger_sale *sale = &sim.sales[refusal->item][i];

        if (is_of_count(sale) && buyer_of(sale)->sent_ns > refusal->received_ns)
            return true;
    }
    return false;
}

static void test_each_untrue_refusal_is_found(void **state) {
    int undersold = 0, early = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= RUNS; seed++) {
        bool is_undersold = false, is_any_early = false;

        simulate(seed, true, seed % 4 != 0, seed % 3 != 0);
        for (size_t i = 0; i < sim.recorder->ended; i++) {
            const struct record *record = &sim.recorder->records[i];

            if (record->outcome != RECORD_SOLD_OUT)
                continue;
            is_undersold = is_undersold || sim.ledgers[record->item].available > 0;
            is_any_early = is_any_early || is_early(record);
        }
        simulated_judge();
        undersold += is_undersold;
        early += is_any_early;
        if ((is_undersold && simulated_verdict.found[ANOMALY_UNDERSELL].count == 0) ||
            (is_any_early && simulated_verdict.found[ANOMALY_EARLY_SOLD_OUT].count == 0)) {
            print_run(seed);
            fail_msg("an untrue refusal was not found");
        }
    }
    assert_in_range(undersold, RUNS / 10, RUNS);
    assert_in_range(early, RUNS / 10, RUNS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_correct_sale_is_violated),
        cmocka_unit_test(test_each_planted_anomaly_is_found),
        cmocka_unit_test(test_each_untrue_refusal_is_found),
    };

    return cmocka_run_group_tests(tests, simulated_set_up, simulated_tear_down);
}
