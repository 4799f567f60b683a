/* Thousands of simulated runs: a run of a correct shop is never VIOLATED, and each untrue
 * refusal is found. Then the verdict is compared with a search through all orders of 20,000
 * small runs of a correct shop, some of them with one or two changes. A run is valid exactly if
 * the search finds an order for it. */
#include "referee.h"
#include "simulated_judge.h"

#include <inttypes.h>

static void assert_no_anomaly(uint64_t seed) {
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
        simulated_judge();
        assert_no_anomaly(seed);
        kinds[simulated_verdict.kind]++;
    }
    assert_in_range(kinds[VERDICT_VALID], RUNS, 3 * RUNS);
    assert_in_range(kinds[VERDICT_INCONCLUSIVE], RUNS / 20, RUNS); /* interrupted */
}

/* Nor if it sells loaded stock. */
static void test_no_correct_sale_of_loaded_stock_is_violated(void **state) {
    for (uint64_t seed = 1; seed <= 3 * RUNS; seed++) {
        struct simulated_shop shop = simulated_shop(seed);

        shop.is_loaded = true;
        shop.returns_to_count = false;
        simulate(seed, &shop);
        simulated_judge();
        assert_no_anomaly(seed);
    }
}

/* Neither under clocks that are up to 50 ms apart. */
static void test_no_correct_sale_is_violated_by_the_clocks_of_several_machines(void **state) {
    for (uint64_t seed = 1; seed <= 3 * RUNS; seed++) {
        const struct simulated_shop shop = simulated_shop(seed);

        simulate(seed, &shop);
        simulated_judge_blurred(seed % 2 == 0 ? 20000 : 50000000);
        assert_no_anomaly(seed);
    }
}

/* ---- the same runs, with counts and ids alone */

/* A history of another shop: orders, and the number of units left. */
static void forget_numbers(void) {
    for (int item = 0; item < sim.items; item++) {
        struct ledger *ledger = &sim.ledgers[item];

        ledger->is_unnumbered = true;
        ledger->can_return = sim.is_keyless;
        ledger->row_count = ledger->returned_count = 0;
        ledger->units = ledger->counted;
        for (size_t i = 0; i < ledger->sale_count; i++)
            ledger->sales[i].unit = ledger->sales[i].remaining = -1;
        for (size_t i = 0; i < ledger->order_count; i++)
            ledger->orders[i].unit = -1;
    }
    for (size_t i = 0; i < sim.recorder->ended; i++)
        sim.recorder->records[i].unit = -1;
}

static void test_counts_accuse_no_correct_sale(void **state) {
    for (uint64_t seed = 1; seed <= 3 * RUNS; seed++) {
        const struct simulated_shop shop = simulated_shop(seed);

        simulate(seed, &shop);
        forget_numbers();
        simulated_judge();
        assert_no_anomaly(seed);
        assert_int_equal(simulated_verdict.not_asked[ANOMALY_TWIN] != NULL,
                         simulated_verdict.sold > 0);
        assert_int_equal(simulated_verdict.not_asked[ANOMALY_UNDERSELL] != NULL, sim.is_keyless);
    }
}

/* A sale beyond the stock, a unit too many that is left, and a yes without a sale. */
static void test_counts_find_an_oversell_a_leak_and_a_ghost(void **state) {
    size_t tried = 0;

    for (uint64_t seed = 1; seed <= RUNS; seed++) {
        const struct simulated_shop shop = simulated_shop(seed);
        struct ledger_sale *sale;
        struct ledger *ledger;
        struct record *told;

        simulate(seed, &shop);
        forget_numbers();
        sale = any_told(&told);
        if (sim.cut != CUT_NONE || sale == NULL)
            continue;
        tried++;
        ledger = &sim.ledgers[item_of(sale)];
        ledger->initial = ledger->counted - 1;
        ledger->available = ledger->returned = 0;
        simulated_judge();
        assert_int_equal(simulated_verdict.found[ANOMALY_OVERSELL].count, 1);
        ledger->initial = ledger->counted + 2;
        ledger->available = 3;
        simulated_judge();
        assert_int_equal(simulated_verdict.found[ANOMALY_LEAK].count, 1);
        drop_order(told->item, sale->order_id);
        drop_sale(sale);
        ledger_sort(ledger);
        simulated_judge();
        assert_in_range(simulated_verdict.found[ANOMALY_GHOST].count, 1, 2);
    }
    assert_in_range(tried, RUNS / 2, RUNS);
}

