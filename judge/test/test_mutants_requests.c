/* Changed replies, untrue refusals, requests at other times, other events, and demands that end
 * without a sale. */
#include "simulated_judge.h"

/* ---- replies */

static bool tell_buyer(struct ledger_sale *sale, int64_t outcome) {
    if (sim.is_keyless)
        return false;
    tell_all(sale->order_id, (enum record_outcome)outcome);
    return true;
}

static bool lose_reply(struct ledger_sale *sale, struct record *told, int64_t number) {
    if (only_yes(sale) == NULL)
        return false;
    tell(told, RECORD_UNKNOWN);
    return true;
}

/* A customer without a sale is promised another customer's unit. */
static bool promise(struct ledger_sale *sale, int64_t number) {
    struct record *record = any_of(RECORD_UNKNOWN);

    if (record == NULL || record->item != item_of(sale) ||
        sale_of(record->item, record_key(record)) != NULL || sim.is_keyless)
        return false;
    record->outcome = RECORD_SOLD;
    record->unit = sale->unit;
    record->order_id = record_same;
    return true;
}

static bool change_reply_unit(struct ledger_sale *sale, struct record *told, int64_t by) {
    for (size_t i = 0; i < sim.recorder->ended; i++)
        if (strcmp(record_order_id(&sim.recorder->records[i]), sale->order_id) == 0)
            sim.recorder->records[i].unit += by;
    return true;
}

/* The reply names the order of another sale (0), an order of nobody (1), or none. */
static bool change_reply_order(struct ledger_sale *sale, int64_t number) {
    const struct ledger_sale *other = any_sale();
    struct record *told = only_yes(sale);

    if (told == NULL || other == NULL || sale == other || item_of(sale) != item_of(other) ||
        (number == 2 && sim.is_keyless))
        return false;
    if (number == 0)
        told->order_id = other->order_id;
    else if (number == 1)
        told->order_id = id_of(900005);
    else
        told->order_id = NULL;
    return true;
}

static bool change_product(struct ledger_sale *sale, struct record *told, int64_t number) {
    if (sim.items < 2)
        return false;
    told->item = 1 - told->item;
    return true;
}

/* The same key is sent again after the end. */
static struct record *ask_again(const struct record *told, enum record_outcome outcome) {
    const int64_t now = end_of_run() + 10;
    struct record *again = add_request(told->item, outcome, now, now + 1);

    again->key = told->key;
    again->is_repeat = true;
    return again;
}

static bool repeat(struct ledger_sale *sale, struct record *told, int64_t outcome) {
    if (sim.is_keyless)
        return false;
    (void)ask_again(told, (enum record_outcome)outcome);
    return true;
}

/* A repeat is told yes: with the same content (0), another unit (1), or another order. */
static bool repeat_yes(struct ledger_sale *sale, struct record *told, int64_t number) {
    struct record *again;

    if (sim.is_keyless)
        return false;
    again = ask_again(told, RECORD_SOLD);
    again->unit = told->unit + (number == 1);
    if (number == 2)
        again->order_id = id_of(900006);
    else
        again->order_id = record_order_id(told);
    return true;
}

/* The repeat was sent before the yes had arrived. */
static bool repeat_meanwhile(struct ledger_sale *sale, struct record *told, int64_t outcome) {
    struct record *again;

    if (sim.is_keyless || only_yes(sale) == NULL)
        return false;
    again = ask_again(told, (enum record_outcome)outcome);
    again->sent_ns = told->sent_ns;
    return true;
}

/* Without keys, another customer is told the same order. */
static bool promise_twice(struct ledger_sale *sale, struct record *told, int64_t number) {
    struct record *other;

    if (!sim.is_keyless)
        return false;
    other = add_request(told->item, RECORD_SOLD, told->sent_ns, told->received_ns);
    other->key = told->key;
    other->order_id = record_order_id(told);
    other->unit = told->unit;
    return true;
}

/* A buyer was told no, and yes when it asked again, long after others had seen its unit gone. */
static bool deny_first(struct ledger_sale *lower, struct ledger_sale *higher, int64_t outcome) {
    struct record *told = only_yes(higher), *again;

    if (sim.is_keyless)
        return false;
    again = ask_again(told, RECORD_SOLD);
    again->unit = told->unit;
    again->order_id = record_order_id(told);
    tell(told, (enum record_outcome)outcome);
    return true;
}

/* A request without a sale gets another reply: `number` is the old one plus 16 times the new
 * one. */
static bool tell_otherwise(int64_t number) {
    struct record *record = any_of((enum record_outcome)(number % 16));

    if (record == NULL || sim.is_keyless || sale_of(record->item, record_key(record)) != NULL)
        return false;
    tell(record, (enum record_outcome)(number / 16));
    return true;
}
#define NOW(told, now) (RECORD_##told + 16 * RECORD_##now)

