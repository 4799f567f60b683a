/* What customers were told, and the ledger, from the world's state. */
#include "view_internal.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define LEVEL_NS INT64_C(10000000)

/* ---- times
 *
 * Whoever has been answered stays so: each order's `came_after` is part of that of those who came
 * later. So the number of its bits is the level at which an order came, and it was answered just
 * before the lowest level of those that came after it. */

static int64_t view_fill_sent_at(const struct model_order *order) {
    return LEVEL_NS * (1 + __builtin_popcount(order->came_after));
}

static int64_t answered_at(const struct model_world *world, int index) {
    int64_t level_ns = LEVEL_NS * (MODEL_ORDERS + 4);

    for (int i = 0; i <= world->setup.orders; i++) {
        const struct model_order *order = &world->state.orders[i];

        if (order->state != ORDER_TO_COME && (order->came_after >> index & 1U) != 0 &&
            view_fill_sent_at(order) < level_ns)
            level_ns = view_fill_sent_at(order);
    }
    return level_ns - LEVEL_NS / 2;
}

/* ---- what was told */

/* Whoever gave a unit back was told busy in the end, as far as the judge can know of it. */
static enum record_outcome told(const struct model_world *world, int index) {
    const struct model_order *order = &world->state.orders[index];

    if ((world->state.gave_back >> index & 1U) != 0)
        return RECORD_BUSY;
    if (order->state != ORDER_ENDED)
        return RECORD_UNKNOWN;
    switch ((enum outcome)order->outcome) {
    case OUTCOME_SOLD:
    case OUTCOME_REPEATED:
        return RECORD_SOLD;
    case OUTCOME_SOLD_OUT:
        return RECORD_SOLD_OUT;
    case OUTCOME_BUSY:
    case OUTCOME_CONFLICT:
        return RECORD_BUSY;
    case OUTCOME_UNKNOWN:
        return RECORD_UNKNOWN;
    case OUTCOME_OK:
    case OUTCOME_FAILED:
    case OUTCOME_UNKNOWN_PRODUCT:
    case OUTCOME_BAD_STRATEGY:
    case OUTCOME_KEY_REUSED:
        return RECORD_FAILED;
    }
    return RECORD_FAILED;
}

/* A repeat is told of the unit that the ledger has. */
static int64_t told_unit(const struct model_world *world, int index) {
    const struct model_sold *sold = &world->state.sold[index];

    if (world->state.orders[index].outcome == OUTCOME_REPEATED)
        return sold->is_there ? sold->unit : -1;
    return world->state.orders[index].unit;
}

static void fill_record(struct view *view, const struct model_world *world, int index) {
    const struct model_order *order = &world->state.orders[index];
    struct record *record = &view->recorder->records[view->recorder->ended];

    if (order->state == ORDER_TO_COME)
        return;
    *record = (struct record){.planned_ns = view_fill_sent_at(order),
                              .sent_ns = view_fill_sent_at(order),
                              .received_ns = answered_at(world, index),
                              .unit = -1,
                              .number = (uint32_t)index,
                              .outcome = told(world, index),
                              .status = 200,
                              .instance = (int16_t)order->instance};
    (void)snprintf(record->key, UUID_TEXT, "%s", world->sales[index].order_id);
    if (record->outcome == RECORD_SOLD) {
        record->unit = told_unit(world, index);
        memcpy(record->order_id, record->key, UUID_TEXT);
    }
    view->recorder->ended++;
}

static void fill_records(struct view *view, const struct model_world *world) {
    struct recorder *recorder = view->recorder;

    recorder->ended = 0;
    recorder->instance_count = (size_t)world->setup.instances;
    for (int i = 0; i < world->setup.instances; i++)
        (void)snprintf(recorder->instances[i], RECORD_INSTANCE_TEXT, "%s", world->instances[i]);
    for (int i = 0; i <= world->setup.orders; i++)
        fill_record(view, world, i);
    recorder->count = recorder->planned = recorder->answered = recorder->ended;
}