/* ---- untrue refusals */

/* The first request of a key that may have sold, or NULL. */
static const struct record *buyer_of(const struct ledger_sale *sale) {
    const struct record *first = NULL;

    for (size_t i = 0; i < sim.recorder->ended; i++) {
        const struct record *record = &sim.recorder->records[i];

        if (strcmp(record_key(record), sale->order_id) == 0 && record->sent_ns > 0 &&
            record->outcome != RECORD_SOLD_OUT &&
            (first == NULL || record->sent_ns < first->sent_ns))
            first = record;
    }
    return first;
}

/* Whether the refusal had arrived before a later buyer was sent: that unit was there all along. */
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

/* ---- against the search */

#define HISTORIES 20000

static struct record *any_record(void) {
    return &sim.recorder->records[pick(0, (int64_t)sim.recorder->ended - 1)];
}

static void spoil_unit(void) {
    struct ledger_sale *sale = any_sale();

    if (sale == NULL)
        return;
    set_unit(sale, pick(0, sim.ledgers[item_of(sale)].initial + 1));
    if (one_in(2))
        sale->remaining = sale->unit - sim.rows[item_of(sale)][sale->shard].first_unit;
}

static void spoil_remaining(void) {
    struct ledger_sale *sale = any_sale();

    if (sale != NULL)
        sale->remaining = one_in(3) ? 0 : pick(-1, 5);
}

static void spoil_places(void) {
    struct ledger_sale *a = any_sale(), *b = any_sale();
    int32_t shard;

    if (a == NULL || b == NULL)
        return;
    exchange_units(a, b);
    shard = a->shard;
    a->shard = b->shard;
    b->shard = shard;
}

static void spoil_time(void) {
    struct record *record = any_record(), *other = any_record();
    const int64_t by = one_in(2) ? other->sent_ns - record->sent_ns : 1000 * pick(-20, 20);

    if (record->sent_ns <= 0 || record->sent_ns + by <= 0)
        return;
    record->sent_ns += by;
    record->received_ns += by;
}

/* A sale disappears, and perhaps its order. */
static void spoil_rows(void) {
    struct ledger_sale *sale = any_sale();
    const uint32_t item = sale != NULL ? item_of(sale) : 0;

    if (sale == NULL)
        return;
    if (one_in(2))
        drop_order(item, sale->order_id);
    drop_sale(sale);
}

static void spoil_stock(void) {
    struct ledger_row *row = &sim.rows[pick(0, sim.items - 1)][pick(0, sim.shards - 1)];

    row->available += one_in(2) ? 1 : -1;
}

static void spoil_returned(void) {
    const uint32_t item = (uint32_t)pick(0, sim.items - 1);
    struct ledger *ledger = &sim.ledgers[item];
    const struct ledger_returned unit = {pick(0, sim.shards - 1), pick(0, ledger->initial + 1)};

    if (ledger->returned_count > 0 && one_in(2))
        ledger->returned_count--;
    if (one_in(2))
        sim.returned[item][ledger->returned_count++] = unit;
}

static void spoil_reply(void) {
    static const enum record_outcome outcomes[] = {RECORD_SOLD_OUT, RECORD_BUSY, RECORD_UNKNOWN,
                                                   RECORD_REFUSED, RECORD_FAILED};
    struct record *record = any_record();

    if (record->sent_ns <= 0)
        return;
    tell(record, outcomes[pick(0, 4)]);
}

static void spoil(void) {
    static void (*const ways[])(void) = {spoil_unit,  spoil_remaining, spoil_places, spoil_time,
                                         spoil_time,  spoil_rows,      spoil_stock,  spoil_returned,
                                         spoil_reply, spoil_reply};

    ways[pick(0, (int64_t)(sizeof ways / sizeof ways[0]) - 1)]();
}