/* A lost reply excuses at least as much as the reply. */
static bool tell_less(struct record *record, int64_t outcome) {
    if (record->sent_ns <= 0)
        return false;
    tell(record, RECORD_UNKNOWN);
    return true;
}

static bool add_idle(int64_t outcome) {
    const int64_t from = pick(1, end_of_run());
    struct record *record =
        add_request((uint32_t)pick(0, sim.items - 1), (enum record_outcome)outcome, from, from + 5);

    if (outcome == RECORD_UNREACHED || outcome == RECORD_UNSENT)
        record->sent_ns = 0;
    return true;
}

static bool drop_idle(struct record *record, int64_t outcome) {
    if (sim.is_keyless || sale_of(record->item, record_key(record)) != NULL ||
        sim.recorder->ended < 2)
        return false;
    *record = sim.recorder->records[--sim.recorder->ended];
    sim.recorder->count = sim.recorder->ended;
    return true;
}

static const struct mutant reply_mutants[] = {
    {"a buyer was told busy", MUST(ORPHAN), SALE(tell_buyer, RECORD_BUSY)},
    {"a buyer was told an error", MUST(ORPHAN), SALE(tell_buyer, RECORD_FAILED)},
    {"a buyer was told a bad request", MUST(ORPHAN), SALE(tell_buyer, RECORD_REFUSED)},
    {"a buyer was told sold out", MUST(ORPHAN), SALE(tell_buyer, RECORD_SOLD_OUT)},
    {"a buyer was told nothing", STAYS_VALID, TOLD(lose_reply, 0)},
    {"a customer without a sale was told yes", MUST(GHOST), SALE(promise, 0)},
    {"a reply names a higher unit", MUST(GHOST), TOLD(change_reply_unit, 1)},
    {"a reply names a lower unit", MUST(GHOST), TOLD(change_reply_unit, -1)},
    {"a reply names another's order", MUST(GHOST), SALE(change_reply_order, 0)},
    {"a reply names nobody's order", MUST(GHOST), SALE(change_reply_order, 1)},
    {"a yes names no order: its key is the order", STAYS_VALID, SALE(change_reply_order, 2)},
    {"a yes is for the other product", MUST(GHOST), TOLD(change_product, 0)},
    {"a repeat is told sold out after the yes", MUST(ORPHAN), TOLD(repeat, RECORD_SOLD_OUT)},
    {"a repeat is told a bad request after the yes", MUST(ORPHAN), TOLD(repeat, RECORD_REFUSED)},
    {"a repeat is told busy after the yes", STAYS_VALID, TOLD(repeat, RECORD_BUSY)},
    {"a repeat is told an error after the yes", STAYS_VALID, TOLD(repeat, RECORD_FAILED)},
    {"a repeat is told nothing after the yes", STAYS_VALID, TOLD(repeat, RECORD_UNKNOWN)},
    {"a repeat is told a bad request meanwhile", STAYS_VALID,
     TOLD(repeat_meanwhile, RECORD_REFUSED)},
    {"a repeat is told yes, too", STAYS_VALID, TOLD(repeat_yes, 0)},
    {"a repeat is told another unit", MUST(DUPLICATE), TOLD(repeat_yes, 1)},
    {"a repeat is told another order", MUST(DUPLICATE), TOLD(repeat_yes, 2)},
    {"two customers are told one order", MUST(GHOST), TOLD(promise_twice, 0)},
    {"busy, and then a yes for a unit long gone", MUST(STALE), PAIR(deny_first, RECORD_BUSY)},
    {"an error, and then a yes for a unit long gone", MUST(STALE), PAIR(deny_first, RECORD_FAILED)},
    {"refused, and then a yes for a unit long gone", MUST(STALE), PAIR(deny_first, RECORD_REFUSED)},
    {"sold out, and then a yes for a unit long gone", MUST(STALE),
     PAIR(deny_first, RECORD_SOLD_OUT)},
    {"a lost reply was a busy", STAYS_VALID, RUN(tell_otherwise, NOW(UNKNOWN, BUSY))},
    {"a busy was a bad request", STAYS_VALID, RUN(tell_otherwise, NOW(BUSY, REFUSED))},
    {"a busy was an error", STAYS_VALID, RUN(tell_otherwise, NOW(BUSY, FAILED))},
    {"a sold out was a busy", STAYS_VALID, RUN(tell_otherwise, NOW(SOLD_OUT, BUSY))},
    {"a sold out was lost", STAYS_VALID, RECORD(tell_less, RECORD_SOLD_OUT)},
    {"a busy was lost", STAYS_VALID, RECORD(tell_less, RECORD_BUSY)},
    {"one more was told busy", STAYS_VALID, RUN(add_idle, RECORD_BUSY)},
    {"one more was told an error", STAYS_VALID, RUN(add_idle, RECORD_FAILED)},
    {"one more was told nothing", STAYS_VALID, RUN(add_idle, RECORD_UNKNOWN)},
    {"one more was told a bad request", STAYS_VALID, RUN(add_idle, RECORD_REFUSED)},
    {"one more did not reach the target", STAYS_VALID, RUN(add_idle, RECORD_UNREACHED)},
    {"one less was told busy", STAYS_VALID, RECORD(drop_idle, RECORD_BUSY)},
    {"one less was told nothing", STAYS_VALID, RECORD(drop_idle, RECORD_UNKNOWN)},
    {"one less was told sold out", STAYS_VALID, RECORD(drop_idle, RECORD_SOLD_OUT)},
    {.name = NULL},
};

