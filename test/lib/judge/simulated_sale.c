/* Each request is a small state machine. The one with the earliest time makes the next step. */
#include "simulated_sale.h"

enum ask_state { ASK_COMING, ASK_LOOKING, ASK_SOLD, ASK_ENDED };

/* A request on its way. */
struct ask {
    struct record *record;
    int key;
    char id[UUID_TEXT]; /* of its order */
    int64_t now;        /* the time of its next step */
    int64_t gives_up;   /* when its client stops waiting */
    enum ask_state state;
    int first, looked;             /* its first shard, and the number of shards tried */
    bool is_seller;                /* this very request took the unit */
    struct ledger_returned second; /* it took this one, too; unit 0: none */
};

struct simulated_sale sim;

static struct {
    uint64_t seed;
    int64_t pace; /* the longest step; with 2 many things happen at the same time */
    struct simulated_shop shop;
    size_t count;
    struct ask asks[REQUESTS];
    /* With returns_to_count: the units for sale, the last one first. */
    int64_t shelf[ITEMS][REQUESTS];
    size_t on_shelf[ITEMS];
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

static const char *keep_id(const char *id) {
    const char *kept = texts_add(&sim.recorder->texts, id);

    assert_non_null(kept);
    return kept;
}

const char *id_of(int key) {
    char id[UUID_TEXT];

    write_id(id, key);
    return keep_id(id);
}

struct ledger_sale *sale_of(uint32_t item, const char *id) {
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

size_t count_of(uint32_t item, enum record_outcome outcome) {
    size_t count = 0;

    for (size_t i = 0; i < sim.recorder->ended; i++)
        count +=
            sim.recorder->records[i].item == item && sim.recorder->records[i].outcome == outcome;
    return count;
}

void add_sale(uint32_t item, const char *id, int64_t shard, int64_t unit, int64_t remaining,
              int64_t now) {
    struct ledger_sale *sale = &sim.sales[item][sim.ledgers[item].sale_count++];

    *sale = (struct ledger_sale){.order_id = keep_id(id),
                                 .quantity = 1,
                                 .unit = unit,
                                 .shard = (int32_t)shard,
                                 .remaining = remaining,
                                 .instance = pick(1, 2) == 1 ? "inventory-1" : "inventory-2",
                                 .at_us =
                                     ledger_time_us("2026-11-21T10:01:02.000000Z") + now % 1000000};
}

void add_order(uint32_t item, const struct ledger_sale *sale) {
    struct ledger_order *order = &sim.orders[item][sim.ledgers[item].order_count++];

    *order = (struct ledger_order){.order_id = sale->order_id, .unit = sale->unit};
}

/* ---- the steps of a request */

static int64_t a_while(void) {
    return pick(0, run.pace);
}

/* End a request. Its client gets the answer if it still waits. */
static void answer(struct ask *ask, enum record_outcome outcome) {
    struct record *record = ask->record;
    const struct ledger_sale *sale = sale_of(record->item, ask->id);

    ask->state = ASK_ENDED;
    ask->now += a_while();
    record->received_ns = ask->now < ask->gives_up ? ask->now : ask->gives_up;
    record->outcome = ask->now <= ask->gives_up ? outcome : RECORD_UNKNOWN;
    if (record->outcome != RECORD_SOLD)
        return;
    assert_non_null(sale);
    record->unit = sale->unit;
    record->order_id = sale->order_id;
    (void)record_set_id(&record->key, NULL, sale->order_id);
}

/* The request or its reply is lost. */
static void lose(struct ask *ask) {
    ask->now = ask->gives_up;
    answer(ask, RECORD_UNKNOWN);
}

static void come(struct ask *ask) {
    ask->state = ASK_LOOKING;
    ask->first = (int)pick(0, sim.shards - 1);
    if (run.shop.is_losing && one_in(12))
        lose(ask);
    else if (one_in(30))
        answer(ask, one_in(2) ? RECORD_BUSY : RECORD_FAILED);
    else if (run.shop.is_lying && one_in(10))
        answer(ask, RECORD_SOLD_OUT);
}

static void take_returned(struct ask *ask) {
    struct ledger *ledger = &sim.ledgers[ask->record->item];
    struct ledger_returned *units = sim.returned[ask->record->item];
    struct ledger_returned unit;
    size_t place;

    if (ledger->returned_count == 0 || one_in(4)) { /* or it does not look there yet */
        answer(ask, RECORD_SOLD_OUT);
        return;
    }
    place = (size_t)pick(0, (int64_t)ledger->returned_count - 1);
    unit = units[place];
    units[place] = units[--ledger->returned_count];
    add_sale(ask->record->item, ask->id, unit.shard, unit.unit, 0, ask->now);
    ask->state = ASK_SOLD;
    ask->is_seller = true;
}

static void take(const struct ask *ask, struct ledger_row *row) {
    const uint32_t item = ask->record->item;

    if (run.shop.returns_to_count) {
        const int64_t left = (int64_t)--run.on_shelf[item];

        row->available = left < row->available ? left : row->available;
        add_sale(item, ask->id, row->shard, run.shelf[item][left], left, ask->now);
    } else {
        row->available--;
        add_sale(item, ask->id, row->shard, row->first_unit + row->available, row->available,
                 ask->now);
    }
}

/* The other instance asks another row for the same order. */
static void take_second(struct ask *ask) {
    struct ledger_row *row = &sim.rows[ask->record->item][pick(0, sim.shards - 1)];

    if (row->available > 0)
        ask->second = (struct ledger_returned){row->shard, row->first_unit + --row->available};
}

static void give_second_back(struct ask *ask) {
    const uint32_t item = ask->record->item;

    if (ask->second.unit > 0)
        sim.returned[item][sim.ledgers[item].returned_count++] = ask->second;
    ask->second.unit = 0;
}

static void look(struct ask *ask) {
    const uint32_t item = ask->record->item;
    struct ledger_row *row = &sim.rows[item][(ask->first + ask->looked) % sim.shards];

    if (sale_of(item, ask->id) != NULL) {
        ask->state = ASK_SOLD; /* another request of the key took it */
    } else if (ask->looked == sim.shards) {
        take_returned(ask);
    } else if (run.shop.returns_to_count ? run.on_shelf[item] == 0 : row->available == 0) {
        ask->looked++;
    } else {
        take(ask, row);
        if (sim.is_loaded && one_in(4))
            take_second(ask);
        ask->state = ASK_SOLD;
        ask->is_seller = true;
    }
}

static void undo(struct ask *ask, struct ledger_sale *sale) {
    static const enum record_outcome told[] = {RECORD_BUSY, RECORD_BUSY, RECORD_FAILED,
                                               RECORD_UNKNOWN};
    const uint32_t item = ask->record->item;
    struct ledger *ledger = &sim.ledgers[item];

    if (run.shop.returns_to_count)
        run.shelf[item][run.on_shelf[item]++] = sale->unit;
    else
        sim.returned[item][ledger->returned_count++] =
            (struct ledger_returned){sale->shard, sale->unit};
    *sale = sim.sales[item][--ledger->sale_count];
    answer(ask, told[pick(0, 3)]);
}

/* A failpoint fires in the middle of a sale. */
static void note(const struct ask *ask, const char *instance, const char *detail, int64_t lasts) {
    struct event *event = &sim.events[sim.event_list.count++];

    *event = (struct event){.at_ns = ask->now,
                            .began_ns = ask->now,
                            .until_ns = ask->now + lasts,
                            .item = ask->record->item,
                            .kind = EVENT_FAILPOINT,
                            .name = "after-write"};
    snprintf(event->detail, sizeof event->detail, "%s", detail);
    snprintf(event->who, sizeof event->who, "%s", instance);
    memcpy(event->order_id, ask->id, UUID_TEXT);
}

static void record_sale(struct ask *ask, const struct ledger_sale *sale) {
    if (order_of(ask->record->item, ask->id) == NULL)
        add_order(ask->record->item, sale);
    if (run.shop.is_losing && one_in(12))
        lose(ask);
    else
        answer(ask, RECORD_SOLD);
}

static void finish(struct ask *ask) {
    struct ledger_sale *sale = sale_of(ask->record->item, ask->id);

    give_second_back(ask);
    if (run.shop.is_faulty && ask->is_seller && one_in(20)) {
        note(ask, sale->instance, "crash", 0);
        lose(ask);
    } else if (run.shop.is_faulty && ask->is_seller && one_in(20)) {
        note(ask, sale->instance, "pause", 2 * run.pace);
        ask->now += 2 * run.pace;
        record_sale(ask, sale);
    } else if (sim.is_keyless && one_in(4)) {
        undo(ask, sale);
    } else if (run.shop.is_losing && one_in(12)) {
        lose(ask); /* the order is not recorded */
    } else {
        record_sale(ask, sale);
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
    const int units_most = run.shop.units > 0 ? run.shop.units : 24;
    struct ledger *ledger = &sim.ledgers[item];
    int64_t first = 1;

    *ledger = (struct ledger){.sales = sim.sales[item],
                              .orders = sim.orders[item],
                              .rows = sim.rows[item],
                              .row_count = (size_t)sim.shards,
                              .returned_units = sim.returned[item]};
    for (int s = 0; s < sim.shards; s++) {
        int64_t units = pick(0, 1 + units_most / sim.shards / sim.items);

        sim.rows[item][s] = (struct ledger_row){
            s, first, units, units, run.shop.returns_to_count, run.shop.is_loaded};
        first += units;
    }
    ledger->initial = first - 1;
    run.on_shelf[item] = (size_t)ledger->initial;
    for (int64_t i = 0; i < ledger->initial; i++)
        run.shelf[item][i] = 1 + i;
}

/* Sometimes repeat a key. Without keys the ids of orders are in no order. */
static void choose_key(size_t i) {
    struct ask *ask = &run.asks[i];
    const struct ask *first = &run.asks[pick(0, (int64_t)i)];

    ask->key = sim.is_keyless ? (int)(1 + (i + 1) * 37 % 997) : (int)i;
    ask->record->item = (uint32_t)pick(0, sim.items - 1);
    if (!sim.is_keyless && first != ask && one_in(4)) {
        ask->key = first->key;
        ask->record->item = first->record->item;
        ask->record->is_repeat = true;
    }
    write_id(ask->id, ask->key);
    if (sim.is_keyless)
        record_leave_nameless(ask->record);
    else
        (void)record_set_id(&ask->record->key, NULL, ask->id);
}

static void begin_ask(size_t i, int64_t planned) {
    const bool is_late = run.shop.workers > 1 && i % 2 == 0 && one_in(2);
    const int64_t now = planned + (is_late ? pick(1, 12 * run.pace) : 0);
    struct ask *ask = &run.asks[i];
    struct record *record = &sim.recorder->records[i];

    *record = (struct record){.planned_ns = planned, .number = (uint32_t)i, .unit = -1};
    *ask = (struct ask){.record = record, .now = now};
    choose_key(i);
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

/* The request that makes the next step; of several at the same time, any. NULL: end or cut. */
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

/* Requests that are still open get no answer. */
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
        if (sim.is_keyless)
            record_leave_nameless(record);
        else
            (void)record_set_id(&record->key, NULL, run.asks[i].id);
    }
}

/* Record orders for sales without one, like order-svc after a while. */
static void settle(void) {
    for (int item = 0; item < sim.items; item++)
        for (size_t i = 0; i < sim.ledgers[item].sale_count; i++)
            if (order_of((uint32_t)item, sim.sales[item][i].order_id) == NULL)
                add_order((uint32_t)item, &sim.sales[item][i]);
}

/* Compute the sums of the ledgers, and sort them. */
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

int64_t units_left(uint32_t item) {
    int64_t left = 0;

    for (int s = 0; s < sim.shards; s++)
        left += sim.rows[item][s].available > 0 ? sim.rows[item][s].available : 0;
    return left;
}

/* Units on the shelf above the never sold ones came back. */
static void list_returned(uint32_t item) {
    struct ledger *ledger = &sim.ledgers[item];

    for (size_t i = (size_t)sim.rows[item][0].available; i < run.on_shelf[item]; i++)
        sim.returned[item][ledger->returned_count++] =
            (struct ledger_returned){0, run.shelf[item][i]};
}

/* Make a step a microsecond, so that the ledger's clock tells steps apart. */
static void tell_in_ns(void) {
    for (size_t i = 0; i < run.count; i++) {
        sim.recorder->records[i].planned_ns *= 1000;
        sim.recorder->records[i].sent_ns *= 1000;
        sim.recorder->records[i].received_ns *= 1000;
    }
    for (size_t i = 0; i < sim.event_list.count; i++) {
        sim.events[i].at_ns *= 1000;
        sim.events[i].began_ns *= 1000;
        sim.events[i].until_ns *= 1000;
    }
}

static void begin(uint64_t seed, const struct simulated_shop *shop) {
    run.seed = seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
    for (int i = 0; i < 4; i++)
        (void)pick(0, 1);
    run.shop = *shop;
    run.pace = one_in(2) ? pick(1, 3) : pick(20, 2000);
    run.count = (size_t)pick(2, shop->requests > 0 ? shop->requests : REQUESTS);
    sim.is_keyless = shop->is_keyless;
    sim.is_loaded = shop->is_loaded;
    sim.items = shop->items > 0 ? shop->items : (int)pick(1, ITEMS);
    sim.shards = shop->shards > 0 ? shop->shards : (int)pick(1, SHARDS);
    sim.shards = shop->returns_to_count ? 1 : sim.shards;
    sim.cut = shop->is_losing && !shop->is_loaded && one_in(8) ? pick(1, 40 * run.pace) : CUT_NONE;
    sim.event_list = (struct event_list){0, sim.events};
    sim.recorder->count = sim.recorder->ended = sim.recorder->answered = run.count;
    sim.recorder->instance_count = 0;
    (void)recorder_instance(sim.recorder, "inventory-1");
    (void)recorder_instance(sim.recorder, "inventory-2");
    for (int item = 0; item < sim.items; item++)
        begin_item((uint32_t)item);
}

void simulate(uint64_t seed, const struct simulated_shop *shop) {
    struct ask *next;
    int64_t now = 1;

    texts_free(&sim.recorder->texts);
    begin(seed, shop);
    for (size_t i = 0; i < run.count; i++) {
        begin_ask(i, now);
        now += pick(0, run.pace);
    }
    while ((next = next_ask()) != NULL)
        step(next);
    for (int item = 0; item < sim.items && shop->returns_to_count; item++)
        list_returned((uint32_t)item);
    if (sim.cut == CUT_NONE)
        settle();
    else
        cut_off();
    tell_in_ns();
    event_list_sort(&sim.event_list);
    sum_up();
}
