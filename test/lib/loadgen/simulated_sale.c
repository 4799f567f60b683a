/* Each request is a small state machine; the one whose time is the earliest makes the next step. */
#include "simulated_sale.h"

enum ask_state { ASK_COMING, ASK_LOOKING, ASK_SOLD, ASK_ENDED };

/* A request on its way. */
struct ask {
    struct record *record;
    int key;
    int64_t now;      /* of its next step */
    int64_t gives_up; /* its client, if it has heard nothing */
    enum ask_state state;
    int first, looked; /* shard, and how many have been looked at */
    bool is_seller;    /* this very request took the unit */
};

struct simulated_sale sim;

static struct {
    uint64_t seed;
    int64_t pace;   /* the longest step: 2 makes ties everywhere */
    bool is_lying;  /* now and then sold out although there are units */
    bool is_losing; /* replies */
    size_t count;
    struct ask asks[REQUESTS];
} run;

int64_t pick(int64_t from, int64_t to) {
    run.seed ^= run.seed << 13;
    run.seed ^= run.seed >> 7;
    run.seed ^= run.seed << 17;
    return from + (int64_t)(run.seed % (uint64_t)(to - from + 1));
}

bool one_in(int64_t chances) {
    return pick(1, chances) == 1;
}

void write_id(char id[UUID_TEXT], int key) {
    snprintf(id, UUID_TEXT, "01900000-0000-7000-8000-%012d", key);
}

static void write_time(char at[LEDGER_TIME], int64_t us) {
    snprintf(at, LEDGER_TIME, "2026-11-21T10:01:02.%06uZ", (unsigned)us % 1000000u);
}

static struct ledger_sale *sale_of(uint32_t item, const char *id) {
    for (size_t i = 0; i < sim.ledgers[item].sale_count; i++)
        if (strcmp(sim.sales[item][i].order_id, id) == 0)
            return &sim.sales[item][i];
    return NULL;
}

struct ledger_order *order_of(uint32_t item, const char *id) {
    for (size_t i = 0; i < sim.ledgers[item].order_count; i++)
        if (strcmp(sim.orders[item][i].order_id, id) == 0)
            return &sim.orders[item][i];
    return NULL;
}

void add_sale(uint32_t item, const char *id, int64_t shard, int64_t unit, int64_t remaining,
              int64_t now) {
    struct ledger_sale *sale = &sim.sales[item][sim.ledgers[item].sale_count++];

    *sale = (struct ledger_sale){.unit = unit, .shard = shard, .remaining = remaining};
    memcpy(sale->order_id, id, UUID_TEXT);
    snprintf(sale->instance, sizeof sale->instance, "inventory-%d", (int)pick(1, 2));
    write_time(sale->at, now);
}

void add_order(uint32_t item, const struct ledger_sale *sale) {
    struct ledger_order *order = &sim.orders[item][sim.ledgers[item].order_count++];

    *order = (struct ledger_order){.unit = sale->unit};
    memcpy(order->order_id, sale->order_id, UUID_TEXT);
}

/* ---- the steps of a request */

static int64_t a_while(void) {
    return pick(0, run.pace);
}

/* What it ends with; its client hears of it, unless it has given up by then. */
static void answer(struct ask *ask, enum record_outcome outcome) {
    struct record *record = ask->record;
    const struct ledger_sale *sale = sale_of(record->item, record->key);

    ask->state = ASK_ENDED;
    ask->now += a_while();
    record->received_ns = ask->now < ask->gives_up ? ask->now : ask->gives_up;
    record->outcome = ask->now <= ask->gives_up ? outcome : RECORD_UNKNOWN;
    if (record->outcome != RECORD_SOLD)
        return;
    assert_non_null(sale);
    record->unit = sale->unit;
    memcpy(record->order_id, sale->order_id, UUID_TEXT);
}

/* It or its reply got lost. */
static void lose(struct ask *ask) {
    ask->now = ask->gives_up;
    answer(ask, RECORD_UNKNOWN);
}

static void come(struct ask *ask) {
    ask->state = ASK_LOOKING;
    ask->first = (int)pick(0, sim.shards - 1);
    if (run.is_losing && one_in(12))
        lose(ask);
    else if (one_in(30))
        answer(ask, one_in(2) ? RECORD_BUSY : RECORD_FAILED);
    else if (run.is_lying && one_in(10))
        answer(ask, RECORD_SOLD_OUT);
}