/* ---- refusals */

static void move_all(int64_t by) {
    for (size_t i = 0; i < sim.recorder->ended; i++) {
        struct record *record = &sim.recorder->records[i];

        record->planned_ns += by;
        record->sent_ns += record->sent_ns > 0 ? by : 0;
        record->received_ns += by;
    }
    for (size_t i = 0; i < sim.event_list.count; i++) {
        sim.events[i].at_ns += by;
        sim.events[i].began_ns += by;
        sim.events[i].until_ns += by;
    }
}

/* The number of sales of this product, from the count of a row, with a reply. */
static size_t count_told(uint32_t item) {
    size_t count = 0;

    for (size_t i = 0; i < sim.ledgers[item].sale_count; i++) {
        const struct ledger_sale *sale = &sim.sales[item][i];
        const struct ledger_row *row = row_of(sale);

        count += is_told(sale) && sale->unit - row->first_unit == sale->remaining;
    }
    return count;
}

/* A refusal before all other requests but `busy` ones: more units were sold than these can have
 * given back. */
static bool refuse_first(int64_t busy) {
    const uint32_t item = (uint32_t)pick(0, sim.items - 1);

    if (count_told(item) <= (size_t)busy)
        return false;
    move_all(20);
    for (int64_t i = 0; i < busy; i++)
        (void)add_request(item, RECORD_BUSY, 1 + i, 10);
    (void)add_request(item, RECORD_SOLD_OUT, 12, 14);
    return true;
}

/* The first request was told sold out: one that was so before, or one that was told busy. */
static bool refuse_first_of(struct record *record, int64_t outcome) {
    if (record->sent_ns <= 0 || count_told(record->item) == 0)
        return false;
    if (outcome != RECORD_SOLD_OUT && sale_of(record->item, record_key(record)) != NULL)
        return false;
    move_all(20);
    tell(record, RECORD_SOLD_OUT);
    record->sent_ns = 5;
    record->received_ns = 10;
    return true;
}

/* A refusal after the end: units that were never sold are left (1), or none is (0). */
static bool refuse_last(int64_t number) {
    const uint32_t item = (uint32_t)pick(0, sim.items - 1);
    const int64_t end = end_of_run(), left = units_left(item);

    if ((left > 0) != (number != 0) || (left == 0 && sim.rows[item][0].returns_to_count))
        return false;
    (void)add_request(item, RECORD_SOLD_OUT, end + 10, end + 20);
    return true;
}

/* Another customer was told busy long after that. */
static bool refuse_and_leave(int64_t number) {
    const int64_t end = end_of_run();

    if (!refuse_last(number))
        return false;
    (void)add_request(sim.recorder->records[sim.recorder->ended - 1].item, RECORD_BUSY, end + 30,
                      end + 40);
    return true;
}

/* A request that was told busy, but was sent after the refusal, gave back no earlier unit. */
static bool refuse_before_busy(int64_t number) {
    if (!refuse_first(number))
        return false;
    (void)add_request(sim.recorder->records[sim.recorder->ended - 1].item, RECORD_BUSY, 15, 18);
    return true;
}

static const struct mutant refusal_mutants[] = {
    {"the first was told sold out", MUST(EARLY_SOLD_OUT), RUN(refuse_first, 0)},
    {"the first was told sold out, after one busy", MUST(EARLY_SOLD_OUT), RUN(refuse_first, 1)},
    {"the first was told sold out, after two busy", MUST(EARLY_SOLD_OUT), RUN(refuse_first, 2)},
    {"the first was told sold out, before a busy", MUST(EARLY_SOLD_OUT),
     RUN(refuse_before_busy, 0)},
    {"a sold out was the first", MUST(EARLY_SOLD_OUT), RECORD(refuse_first_of, RECORD_SOLD_OUT)},
    {"a busy was a sold out, and the first", MUST(EARLY_SOLD_OUT),
     RECORD(refuse_first_of, RECORD_BUSY)},
    {"at the end sold out is told, with units left", MUST(UNDERSELL), RUN(refuse_last, 1)},
    {"the same, and then a busy", MUST(UNDERSELL), RUN(refuse_and_leave, 1)},
    {"at the end sold out is told, and none is left", STAYS_VALID, RUN(refuse_last, 0)},
    {.name = NULL},
};

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

