/* Makes records and a ledger from a schedule's end, and asks the judge for a verdict. */
#include "view.h"

#include "answers.h"
#include "servers.h"
#include "verdict.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The part of an end that decides the judgement. It has no padding, because it is compared whole.
 */
struct view_order {
    uint8_t state, outcome, instance, came_after;
    int32_t unit;
};

struct view_end {
    uint8_t faults_made, gave_back, skipped, freed;
    uint8_t deadlocked, returned_count;
    uint16_t bought_count;
    struct model_unit returned[2 * MODEL_UNITS];
    int32_t in_count[MODEL_SHARDS]; /* of `available`, that came back */
    int32_t available[MODEL_SHARDS];
    struct model_sold sold[MODEL_ORDERS + 1];
    struct view_order orders[MODEL_ORDERS + 1];
    struct model_sold bought[MODEL_OTHERS];
    struct model_sold seconds[MODEL_ORDERS + 1]; /* the last member: see view_end_size() */
};

/* The bytes of an end that are in use. */
static size_t view_end_size(const struct model_world *world) {
    return world->setup.options.is_cart ? sizeof(struct view_end)
                                        : offsetof(struct view_end, seconds);
}

#define VIEW_START_US  INT64_C(1767225600000000) /* 2026-01-01 */
#define VIEW_CUSTOMERS (MODEL_ORDERS + 1 + MODEL_OTHERS)
#define VIEW_PRODUCTS  2 /* of a cart */

#define VIEW_KNOWN     4096 /* ends; few differ, so they rarely share a place */

struct view_known {
    struct view_end end;
    bool is_there;
    unsigned found;
};

struct view {
    struct recorder *recorder;
    struct ledger ledgers[VIEW_PRODUCTS];
    struct ledger_sale sales[VIEW_PRODUCTS][VIEW_CUSTOMERS];
    struct ledger_order orders[VIEW_PRODUCTS][VIEW_CUSTOMERS];
    char others[MODEL_OTHERS][40]; /* their order ids */
    struct ledger_row rows[VIEW_PRODUCTS][MODEL_SHARDS];
    struct ledger_returned returned[2 * MODEL_UNITS];
    struct verdict_case judged;
    struct verdict verdict; /* the judge's last one */
    bool has_failed;
    unsigned seen, left_out; /* anomalies: of all schedules since view_explore(); not to be told */
    struct view_known known[VIEW_KNOWN];
};

static const char *const names[][2] = {
#define X(id, name, text) {name, text},
    VIEW_ANOMALIES(X)
#undef X
};

const char *view_name(unsigned anomaly) {
    assert(anomaly < VIEW_COUNT);
    return anomaly < ANOMALY_COUNT ? anomaly_name((enum anomaly)anomaly)
                                   : names[anomaly - ANOMALY_COUNT][0];
}

const char *view_meaning(unsigned anomaly) {
    assert(anomaly < VIEW_COUNT);
    return anomaly < ANOMALY_COUNT ? anomaly_text((enum anomaly)anomaly)
                                   : names[anomaly - ANOMALY_COUNT][1];
}

/* ---- Times. An answered order stays answered, so the `came_after` of an order contains that of
 * each earlier one. The number of its bits is the level at which the order came. The order was
 * answered just before the lowest level of the orders that came after it. */

#define LEVEL_NS INT64_C(10000000)

static int64_t view_sent_at(const struct model_order *order) {
    return LEVEL_NS * (1 + __builtin_popcount(order->came_after));
}

static int64_t answered_at(const struct model_world *world, int index) {
    int64_t level_ns = LEVEL_NS * (MODEL_ORDERS + 4);

    for (int i = 0; i <= world->setup.orders; i++) {
        const struct model_order *order = &world->state.orders[i];

        if (order->state != ORDER_TO_COME && (order->came_after >> index & 1U) != 0 &&
            view_sent_at(order) < level_ns)
            level_ns = view_sent_at(order);
    }
    return level_ns - LEVEL_NS / 2;
}

/* ---- carts */

