/* Makes the run, request by request and row by row. */
#include "verdict_fixture.h"

struct recorder *recorder;
struct ledger ledger;
struct ledger_sale sales[ROOM];
struct ledger_order orders[ROOM];
struct ledger_returned returned_units[ROOM];
char ids[ROOM][UUID_TEXT];
struct verdict verdict;
struct verdict_case judged;

int verdict_set_up(void **state) {
    recorder = recorder_make(ROOM);
    assert_non_null(recorder);
    for (int i = 0; i < ROOM; i++)
        snprintf(ids[i], sizeof ids[i], "01900000-0000-7000-8000-%012d", i);
    memset(&verdict, 0, sizeof verdict);
    ledger = (struct ledger){.initial = 10,
                             .available = 10,
                             .sales = sales,
                             .orders = orders,
                             .returned_units = returned_units};
    judged = (struct verdict_case){.ledgers = &ledger, .items = 1, .recorder = recorder};
    return 0;
}

int verdict_tear_down(void **state) {
    recorder_free(recorder);
    return 0;
}

struct record *request(enum record_outcome outcome) {
    size_t number = recorder->count;
    struct record *record = recorder_begin(recorder, recorder->count, (int64_t)number * MS, NULL);

    recorder->ended++;
    (void)record_set_id(&record->key, NULL, ids[number]);
    record->outcome = outcome;
    recorder->by_outcome[outcome]++;
    if (outcome == RECORD_UNSENT || outcome == RECORD_UNREACHED)
        return record;
    record->sent_ns = record->planned_ns + MS / 10;
    record->received_ns = record->planned_ns + 3 * MS;
    histogram_record(&recorder->lateness, MS / 10);
    recorder->answered += outcome != RECORD_UNKNOWN;
    return record;
}

struct record *at(struct record *record, int64_t sent_ms, int64_t received_ms) {
    record->sent_ns = sent_ms * MS;
    record->received_ns = received_ms * MS;
    return record;
}

struct record *repeat(const struct record *first, enum record_outcome outcome) {
    struct record *record = request(outcome);

    record->key = first->key;
    record->is_repeat = true;
    if (outcome == RECORD_SOLD) {
        record->order_id = first->order_id;
        record->unit = first->unit;
    }
    return record;
}

struct ledger_sale *ledger_row(int number, int64_t unit) {
    struct ledger_sale *sale = &sales[ledger.sale_count];
    bool is_first = true;

    for (size_t i = 0; i < ledger.sale_count; i++)
        is_first = is_first && sales[i].unit != unit;
    ledger.sale_count++;
    *sale = (struct ledger_sale){.order_id = ids[number],
                                 .quantity = 1,
                                 .unit = unit,
                                 .remaining = unit - 1,
                                 .instance = number % 2 == 0 ? "inventory-1" : "inventory-2",
                                 .at_us = ledger_time_us("2026-11-21T10:01:02.123456Z")};
    ledger.counted++;
    ledger.units += is_first;
    return sale;
}

void order_row(int number, int64_t unit) {
    struct ledger_order *order = &orders[ledger.order_count++];

    *order = (struct ledger_order){.order_id = ids[number],
                                   .unit = unit,
                                   .instance = "inventory-1",
                                   .at_us = ledger_time_us("2026-11-21T10:01:02.124456Z")};
}

void returned_row(int64_t shard, int64_t unit) {
    returned_units[ledger.returned_count++] = (struct ledger_returned){shard, unit};
    ledger.returned++;
}

struct record *sell(int64_t unit) {
    int number = (int)recorder->count;
    struct record *record = request(RECORD_SOLD);

    record->unit = unit;
    record->order_id = record_same;
    ledger_row(number, unit);
    order_row(number, unit);
    ledger.available--;
    return record;
}

void judge(void) {
    assert_int_equal(verdict_judge(&judged, &verdict), 0);
}

void assert_only(enum anomaly anomaly, int64_t count) {
    judge();
    for (int i = 0; i < ANOMALY_COUNT; i++)
        assert_int_equal(verdict.found[i].count, i == (int)anomaly ? count : 0);
    assert_int_equal(verdict.kind, VERDICT_VIOLATED);
    assert_true(verdict.found[anomaly].examples >= 1);
}

void assert_kind(enum verdict_kind kind) {
    judge();
    for (int i = 0; i < ANOMALY_COUNT; i++)
        assert_int_equal(verdict.found[i].count, 0);
    assert_int_equal(verdict.kind, kind);
}

const struct counterexample *counterexample_of(enum anomaly anomaly) {
    judge();
    for (size_t i = 0; i < verdict.counterexamples; i++)
        if (verdict.counterexample[i].anomaly == anomaly)
            return &verdict.counterexample[i];
    fail_msg("no counterexample of %s", anomaly_name(anomaly));
    return NULL;
}

void at_time(int sale, const char *clock) {
    char at[64];

    snprintf(at, sizeof at, "2026-11-21T%sZ", clock);
    sales[sale].at_us = ledger_time_us(at);
}
