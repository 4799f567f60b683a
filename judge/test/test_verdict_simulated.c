/* Thousands of simulated runs: those of a correct shop are never called a violation, and each
 * untrue refusal is found. */
#include "simulated_judge.h"

#include <inttypes.h>

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

    for (uint64_t seed = 1; seed <= 3 * RUNS; seed++) {
        const struct simulated_shop shop = simulated_shop(seed);

        simulate(seed, &shop);
        assert_no_anomaly(seed);
        kinds[simulated_verdict.kind]++;
    }
    assert_in_range(kinds[VERDICT_VALID], RUNS, 3 * RUNS);
    assert_in_range(kinds[VERDICT_INCONCLUSIVE], RUNS / 20, RUNS); /* interrupted */
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

        const struct record *buyer = buyer_of(sale);

        if (is_of_count(sale) && buyer != NULL && buyer->sent_ns > refusal->received_ns)
            return true;
    }
    return false;
}

static void test_each_untrue_refusal_is_found(void **state) {
    int undersold = 0, early = 0;

    for (uint64_t seed = 1; seed <= RUNS; seed++) {
        struct simulated_shop shop = simulated_shop(seed);
        bool is_undersold = false, is_any_early = false;

        shop.is_lying = true;
        simulate(seed, &shop);
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
        cmocka_unit_test(test_each_untrue_refusal_is_found),
    };

    return cmocka_run_group_tests(tests, simulated_set_up, simulated_tear_down);
}