static int products_of(const struct model_world *world) {
    return world->setup.options.is_cart ? VIEW_PRODUCTS : 1;
}

/* The units that are left because the other product had fewer. They have the lowest numbers. */
static int view_surplus(const struct model_world *world, int shard) {
    const struct model_row *rows = world->state.rows;
    const int more = rows[shard].initial - rows[1 - shard].initial;
    const int surplus = more < rows[shard].available ? more : rows[shard].available;

    assert(world->setup.options.is_cart);
    return surplus > 0 ? surplus : 0;
}

/* The number that the judge gets for a unit: each product of a cart begins with 1. */
static int64_t unit_for_judge(const struct model_world *world, int shard, int64_t unit) {
    return world->setup.options.is_cart
               ? unit - world->state.rows[shard].first_unit + 1 - view_surplus(world, shard)
               : unit;
}

static const struct model_sold *view_line_of(const struct model_world *world, int index,
                                             int product) {
    const struct model_sold *sold = &world->state.sold[index];

    if (world->setup.options.is_cart && sold->is_there && sold->shard != product)
        sold = &world->state.seconds[index].sold;
    return sold;
}

/* ---- answers */

/* An order that gave its unit back looks to the judge like one that was told busy. */
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

/* The answer to a repeat names the unit in the ledger. */
static int64_t told_unit(const struct model_world *world, int index, int product) {
    const struct model_sold *sold = view_line_of(world, index, product);
    const struct model_order *order = &world->state.orders[index];

    if (order->outcome == OUTCOME_REPEATED ||
        (world->setup.options.is_cart && order->shard != product))
        return sold->is_there ? unit_for_judge(world, product, sold->unit) : -1;
    return unit_for_judge(world, product, order->unit);
}

static void fill_record(struct view *view, const struct model_world *world, int index,
                        int product) {
    const struct model_order *order = &world->state.orders[index];
    struct record *record = &view->recorder->records[view->recorder->ended];

    if (order->state == ORDER_TO_COME)
        return;
    *record = (struct record){.planned_ns = view_sent_at(order),
                              .sent_ns = view_sent_at(order),
                              .received_ns = answered_at(world, index),
                              .unit = -1,
                              .number = (uint32_t)index,
                              .item = (uint32_t)product,
                              .outcome = told(world, index),
                              .status = 200,
                              .instance = (int16_t)order->instance};
    (void)record_set_id(&record->key, NULL, world->sales[index].order_id);
    if (record->outcome == RECORD_SOLD) {
        record->unit = told_unit(world, index, product);
        record->order_id = record_same;
    }
    view->recorder->ended++;
}

/* Each customer at another shop bought beside the orders, and before the last customer came. */
static void fill_record_of_other(struct view *view, const struct model_world *world, int number) {
    const struct model_order *last = &world->state.orders[world->setup.orders];
    struct record *record = &view->recorder->records[view->recorder->ended++];

    *record = (struct record){.planned_ns = LEVEL_NS,
                              .sent_ns = LEVEL_NS,
                              .received_ns = LEVEL_NS * (MODEL_ORDERS + 1) - LEVEL_NS / 2,
                              .unit = world->state.bought[number].unit,
                              .number = (uint32_t)(MODEL_ORDERS + 1 + number),
                              .outcome = RECORD_SOLD,
                              .status = 200};
    if (last->state != ORDER_TO_COME)
        record->received_ns = view_sent_at(last) - LEVEL_NS / 2;
    (void)record_set_id(&record->key, NULL, view->others[number]);
    record->order_id = record_same;
}

static void fill_records(struct view *view, const struct model_world *world) {
    struct recorder *recorder = view->recorder;

    recorder->ended = 0;
    recorder->instance_count = (size_t)world->setup.instances;
    for (int i = 0; i < world->setup.instances; i++)
        (void)snprintf(recorder->instances[i], RECORD_INSTANCE_TEXT, "%s", world->instances[i]);
    for (int i = 0; i <= world->setup.orders; i++)
        for (int product = 0; product < products_of(world); product++)
            fill_record(view, world, i, product);
    for (int i = 0; i < world->state.bought_count; i++)
        fill_record_of_other(view, world, i);
    recorder->count = recorder->planned = recorder->answered = recorder->ended;
}

