/* Requests at other times, other events, and ends of the demand at which nothing is sold. */
#include "simulated_judge.h"

#define MS INT64_C(1000000)

/* ---- times */

static bool stretch(int64_t times) {
    for (size_t i = 0; i < sim.recorder->ended; i++) {
        sim.recorder->records[i].sent_ns *= times;
        sim.recorder->records[i].received_ns *= times;
    }
    return true;
}

static bool shift(int64_t by) {
    for (size_t i = 0; i < sim.recorder->ended; i++) {
        struct record *record = &sim.recorder->records[i];

        record->sent_ns += record->sent_ns > 0 ? by : 0;
        record->received_ns += by;
    }
    return true;
}

static bool send_before(struct record *record, int64_t outcome) {
    if (record->sent_ns < 2)
        return false;
    record->sent_ns = 1;
    return true;
}

/* A repeat after a yes may not be told no: those of a key stay as they are. */
static bool answer_late(struct record *record, int64_t outcome) {
    if (record->sent_ns <= 0)
        return false;
    record->received_ns += 1 << 20;
    return true;
}

/* Two sales of a row, one after the other, change places. */
static bool exchange_places(struct ledger_sale *lower, struct ledger_sale *higher, int64_t number) {
    if (only_yes(higher)->received_ns >= only_yes(lower)->sent_ns)
        return false;
    exchange_units(higher, lower);
    return true;
}

/* The sale of a higher unit was asked for when the lower one had been sold. */
static bool ask_later(struct ledger_sale *lower, struct ledger_sale *higher, int64_t by) {
    struct record *record = only_yes(higher);

    record->sent_ns = only_yes(lower)->received_ns + by;
    record->received_ns = record->sent_ns + 1;
    return true;
}

/* The sale of a lower unit had been answered when the higher one was asked for. */
static bool answer_before(struct ledger_sale *lower, struct ledger_sale *higher, int64_t by) {
    struct record *record = only_yes(lower);
    const int64_t to = only_yes(higher)->sent_ns - by;

    if (to < 2)
        return false;
    record->sent_ns = 1;
    record->received_ns = to;
    return true;
}

/* ---- events */

static bool forget_events(int64_t number) {
    if (sim.event_list.count == 0)
        return false;
    sim.event_list.count = 0;
    return true;
}

static struct event *add_event(enum event_kind kind, const char *who, const char *name) {
    struct event *event = &sim.events[sim.event_list.count++];

    *event = (struct event){.kind = kind, .at_ns = 1, .began_ns = 1, .until_ns = EVENT_OPEN};
    snprintf(event->who, sizeof event->who, "%s", who);
    snprintf(event->name, sizeof event->name, "%s", name);
    return event;
}

static bool add_fault(int64_t number) {
    if (number == 0)
        (void)add_event(EVENT_SERVER, "redis", "kill");
    else
        snprintf(add_event(EVENT_FAILPOINT, "inventory-1", "after-read")->detail, EVENT_DETAIL,
                 "crash");
    return true;
}

static const struct mutant time_mutants[] = {
    {"all took three times as long", STAYS_VALID, RUN(stretch, 3)},
    {"all was a second later", STAYS_VALID, RUN(shift, 1000 * MS)},
    {"a buyer asked before all others", STAYS_VALID, RECORD(send_before, RECORD_SOLD)},
    {"a sold out was asked before all others", STAYS_VALID, RECORD(send_before, RECORD_SOLD_OUT)},
    {"a busy was asked before all others", STAYS_VALID, RECORD(send_before, RECORD_BUSY)},
    {"a no came late", STAYS_VALID, RECORD(answer_late, RECORD_SOLD_OUT)},
    {"a timeout came late", STAYS_VALID, RECORD(answer_late, RECORD_UNKNOWN)},
    {"two sales changed places", MUST(STALE), PAIR(exchange_places, 0)},
    {"a sale was asked for after one of a lower unit", MUST(STALE), PAIR(ask_later, 1)},
    {"a sale was asked for long after one of a lower unit", MUST(STALE), PAIR(ask_later, 1000)},
    {"a sale was answered before one of a higher unit was sent", MUST(STALE),
     PAIR(answer_before, 1)},
    {"nothing tells of the faults", STAYS_VALID, RUN(forget_events, 0)},
    {"Redis was down, too", STAYS_VALID, RUN(add_fault, 0)},
    {"an instance crashed, too", STAYS_VALID, RUN(add_fault, 1)},
    {.name = NULL},
};

/* ---- the end of the demand */

/* A product with units that never were sold, which half a second later this many ask for. */
static bool ask_in_vain(uint32_t *item, int count, enum record_outcome outcome) {
    const int64_t from = end_of_run() + 600 * MS;
    int64_t left = 0;

    *item = (uint32_t)pick(0, sim.items - 1);
    for (int s = 0; s < sim.shards; s++)
        left += sim.rows[*item][s].available;
    if (left == 0 || sim.ledgers[*item].sale_count == 0 || sim.event_list.count > 0)
        return false;
    for (int i = 0; i < count; i++) {
        const int64_t sent = from + i * 10 * MS;

        (void)add_request(*item, outcome, sent, sent + MS);
    }
    return true;
}