static void take_returned(struct ask *ask) {
    struct ledger *ledger = &sim.ledgers[ask->record->item];
    struct ledger_returned *units = sim.returned[ask->record->item];
    struct ledger_returned unit;
    size_t place;

    if (ledger->returned_count == 0 || one_in(4)) { /* or has not looked again yet */
        answer(ask, RECORD_SOLD_OUT);
        return;
    }
    place = (size_t)pick(0, (int64_t)ledger->returned_count - 1);
    unit = units[place];
    units[place] = units[--ledger->returned_count];
    add_sale(ask->record->item, ask->record->key, unit.shard, unit.unit, 0, ask->now);
    ask->state = ASK_SOLD;
    ask->is_seller = true;
}

static void look(struct ask *ask) {
    const uint32_t item = ask->record->item;
    struct ledger_row *row = &sim.rows[item][(ask->first + ask->looked) % sim.shards];

    if (sale_of(item, ask->record->key) != NULL) {
        ask->state = ASK_SOLD; /* by another request of the key */
    } else if (ask->looked == sim.shards) {
        take_returned(ask);
    } else if (row->available == 0) {
        ask->looked++;
    } else {
        row->available--;
        add_sale(item, ask->record->key, row->shard, row->first_unit + row->available,
                 row->available, ask->now);
        ask->state = ASK_SOLD;
        ask->is_seller = true;
    }
}

/* No other request of its key may have learned of the sale. */
static bool may_undo(const struct ask *ask) {
    if (!sim.is_undoing || !ask->is_seller || !one_in(4) ||
        order_of(ask->record->item, ask->record->key) != NULL)
        return false;
    for (size_t i = 0; i < run.count; i++)
        if (&run.asks[i] != ask && run.asks[i].key == ask->key &&
            (run.asks[i].state == ASK_LOOKING || run.asks[i].state == ASK_SOLD ||
             run.asks[i].record->outcome == RECORD_SOLD))
            return false;
    return true;
}

static void undo(struct ask *ask, struct ledger_sale *sale) {
    struct ledger *ledger = &sim.ledgers[ask->record->item];

    sim.returned[ask->record->item][ledger->returned_count++] =
        (struct ledger_returned){sale->shard, sale->unit};
    *sale = sim.sales[ask->record->item][--ledger->sale_count];
    answer(ask, one_in(3) ? RECORD_UNKNOWN : RECORD_BUSY);
}

static void finish(struct ask *ask) {
    struct ledger_sale *sale = sale_of(ask->record->item, ask->record->key);

    if (may_undo(ask)) {
        undo(ask, sale);
    } else if (run.is_losing && one_in(12)) {
        lose(ask); /* before the order was recorded */
    } else {
        if (order_of(ask->record->item, ask->record->key) == NULL)
            add_order(ask->record->item, sale);
        if (run.is_losing && one_in(12))
            lose(ask);
        else
            answer(ask, RECORD_SOLD);
    }
}

static void step(struct ask *ask) {
    switch (ask->state) {
    case ASK_COMING:
        come(ask);
        break;
    case ASK_LOOKING:
        look(ask);
        break;
    case ASK_SOLD:
        finish(ask);
        break;
    case ASK_ENDED:
        break;
    }
    if (ask->state != ASK_ENDED)
        ask->now += a_while();
}

/* ---- a run */

static void begin_item(uint32_t item) {
    struct ledger *ledger = &sim.ledgers[item];
    int64_t first = 1;

    *ledger = (struct ledger){.sales = sim.sales[item],
                              .orders = sim.orders[item],
                              .rows = sim.rows[item],
                              .row_count = (size_t)sim.shards,
                              .returned_units = sim.returned[item]};
    for (int s = 0; s < sim.shards; s++) {
        int64_t units = pick(0, 1 + 24 / sim.shards / sim.items);

        sim.rows[item][s] = (struct ledger_row){s, first, units, units, false};
        first += units;
    }
    ledger->initial = first - 1;
}