/* ---- the ledger */

/* order-svc records the order of a sale, also if it had to look for the outcome. It records none
 * for a customer that was told no. */
static void fill_order(struct view *view, const struct model_world *world,
                       const struct ledger_sale *sale, int index, int product) {
    const enum record_outcome outcome = index >= 0 ? told(world, index) : RECORD_SOLD;
    struct ledger_order *order = &view->orders[product][view->ledgers[product].order_count];

    if (outcome != RECORD_SOLD && outcome != RECORD_UNKNOWN)
        return;
    *order = (struct ledger_order){.order_id = sale->order_id,
                                   .instance = sale->instance,
                                   .at_us = sale->at_us,
                                   .unit = sale->unit};
    view->ledgers[product].order_count++;
}

static bool is_first_of_unit(const struct ledger *ledger, int64_t unit) {
    for (size_t i = 0; i < ledger->sale_count; i++)
        if (ledger->sales[i].unit == unit)
            return false;
    return true;
}

/* `index` is the order's; -1: it is another shop's. */
static void fill_sale(struct view *view, const struct model_world *world,
                      const struct model_sold *sold, const char *order_id, int index) {
    const bool is_cart = world->setup.options.is_cart;
    const int product = is_cart ? sold->shard : 0;
    struct ledger *ledger = &view->ledgers[product];
    struct ledger_sale *sale = &ledger->sales[ledger->sale_count];

    if (!sold->is_there)
        return;
    *sale = (struct ledger_sale){.order_id = order_id,
                                 .instance = world->instances[sold->instance],
                                 .at_us = VIEW_START_US + sold->number,
                                 .quantity = 1,
                                 .unit = unit_for_judge(world, product, sold->unit),
                                 .shard = sold->shard,
                                 .remaining = sold->remaining -
                                              (is_cart ? view_surplus(world, product) : 0)};
    ledger->units += is_first_of_unit(ledger, sale->unit);
    ledger->sale_count++;
    fill_order(view, world, sale, index, product);
}

/* A product of a cart, without its sales. It has one row. */
static void fill_product(struct view *view, const struct model_world *world, int product) {
    const struct model_row *row = &world->state.rows[product];
    const int surplus = view_surplus(world, product);
    const struct ledger_row of_product = {.shard = product,
                                          .first_unit = 1,
                                          .initial = row->initial - surplus,
                                          .available = row->available - surplus};

    view->rows[product][0] = of_product;
    view->ledgers[product] = (struct ledger){.initial = of_product.initial,
                                             .available = of_product.available,
                                             .row_count = 1,
                                             .sales = view->sales[product],
                                             .orders = view->orders[product],
                                             .rows = view->rows[product],
                                             .returned_units = view->returned};
}

/* The stock of an order for one product, without its sales. */
static void fill_stock(struct view *view, const struct model_world *world,
                       const struct view_end *end) {
    struct ledger *ledger = &view->ledgers[0];

    *ledger = (struct ledger){.initial = world->setup.stock,
                              .row_count = (size_t)world->setup.options.shards,
                              .sales = view->sales[0],
                              .orders = view->orders[0],
                              .rows = view->rows[0]};
    for (int i = 0; i < world->setup.options.shards; i++) {
        const struct model_row *row = &world->state.rows[i];

        view->rows[0][i] =
            (struct ledger_row){.shard = i,
                                .first_unit = row->first_unit,
                                .initial = row->initial,
                                .available = row->available - end->in_count[i],
                                .returns_to_count = world->setup.options.returns_to_count,
                                .is_loaded = row->loaded != 0};
        ledger->available += view->rows[0][i].available;
    }
    for (size_t i = 0; i < end->returned_count; i++)
        view->returned[i] = (struct ledger_returned){end->returned[i].shard, end->returned[i].unit};
    ledger->returned_units = view->returned;
    ledger->returned_count = end->returned_count;
    ledger->returned = end->returned_count;
}

