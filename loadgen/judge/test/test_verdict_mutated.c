/* Thousands of simulated runs of a correct sale, each with one thing changed that only a judge who
 * misses nothing sees: each is a violation, whatever timeouts, returned units and repeats there
 * are.
 */
#include "simulated_judge.h"

static struct ledger_row *row_of(const struct ledger_sale *sale) {
    return &sim.rows[item_of(sale)][sale->shard];
}

/* One unit too many in a row, and one that is missing in another: the sums are right. */
static bool plant_moved_unit(void) {
    const int item = (int)pick(0, sim.items - 1);
    const int64_t from = pick(0, sim.shards - 1), to = pick(0, sim.shards - 1);

    if (from == to)
        return false;
    sim.rows[item][from].available--;
    sim.rows[item][to].available++;
    return true;
}

/* The sale has a unit that is in the stock, and its own is gone: the sums are right. */
static bool plant_sold_from_below(void) {
    struct record *told;
    struct ledger_sale *sale = any_told(&told);

    if (sale == NULL || !is_of_count(sale) || row_of(sale)->available < 1)
        return false;
    sale->remaining = pick(0, row_of(sale)->available - 1);
    sale->unit = row_of(sale)->first_unit + sale->remaining;
    order_of(item_of(sale), sale->order_id)->unit = sale->unit;
    for (size_t i = 0; i < sim.recorder->ended; i++)
        if (strcmp(sim.recorder->records[i].order_id, sale->order_id) == 0)
            sim.recorder->records[i].unit = sale->unit;
    return true;
}

static bool plant_wrong_remaining(void) {
    struct ledger_sale *sale = any_sale();

    if (sale == NULL || !is_of_count(sale))
        return false;
    sale->remaining += pick(1, 3);
    return true;
}

/* It looks like that of a unit which had come back, in a run in which none may have. */
static bool plant_no_remaining(void) {
    struct ledger_sale *sale = any_sale();

    if (sim.is_undoing || sale == NULL || !is_of_count(sale))
        return false;
    sale->remaining = 0;
    return true;
}

/* The same key, after everybody else. */
static struct record *ask_again(const struct record *first, enum record_outcome outcome) {
    struct record *again = &sim.recorder->records[sim.recorder->ended++];

    *again = *first;
    again->outcome = outcome;
    again->sent_ns = INT64_C(1) << 40;
    again->received_ns = again->sent_ns + 1;
    again->is_repeat = true;
    return again;
}

static bool plant_denial(void) {
    struct record *told, *again;

    if (any_told(&told) == NULL)
        return false;
    again = ask_again(told, one_in(2) ? RECORD_SOLD_OUT : RECORD_REFUSED);
    again->order_id[0] = '\0';
    again->unit = -1;
    return true;
}

/* Sold, and answered with a no; asked again, it has its unit. Others had seen it gone long ago. */
static bool plant_no_before_yes(void) {
    static const enum record_outcome no[] = {RECORD_BUSY, RECORD_FAILED, RECORD_REFUSED,
                                             RECORD_SOLD_OUT};
    struct ledger_sale *sale = any_sale(), *later = any_sale();
    struct record *told = sale ? only_yes(sale) : NULL;

    if (told == NULL || later == NULL || item_of(sale) != item_of(later) ||
        sale->shard != later->shard || !is_of_count(sale) || !is_of_count(later) ||
        only_yes(later) == NULL || later->remaining >= sale->remaining)
        return false;
    (void)ask_again(told, RECORD_SOLD);
    told->outcome = no[pick(0, 3)];
    told->order_id[0] = '\0';
    told->unit = -1;
    return true;
}

static bool plant_other_order_id(void) {
    const struct ledger_sale *sale = any_sale(), *other = any_sale();
    struct record *told = sale ? only_yes(sale) : NULL;

    if (told == NULL)
        return false;
    if (other == NULL)
        write_id(told->order_id, REQUESTS + 3);
    else
        memcpy(told->order_id, other->order_id, UUID_TEXT);
    return strcmp(told->order_id, told->key) != 0;
}

/* It is for sale again, too. */
static bool plant_sold_and_returned(void) {
    const struct ledger_sale *sale = any_sale();
    struct ledger *ledger = sale ? &sim.ledgers[item_of(sale)] : NULL;

    if (sale == NULL)
        return false;
    sim.returned[item_of(sale)][ledger->returned_count++] =
        (struct ledger_returned){sale->shard, sale->unit};
    if (row_of(sale)->available > 0 && one_in(2))
        row_of(sale)->available--;
    return true;
}

/* A unit that was never sold came back, in a run in which all were told yes or no. */
static bool plant_returned_by_nobody(void) {
    const struct ledger_sale *sale = any_sale();
    struct ledger *ledger = sale ? &sim.ledgers[item_of(sale)] : NULL;

    for (size_t i = 0; i < sim.recorder->ended; i++)
        if (sim.recorder->records[i].outcome != RECORD_SOLD &&
            sim.recorder->records[i].outcome != RECORD_SOLD_OUT)
            return false;
    if (sale == NULL || row_of(sale)->available == 0)
        return false;
    row_of(sale)->available--;
    sim.returned[item_of(sale)][ledger->returned_count++] =
        (struct ledger_returned){sale->shard, row_of(sale)->first_unit + row_of(sale)->available};
    return true;
}

static void test_units_that_do_not_add_up_are_found(void **state) {
    (void)state;
    assert_planted_is_found(ANOMALY_LEAK, plant_moved_unit, RUNS / 4);
    assert_planted_is_found(ANOMALY_LEAK, plant_sold_from_below, RUNS / 20);
    assert_planted_is_found(ANOMALY_LEAK, plant_wrong_remaining, RUNS / 2);
    assert_planted_is_found(ANOMALY_LEAK, plant_no_remaining, RUNS / 8);
    assert_planted_is_found(ANOMALY_LEAK, plant_sold_and_returned, RUNS / 2);
    assert_planted_is_found(ANOMALY_LEAK, plant_returned_by_nobody, RUNS / 100);
}

static void test_answers_that_do_not_belong_together_are_found(void **state) {
    (void)state;
    assert_planted_is_found(ANOMALY_ORPHAN, plant_denial, RUNS / 2);
    assert_planted_is_found(ANOMALY_STALE, plant_no_before_yes, RUNS / 50);
    assert_planted_is_found(ANOMALY_GHOST, plant_other_order_id, RUNS / 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_units_that_do_not_add_up_are_found),
        cmocka_unit_test(test_answers_that_do_not_belong_together_are_found),
    };

    return cmocka_run_group_tests(tests, simulated_set_up, simulated_tear_down);
}