static bool end_in_vain(int64_t outcome) {
    uint32_t item;

    return ask_in_vain(&item, 40, (enum record_outcome)outcome);
}

static bool end_with_too_few(int64_t count) {
    uint32_t item;

    return ask_in_vain(&item, (int)count, RECORD_BUSY);
}

/* All but the last; that one had a turn. */
static bool end_with_a_turn(int64_t outcome) {
    uint32_t item;
    struct record *last;

    if (!ask_in_vain(&item, 40, RECORD_BUSY))
        return false;
    last = &sim.recorder->records[sim.recorder->ended - 1];
    last->outcome = (enum record_outcome)outcome;
    if (outcome == RECORD_SOLD) {
        for (int s = 0; s < sim.shards; s++) {
            struct ledger_row *row = &sim.rows[item][s];

            /* Onto the count nothing may have come back. */
            if (row->available == 0 || (row->returns_to_count && sim.ledgers[item].returned_count))
                continue;
            row->available--;
            write_id(last->key, 900007);
            memcpy(last->order_id, last->key, UUID_TEXT);
            last->unit = row->first_unit + row->available;
            add_sale(item, last->key, row->shard, last->unit, row->available, 1000);
            add_order(item, &sim.sales[item][sim.ledgers[item].sale_count - 1]);
            return true;
        }
        return false;
    }
    return true;
}

/* A server was down until then. */
static bool end_with_a_fault(int64_t number) {
    uint32_t item;
    struct event *event;

    if (!ask_in_vain(&item, 40, RECORD_BUSY))
        return false;
    event = add_event(EVENT_SERVER, "redis", "kill");
    event->at_ns = event->began_ns = end_of_run() - 200 * MS;
    event->until_ns = number == 0 ? EVENT_OPEN : end_of_run() - 100 * MS;
    return true;
}

/* So many of the two instances crashed before. */
static bool end_with_crashes(int64_t count) {
    uint32_t item;

    if (!ask_in_vain(&item, 40, RECORD_BUSY))
        return false;
    for (int64_t i = 1; i <= count; i++) {
        char who[LEDGER_INSTANCE];
        struct event *event;

        snprintf(who, sizeof who, "inventory-%d", (int)i);
        event = add_event(EVENT_FAILPOINT, who, "after-write");
        snprintf(event->detail, sizeof event->detail, "crash");
        event->at_ns = event->began_ns = event->until_ns = end_of_run() - 450 * MS;
    }
    return true;
}

static bool end_of_a_stock(int64_t number) {
    const uint32_t item = (uint32_t)pick(0, sim.items - 1);
    const int64_t from = end_of_run() + 600 * MS;

    for (int s = 0; s < sim.shards; s++)
        if (sim.rows[item][s].available > 0)
            return false;
    for (int i = 0; i < 40; i++)
        (void)add_request(item, RECORD_BUSY, from + i * 10 * MS, from + i * 10 * MS + MS);
    return true;
}

static const struct mutant end_mutants[] = {
    {"at the end forty are told busy", MUST(STUCK), RUN(end_in_vain, RECORD_BUSY)},
    {"at the end forty are told an error", MUST(STUCK), RUN(end_in_vain, RECORD_FAILED)},
    {"at the end forty are told nothing, and nobody anything", STAYS_VALID,
     RUN(end_in_vain, RECORD_UNKNOWN)},
    {"at the end forty send a bad request", STAYS_VALID, RUN(end_in_vain, RECORD_REFUSED)},
    {"at the end twenty-nine are told busy", STAYS_VALID, RUN(end_with_too_few, 29)},
    {"at the end a last one buys", STAYS_VALID, RUN(end_with_a_turn, RECORD_SOLD)},
    {"at the end a last one is told sold out", MUST(UNDERSELL),
     RUN(end_with_a_turn, RECORD_SOLD_OUT)},
    {"at the end Redis is down", STAYS_VALID, RUN(end_with_a_fault, 0)},
    {"at the end Redis was down shortly before", STAYS_VALID, RUN(end_with_a_fault, 1)},
    {"at the end both instances have crashed", STAYS_VALID, RUN(end_with_crashes, 2)},
    {"at the end one of two instances has crashed", MUST(STUCK), RUN(end_with_crashes, 1)},
    {"at the end forty are told busy, and nothing is left", STAYS_VALID, RUN(end_of_a_stock, 0)},
    {.name = NULL},
};

static void test_times_are_held_against_sales(void **state) {
    assert_mutants_are_judged(time_mutants);
}

static void test_an_end_without_sales_is_judged_by_what_was_told(void **state) {
    assert_mutants_are_judged(end_mutants);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_times_are_held_against_sales),
        cmocka_unit_test(test_an_end_without_sales_is_judged_by_what_was_told),
    };

    return cmocka_run_group_tests(tests, simulated_set_up, simulated_tear_down);
}