static void fill_ledgers(struct view *view, const struct model_world *world,
                         const struct view_end *end) {
    const bool is_cart = world->setup.options.is_cart;

    for (int i = 0; i < VIEW_PRODUCTS && is_cart; i++)
        fill_product(view, world, i);
    if (!is_cart)
        fill_stock(view, world, end);
    for (int i = 0; i <= world->setup.orders; i++) {
        fill_sale(view, world, &world->state.sold[i], world->sales[i].order_id, i);
        if (is_cart)
            fill_sale(view, world, &world->state.seconds[i].sold, world->sales[i].order_id, i);
    }
    for (int i = 0; i < world->state.bought_count; i++)
        fill_sale(view, world, &world->state.bought[i], view->others[i], -1);
    for (int i = 0; i < products_of(world); i++)
        view->ledgers[i].counted = (int64_t)view->ledgers[i].sale_count;
}

static void view_fill(struct view *view, const struct model_world *world,
                      const struct view_end *end) {
    fill_records(view, world);
    fill_ledgers(view, world, end);
    /* There is no doubt: no request was late, and all schedules together show every race. */
    view->judged = (struct verdict_case){.ledgers = view->ledgers,
                                         .items = (size_t)products_of(world),
                                         .recorder = view->recorder,
                                         .is_keyless = end->gave_back != 0,
                                         .stuck_ns = INT64_MAX / 4};
}

/* ---- the ends that are remembered */

static struct view_end view_end_of(const struct model_world *world) {
    const struct model_state *state = &world->state;
    struct view_end end;

    memset(&end, 0, sizeof end);
    end.faults_made = state->faults_made;
    end.gave_back = state->gave_back;
    end.skipped = state->skipped;
    end.freed = state->freed;
    if (state->returned_count + state->place_count > 0)
        end.returned_count = (uint8_t)model_returned(world, end.returned, end.in_count);
    end.bought_count = state->bought_count;
    memcpy(end.bought, state->bought, sizeof *state->bought * state->bought_count);
    for (int i = 0; i < world->setup.options.shards; i++)
        end.available[i] = state->rows[i].available;
    for (int i = 0; i <= world->setup.orders; i++) {
        const struct model_order *order = &state->orders[i];

        end.sold[i] = state->sold[i];
        end.seconds[i] = state->seconds[i].sold;
        end.deadlocked |= (uint8_t)(order->has_deadlocked << i);
        end.orders[i] = (struct view_order){.state = order->state,
                                            .outcome = order->outcome,
                                            .instance = order->instance,
                                            .came_after = order->came_after,
                                            .unit = order->unit};
    }
    return end;
}

static size_t view_place_of(const struct view_end *end, size_t size) {
    uint64_t hash = 0;

    for (size_t at = 0; at < size; at += 8) {
        uint64_t word;

        memcpy(&word, (const char *)end + at, sizeof word);
        hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 32;
    }
    return (size_t)hash % VIEW_KNOWN;
}

/* ---- the judgement */

static unsigned ask_judge(struct view *view, const struct model_world *world,
                          const struct view_end *end) {
    unsigned found = answers_judge(world);

    view_fill(view, world, end);
    if (verdict_judge(&view->judged, &view->verdict) != 0) {
        view->has_failed = true;
        return found;
    }
    assert(view->verdict.kind != VERDICT_INCONCLUSIVE);
    for (unsigned i = 0; i < ANOMALY_COUNT; i++)
        if (view->verdict.found[i].count > 0)
            found |= 1U << i;
    return found;
}

unsigned view_judge(void *data, const struct model_world *world) {
    struct view *view = data;
    const struct view_end end = view_end_of(world);
    const size_t size = view_end_size(world);
    struct view_known *known = &view->known[view_place_of(&end, size)];

    if (!known->is_there || memcmp(&known->end, &end, size) != 0)
        *known = (struct view_known){
            .is_there = true, .end = end, .found = ask_judge(view, world, &end)};
    view->seen |= known->found;
    return known->found & ~view->left_out;
}