static void print_stock(void) {
    for (int item = 0; item < sim.items; item++) {
        const struct ledger *ledger = &sim.ledgers[item];

        for (size_t i = 0; i < ledger->row_count; i++)
            print_message("  shard %" PRId64 ": from unit %" PRId64 " %" PRId64 ", %" PRId64
                          " left%s\n",
                          ledger->rows[i].shard, ledger->rows[i].first_unit,
                          ledger->rows[i].initial, ledger->rows[i].available,
                          ledger->rows[i].returns_to_count ? ", returns to the count" : "");
        for (size_t i = 0; i < ledger->returned_count; i++)
            print_message("  came back: unit %" PRId64 " of shard %" PRId64 "\n",
                          ledger->returned_units[i].unit, ledger->returned_units[i].shard);
    }
}

struct tally {
    int valid, violated;
    int blurred, accused; /* of the violated: with the clocks of several machines, and still so */
};

/* No order of two operations is claimed that the clocks do not prove: no run is accused that the
 * true order clears. */
static bool blur_one(uint64_t seed, const char *why, struct tally *tally) {
    simulated_judge_blurred(one_in(3) ? 50000000 : 20000);
    tally->blurred += why != NULL;
    tally->accused += why != NULL && first_found() >= 0;
    if (why != NULL || first_found() < 0)
        return true;
    print_run(seed);
    print_message("only the clocks accuse it: %s\n",
                  simulated_verdict.found[first_found()].example[0]);
    return false;
}

static bool compare_one(uint64_t seed, struct tally *tally) {
    struct simulated_shop shop = simulated_shop(seed);
    const char *why;
    int found;

    shop.items = 1;
    shop.shards = seed / 36 % 2 == 0 ? 1 : 2;
    shop.units = shop.shards == 1 ? 4 : 5;
    shop.is_loaded = !shop.is_keyless && seed / 72 % 2 > 0;
    shop.requests = shop.returns_to_count || shop.is_loaded ? 6 : 8;
    simulate(seed, &shop);
    for (int64_t changes = pick(0, 2); changes > 0; changes--) {
        spoil();
        sum_up();
    }
    why = referee_objects();
    simulated_judge();
    found = first_found();
    tally->valid += why == NULL;
    tally->violated += why != NULL;
    if ((why != NULL) == (found >= 0))
        return blur_one(seed, why, tally);
    print_run(seed);
    print_stock();
    print_message("the search: %s; the judge: %s\n", why != NULL ? why : "valid",
                  found >= 0 ? simulated_verdict.found[found].example[0] : "valid");
    return false;
}

static void test_the_verdict_agrees_with_a_search_through_all_orders(void **state) {
    struct tally tally = {.valid = 0};
    int wrong = 0;

    for (uint64_t seed = 1; seed <= HISTORIES; seed++)
        wrong += !compare_one(seed, &tally);
    print_message(
        "%d valid, %d violated, %d wrong; %d of %d are still found under several clocks\n",
        tally.valid, tally.violated, wrong, tally.accused, tally.blurred);
    assert_in_range(tally.accused, tally.blurred / 2, tally.blurred - 1);
    assert_int_equal(wrong, 0);
    assert_in_range(tally.valid, HISTORIES / 4, HISTORIES);
    assert_in_range(tally.violated, HISTORIES / 4, HISTORIES);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_correct_sale_is_violated),
        cmocka_unit_test(test_no_correct_sale_of_loaded_stock_is_violated),
        cmocka_unit_test(test_no_correct_sale_is_violated_by_the_clocks_of_several_machines),
        cmocka_unit_test(test_counts_accuse_no_correct_sale),
        cmocka_unit_test(test_counts_find_an_oversell_a_leak_and_a_ghost),
        cmocka_unit_test(test_each_untrue_refusal_is_found),
        cmocka_unit_test(test_the_verdict_agrees_with_a_search_through_all_orders),
    };

    return cmocka_run_group_tests(tests, simulated_set_up, simulated_tear_down);
}