/* ---- the ledger */

static void write_time(char at[LEDGER_TIME], int number) {
    (void)snprintf(at, LEDGER_TIME, "2026-01-01T00:00:00.%06dZ", number);
}

/* order-svc records the order of a sale, or what became of one that it did not hear of; but a
 * customer who was told no has none. */
static void fill_order(struct view *view, const struct model_world *world,
                       const struct ledger_sale *sale, int index) {
    const enum record_outcome outcome = told(world, index);
    struct ledger_order *order = &view->orders[view->ledger.order_count];

    if (outcome != RECORD_SOLD && outcome != RECORD_UNKNOWN)
        return;
    *order = (struct ledger_order){.unit = sale->unit};
    memcpy(order->order_id, sale->order_id, UUID_TEXT);
    memcpy(order->instance, sale->instance, LEDGER_INSTANCE);
    memcpy(order->at, sale->at, LEDGER_TIME);
    view->ledger.order_count++;
}

static bool is_first_of_unit(const struct view *view, int64_t unit) {
    for (size_t i = 0; i < view->ledger.sale_count; i++)
        if (view->sales[i].unit == unit)
            return false;
    return true;
}

static void fill_sale(struct view *view, const struct model_world *world, int index) {
    const struct model_sold *sold = &world->state.sold[index];
    struct ledger_sale *sale = &view->sales[view->ledger.sale_count];

    if (!sold->is_there)
        return;
    *sale = (struct ledger_sale){.unit = sold->unit,
                                 .shard = sold->shard,
                                 .fence = sold->fence,
                                 .remaining = sold->remaining};
    (void)snprintf(sale->order_id, UUID_TEXT, "%s", world->sales[index].order_id);
    (void)snprintf(sale->instance, LEDGER_INSTANCE, "%s", world->instances[sold->instance]);
    write_time(sale->at, sold->number);
    view->ledger.units += is_first_of_unit(view, sale->unit);
    view->ledger.sale_count++;
    fill_order(view, world, sale, index);
}

static void fill_returned(struct view *view, const struct view_end *end) {
    for (size_t i = 0; i < end->returned_count; i++)
        view->returned[i] = (struct ledger_returned){end->returned[i].shard, end->returned[i].unit};
    view->ledger.returned_units = view->returned;
    view->ledger.returned_count = end->returned_count;
    view->ledger.returned = end->returned_count;
}

static void fill_ledger(struct view *view, const struct model_world *world,
                        const struct view_end *end) {
    struct ledger *ledger = &view->ledger;

    *ledger = (struct ledger){.initial = world->setup.stock,
                              .row_count = (size_t)world->setup.options.shards,
                              .sales = view->sales,
                              .orders = view->orders,
                              .rows = view->rows};
    for (int i = 0; i < world->setup.options.shards; i++) {
        const struct model_row *row = &world->state.rows[i];

        view->rows[i] =
            (struct ledger_row){.shard = i,
                                .first_unit = row->first_unit,
                                .initial = row->initial,
                                .available = row->available - end->in_count[i],
                                .returns_to_count = world->setup.options.returns_to_count};
        ledger->available += view->rows[i].available;
    }
    fill_returned(view, end);
    for (int i = 0; i <= world->setup.orders; i++)
        fill_sale(view, world, i);
    ledger->counted = (int64_t)ledger->sale_count;
}

void view_fill(struct view *view, const struct model_world *world, const struct view_end *end) {
    fill_records(view, world);
    fill_ledger(view, world, end);
    /* No doubt is left: nobody was late, and all schedules together show every race. */
    view->judged = (struct verdict_case){.ledgers = &view->ledger,
                                         .items = 1,
                                         .recorder = view->recorder,
                                         .is_keyless = end->gave_back != 0,
                                         .stuck_ns = INT64_MAX / 4};
}