int view_explore(struct view *view, struct exploration *exploration) {
    const unsigned minor = 1U << VIEW_SKIPS_WORK | 1U << VIEW_FREES_ANOTHERS;
    struct exploration again;

    view->seen = 0;
    if (explore(exploration) != 0)
        return -1;
    if (exploration->end != EXPLORE_COMPLETE || (view->seen & minor) == 0 ||
        (view->seen & ~minor) == 0)
        return 0;
    again = *exploration;
    view->left_out = minor;
    if (explore(&again) != 0)
        return -1;
    view->left_out = 0;
    if (again.violated > 0)
        exploration->shortest = again.shortest;
    return 0;
}

bool view_has_failed(const struct view *view) {
    return view->has_failed;
}

struct view *view_make(void) {
    struct view *view = calloc(1, sizeof *view);

    if (view == NULL)
        return NULL;
    view->recorder = recorder_make(VIEW_PRODUCTS * VIEW_CUSTOMERS);
    if (view->recorder == NULL) {
        free(view);
        return NULL;
    }
    for (int i = 0; i < MODEL_OTHERS; i++)
        (void)snprintf(view->others[i], sizeof *view->others, "00000000-0000-7000-8001-%012d", i);
    return view;
}

void view_free(struct view *view) {
    if (view == NULL)
        return;
    recorder_free(view->recorder);
    free(view);
}

/* ---- the reason, in the judge's words, with the orders' letters */

/* The letter that the lab gives the order with this id. */
static char view_letter_of(const struct view *view, const struct model_world *world,
                           const char *order_id) {
    for (int i = 0; i <= world->setup.orders; i++)
        if (strcmp(world->sales[i].order_id, order_id) == 0)
            return (char)('A' + i);
    for (int i = 0; i < MODEL_OTHERS; i++)
        if (strcmp(view->others[i], order_id) == 0)
            return (char)MODEL_LETTER_OF_OTHER(i);
    return '?';
}

/* True if the judge names an operation at `at`. None of its sentences has "A" as an article. */
static bool is_name(const struct counterexample *example, const char *line, const char *at) {
    return *at >= 'A' && *at < 'A' + (int)example->ops && (at == line || !isalnum(at[-1])) &&
           !isalnum(at[1]);
}

/* The judge calls its operations A, B and C in each counterexample. Write the orders' own letters.
 */
static void say_line(FILE *to, const struct view *view, const struct model_world *world,
                     const struct counterexample *example, const char *line) {
    for (const char *at = line; *at != '\0'; at++) {
        char letter = *at;

        if (is_name(example, line, at))
            letter = view_letter_of(view, world, example->order_id[*at - 'A']);
        putc(letter, to);
    }
}

static void say_example(FILE *to, const struct view *view, const struct model_world *world,
                        const struct counterexample *example) {
    bool is_first = true;

    if (world->setup.options.is_cart)
        fprintf(to, "Of product %u, with its units counted from 1: ", example->item);
    for (size_t i = 0; i < example->lines; i++) {
        const char *line = example->line[i];

        if (line[0] != '\0' && strncmp(line + 1, " = ", 3) == 0)
            continue; /* skip "A = order …", because its times are made up */
        fputs(is_first ? "" : " ", to);
        say_line(to, view, world, example, line);
        is_first = false;
    }
}

unsigned view_tell(struct view *view, const struct model_world *world, char text[VIEW_TEXT]) {
    const struct view_end end = view_end_of(world);
    const unsigned found = ask_judge(view, world, &end);
    FILE *to = fmemopen(text, VIEW_TEXT, "w");

    text[0] = '\0';
    if (to == NULL)
        return found;
    if (view->verdict.counterexamples > 0 && (found & 1U << VIEW_HALF_CART) == 0)
        say_example(to, view, world, &view->verdict.counterexample[0]);
    else
        answers_tell(to, world, found);
    (void)fclose(to);
    return found;
}