static void begin_ask(size_t i, int64_t now) {
    struct ask *ask = &run.asks[i];
    struct record *record = &sim.recorder->records[i];
    const struct ask *first = &run.asks[pick(0, (int64_t)i)];

    *record = (struct record){.planned_ns = now, .number = (uint32_t)i, .unit = -1};
    *ask = (struct ask){.record = record, .key = (int)i, .now = now};
    record->item = (uint32_t)pick(0, sim.items - 1);
    if (first != ask && one_in(4)) {
        ask->key = first->key;
        record->item = first->record->item;
        record->is_repeat = true;
    }
    write_id(record->key, ask->key);
    record->outcome = RECORD_UNKNOWN;
    record->sent_ns = now;
    ask->gives_up = now + (one_in(6) ? 1 : 12) * (run.pace + 1);
    ask->now += a_while();
    if (one_in(40)) {
        ask->state = ASK_ENDED;
        record->outcome = one_in(2) ? RECORD_UNREACHED : RECORD_UNSENT;
        record->sent_ns = 0;
        record->received_ns = now;
    }
}

/* The next to make a step; any of those at the same time. NULL at the end or the cut. */
static struct ask *next_ask(void) {
    const size_t from = (size_t)pick(0, (int64_t)run.count - 1);
    struct ask *next = NULL;

    for (size_t i = 0; i < run.count; i++) {
        struct ask *ask = &run.asks[(from + i) % run.count];

        if (ask->state != ASK_ENDED && (next == NULL || ask->now < next->now))
            next = ask;
    }
    return next != NULL && next->now <= sim.cut ? next : NULL;
}

/* Those that had not heard of it yet never do. */
static void cut_off(void) {
    for (size_t i = 0; i < run.count; i++) {
        struct record *record = &sim.recorder->records[i];

        if (run.asks[i].state == ASK_ENDED && record->received_ns <= sim.cut)
            continue;
        *record = (struct record){.number = record->number,
                                  .item = record->item,
                                  .unit = -1,
                                  .outcome = record->sent_ns > 0 && record->sent_ns <= sim.cut
                                                 ? RECORD_UNKNOWN
                                                 : RECORD_UNSENT,
                                  .sent_ns = record->sent_ns <= sim.cut ? record->sent_ns : 0,
                                  .received_ns = sim.cut,
                                  .is_repeat = record->is_repeat};
        write_id(record->key, run.asks[i].key);
    }
}

/* Orders for the sales that have none, as order-svc does after a while. */
static void settle(void) {
    for (int item = 0; item < sim.items; item++)
        for (size_t i = 0; i < sim.ledgers[item].sale_count; i++)
            if (order_of((uint32_t)item, sim.sales[item][i].order_id) == NULL)
                add_order((uint32_t)item, &sim.sales[item][i]);
}

/* The sums of the ledgers, and their order. */
void sum_up(void) {
    for (int item = 0; item < sim.items; item++) {
        struct ledger *ledger = &sim.ledgers[item];

        ledger->available = ledger->units = 0;
        ledger->returned = (int64_t)ledger->returned_count;
        ledger->counted = (int64_t)ledger->sale_count;
        for (int s = 0; s < sim.shards; s++)
            ledger->available += sim.rows[item][s].available;
        for (size_t i = 0; i < ledger->sale_count; i++) {
            bool is_first = true;

            for (size_t j = 0; j < i; j++)
                is_first = is_first && ledger->sales[j].unit != ledger->sales[i].unit;
            ledger->units += is_first;
        }
        ledger_sort(ledger);
    }
}

/* A run of its own for each seed. */
void simulate(uint64_t seed, bool is_lying, bool is_losing, bool is_undoing) {
    struct ask *next;
    int64_t now = 1;

    run.seed = seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
    for (int i = 0; i < 4; i++)
        (void)pick(0, 1);
    run.is_lying = is_lying;
    run.is_losing = is_losing;
    sim.is_undoing = is_undoing;
    run.pace = one_in(2) ? pick(1, 3) : pick(20, 2000);
    sim.items = (int)pick(1, ITEMS);
    sim.shards = (int)pick(1, SHARDS);
    sim.cut = is_losing && one_in(8) ? pick(1, 40 * run.pace) : CUT_NONE;
    run.count = (size_t)pick(2, REQUESTS);
    sim.recorder->count = sim.recorder->ended = sim.recorder->answered = run.count;
    for (int item = 0; item < sim.items; item++)
        begin_item((uint32_t)item);
    for (size_t i = 0; i < run.count; i++) {
        begin_ask(i, now);
        now += pick(0, run.pace);
    }
    while ((next = next_ask()) != NULL)
        step(next);
    if (sim.cut == CUT_NONE)
        settle();
    else
        cut_off();
    sum_up();
}