/* Only the answer comes later, so the order of the requests of a key stays. */
static bool answer_late(struct record *record, int64_t outcome) {
    if (record->sent_ns <= 0)
        return false;
    record->received_ns += 1 << 20;
    return true;
}

/* Two sales of a row that followed each other change places. */
static bool exchange_places(struct ledger_sale *lower, struct ledger_sale *higher, int64_t number) {
    if (only_yes(higher)->received_ns >= only_yes(lower)->sent_ns)
        return false;
    exchange_units(higher, lower);
    return true;
}

/* The request for a higher unit was sent after the lower unit had been sold. */
static bool ask_later(struct ledger_sale *lower, struct ledger_sale *higher, int64_t by) {
    struct record *record = only_yes(higher);

    record->sent_ns = only_yes(lower)->received_ns + by;
    record->received_ns = record->sent_ns + 1;
    return true;
}

/* The request for a lower unit was answered before the request for the higher one was sent. */
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
    {"the events of the faults are gone", STAYS_VALID, RUN(forget_events, 0)},
    {"Redis was down, too", STAYS_VALID, RUN(add_fault, 0)},
    {"an instance crashed, too", STAYS_VALID, RUN(add_fault, 1)},
    {.name = NULL},
};

/* ---- the end of the demand */

/* Half a second after the end, `count` customers ask in vain for a product with unsold units.
 * Returns the product, or -1: there is none. */
static int ask_in_vain(int count, enum record_outcome outcome) {
    const int64_t from = end_of_run() + 600 * MS;
    const uint32_t item = (uint32_t)pick(0, sim.items - 1);

    if (units_left(item) == 0 || sim.ledgers[item].sale_count == 0 || sim.event_list.count > 0)
        return -1;
    for (int i = 0; i < count; i++)
        (void)add_request(item, outcome, from + i * 10 * MS, from + i * 10 * MS + MS);
    return (int)item;
}

static bool end_in_vain(int64_t outcome) {
    return ask_in_vain(40, (enum record_outcome)outcome) >= 0;
}

static bool end_with_too_few(int64_t count) {
    return ask_in_vain((int)count, RECORD_BUSY) >= 0;
}

/* The same, but the last customer had a turn. */
static bool end_with_a_turn(int64_t outcome) {
    const int item = ask_in_vain(40, RECORD_BUSY);
    struct record *last = &sim.recorder->records[sim.recorder->ended - 1];

    if (item < 0)
        return false;
    last->outcome = (enum record_outcome)outcome;
    for (int s = 0; s < sim.shards && outcome == RECORD_SOLD; s++) {
        struct ledger_row *row = &sim.rows[item][s];

        /* No unit may lie on the count that came back. */
        if (row->available == 0 || (row->returns_to_count && sim.ledgers[item].returned_count))
            continue;
        row->available--;
        write_id(last->key.room, 900007);
        last->order_id = record_same;
        last->unit = row->first_unit + row->available;
        add_sale((uint32_t)item, record_key(last), row->shard, last->unit, row->available, 1000);
        add_order((uint32_t)item, &sim.sales[item][sim.ledgers[item].sale_count - 1]);
        return true;
    }
    return outcome != RECORD_SOLD;
}

/* A server was down until shortly before the end, or at the end. */
static bool end_with_a_fault(int64_t number) {
    struct event *event;

    if (ask_in_vain(40, RECORD_BUSY) < 0)
        return false;
    event = add_event(EVENT_SERVER, "redis", "kill");
    event->at_ns = event->began_ns = end_of_run() - 200 * MS;
    event->until_ns = number == 0 ? EVENT_OPEN : end_of_run() - 100 * MS;
    return true;
}

/* `count` of the two instances crashed before. */
static bool end_with_crashes(int64_t count) {
    if (ask_in_vain(40, RECORD_BUSY) < 0)
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

    if (units_left(item) > 0)
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

int main(void) {
    const struct CMUnitTest tests[] = {
        MUTANTS_TEST("test_replies_that_are_changed_are_judged_as_what_they_say", reply_mutants),
        MUTANTS_TEST("test_untrue_refusals_are_found", refusal_mutants),
        MUTANTS_TEST("test_times_are_held_against_sales", time_mutants),
        MUTANTS_TEST("test_an_end_without_sales_is_judged_by_what_was_told", end_mutants),
    };

    return cmocka_run_group_tests(tests, simulated_set_up, simulated_tear_down);
}
