/* Judges simulated runs, and finds in them what a test may change. */
#include "simulated_judge.h"

#include <inttypes.h>

struct verdict simulated_verdict;

int simulated_set_up(void **state) {
    (void)state;
    sim.recorder = recorder_make(ROOM);
    return sim.recorder != NULL ? 0 : -1;
}

int simulated_tear_down(void **state) {
    (void)state;
    recorder_free(sim.recorder);
    return 0;
}

void simulated_judge(void) {
    const struct verdict_case judged = {.ledgers = sim.ledgers,
                                        .items = (size_t)sim.items,
                                        .recorder = sim.recorder,
                                        .is_interrupted = sim.cut != CUT_NONE,
                                        .is_keyless = sim.is_undoing};

    assert_int_equal(verdict_judge(&judged, &simulated_verdict), 0);
}

void print_run(uint64_t seed) {
    print_message("seed %" PRIu64 ", %d shards\n", seed, sim.shards);
    for (size_t i = 0; i < sim.recorder->ended; i++) {
        const struct record *record = &sim.recorder->records[i];

        print_message("  item %" PRIu32 " %s from %" PRId64 " to %" PRId64 ": %s %" PRId64 "\n",
                      record->item, record->key + 30, record->sent_ns, record->received_ns,
                      record_outcome_name(record->outcome), record->unit);
    }
    for (int item = 0; item < sim.items; item++)
        for (size_t i = 0; i < sim.ledgers[item].sale_count; i++) {
            const struct ledger_sale *sale = &sim.sales[item][i];

            print_message(
                "  item %d %s unit %" PRId64 " of shard %" PRId64 ", %" PRId64 " left at %s\n",
                item, sale->order_id + 30, sale->unit, sale->shard, sale->remaining, sale->at);
        }
}

struct ledger_sale *any_sale(void) {
    const int item = (int)pick(0, sim.items - 1);
    const size_t count = sim.ledgers[item].sale_count;

    return count > 0 ? &sim.sales[item][pick(0, (int64_t)count - 1)] : NULL;
}

uint32_t item_of(const struct ledger_sale *sale) {
    return sale >= sim.sales[1] ? 1 : 0;
}

struct ledger_sale *any_told(struct record **told) {
    struct ledger_sale *sale = any_sale();

    for (size_t i = 0; sale != NULL && i < sim.recorder->ended; i++) {
        *told = &sim.recorder->records[i];
        if ((*told)->outcome == RECORD_SOLD && strcmp((*told)->key, sale->order_id) == 0)
            return sale;
    }
    return NULL;
}

bool is_of_count(const struct ledger_sale *sale) {
    const struct ledger_row *row = &sim.rows[item_of(sale)][sale->shard];

    return sale->remaining > 0 && sale->unit - row->first_unit == sale->remaining;
}

struct record *only_yes(const struct ledger_sale *sale) {
    struct record *found = NULL;

    for (size_t i = 0; i < sim.recorder->ended; i++) {
        if (strcmp(sim.recorder->records[i].key, sale->order_id) != 0)
            continue;
        if (found != NULL || sim.recorder->records[i].outcome != RECORD_SOLD)
            return NULL;
        found = &sim.recorder->records[i];
    }
    return found;
}

void assert_planted_is_found(enum anomaly anomaly, bool (*plant)(void), int least) {
    int planted = 0;

    for (uint64_t seed = 1; seed <= RUNS; seed++) {
        simulate(seed, false, seed % 4 != 0, seed % 3 != 0);
        if (sim.cut != CUT_NONE || !plant())
            continue;
        planted++;
        sum_up();
        simulated_judge();
        if (simulated_verdict.found[anomaly].count > 0)
            continue;
        print_run(seed);
        fail_msg("%s was planted and not found", anomaly_name(anomaly));
    }
    assert_in_range(planted, least, RUNS);
}
