/* Batches. A sale that finds no statement of its instance and row under way sends one, for itself.
 * Those that come until that is back wait, and go together then: the first of them sends one
 * statement for all, which has the row once and sells to each, or is lost for all. It is sent in
 * the step in which the one before it is back, and takes effect in the next step of its sender. */
#include "model_internal.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define NOBODY (-1)

/* ---- lists of orders */

#define EACH(rest, orders)                                                                         \
    uint32_t rest = (orders);                                                                      \
    rest != 0;                                                                                     \
    rest >>= 4

static int first_of(uint32_t orders) {
    return (int)(orders & 15) - 1;
}

static uint32_t with(uint32_t orders, int index) {
    int bits = 0;

    while (orders >> bits != 0)
        bits += 4;
    return orders | (uint32_t)(index + 1) << bits;
}

static uint32_t without(uint32_t orders, int index) {
    uint32_t others = 0;

    for (EACH(rest, orders))
        if (first_of(rest) != index)
            others = with(others, first_of(rest));
    return others;
}

#define NAMES 40 /* "A, B, C, D, E, F and G" */

static void write_names(uint32_t orders, char text[NAMES]) {
    size_t used = 0;

    for (EACH(rest, orders))
        used += (size_t)snprintf(text + used, NAMES - used, "%s%c",
                                 rest == orders   ? ""
                                 : rest >> 4 == 0 ? " and "
                                                  : ", ",
                                 'A' + first_of(rest));
}

/* ---- the statement */

/* In the order in which they came. */
static enum outcome sell_to_one(struct model_sale *sale, int shard) {
    const struct stock_row row = model_row(sale->world, shard);
    const struct model_txn written = {.available = (int32_t)row.available - 1,
                                      .unit = (int32_t)(row.first_unit + row.available - 1)};

    if (sale->world->state.sold[sale->ledger].is_there)
        return OUTCOME_REPEATED;
    return row.available > 0 ? model_sell_unit(sale, shard, &written) : OUTCOME_SOLD_OUT;
}

static void tell(struct model_sale *sale, uint32_t orders, const enum outcome *outcomes) {
    const struct model_sold *sold = sale->world->state.sold;
    char names[NAMES], text[160] = "";
    size_t used = 0;

    if (orders >> 4 == 0) {
        if (outcomes[sale->index] == OUTCOME_SOLD)
            model_say(sale, "writes %d, and sells unit %d", sold[sale->ledger].remaining,
                      sold[sale->ledger].unit);
        else
            model_say(sale, "takes a unit: %s", outcome_text(outcomes[sale->index]));
        return;
    }
    for (EACH(rest, orders)) {
        const int index = first_of(rest);
        const char *between = rest == orders ? "" : ", ";

        if (outcomes[index] == OUTCOME_SOLD)
            used += (size_t)snprintf(text + used, sizeof text - used, "%sunit %d to %c", between,
                                     sold[sale->world->sales[index].ledger].unit, 'A' + index);
        else
            used += (size_t)snprintf(text + used, sizeof text - used, "%snone to %c", between,
                                     'A' + index);
    }
    write_names(orders, names);
    model_say(sale, "sells to %s with one statement: %s", names, text);
}

static void sell_to_all(struct model_sale *sale, int shard, uint32_t orders,
                        enum outcome outcomes[MODEL_ORDERS + 1]) {
    for (EACH(rest, orders))
        outcomes[first_of(rest)] = sell_to_one(&sale->world->sales[first_of(rest)], shard);
    tell(sale, orders, outcomes);
}

void model_land_batch(struct model_sale *sale, int shard, uint32_t orders) {
    enum outcome outcomes[MODEL_ORDERS + 1];

    sell_to_all(sale, shard, orders, outcomes);
}

/* ---- who sends it, and who waits */

bool model_is_in_line(const struct model_order *order) {
    return order->waits == WAITS_BATCH && order->due_ms != MODEL_NEVER;
}

/* Whose statement is under way there. What a killed instance had sent is known to nobody. */
static int find_sender(const struct model_world *world, int instance, int shard) {
    for (int i = 0; i <= world->setup.orders; i++) {
        const struct model_batch *batch = &world->state.batches[i];

        if (batch->sent != 0 && batch->shard == shard &&
            world->state.orders[i].state == ORDER_RUNS &&
            world->state.orders[i].instance == instance)
            return i;
    }
    return NOBODY;
}

/* It need not wait any more. */
static void let_go(struct model_order *order, enum outcome outcome) {
    if (order->waits != WAITS_BATCH)
        return;
    order->waits = WAITS_NOT;
    order->due_ms = 0;
    order->outcome = (uint8_t)outcome;
}

static void send_next(struct model_world *world, int shard, uint32_t orders) {
    const int sender = first_of(orders);
    char names[NAMES];

    world->state.batches[sender] = (struct model_batch){.shard = (uint8_t)shard, .sent = orders};
    for (EACH(rest, orders))
        world->state.orders[first_of(rest)].due_ms = MODEL_NEVER;
    let_go(&world->state.orders[sender], OUTCOME_OK);
    world->state.orders[sender].step = STEP_WRITES;
    write_names(orders, names);
    model_say(&world->sales[sender], "sends %s statement for %s", orders >> 4 == 0 ? "a" : "one",
              orders >> 4 == 0 ? "itself" : names);
}

/* All that it sold to know, and those that wait go. */
static void come_back(struct model_sale *sale, const enum outcome *outcomes) {
    struct model_world *world = sale->world;
    struct model_state *state = &world->state;
    const struct model_batch batch = state->batches[sale->index];
    uint32_t next = 0;

    memset(&state->batches[sale->index], 0, sizeof batch);
    for (EACH(rest, batch.sent))
        let_go(&state->orders[first_of(rest)], outcomes[first_of(rest)]);
    for (EACH(rest, batch.waiting)) {
        struct model_order *order = &state->orders[first_of(rest)];

        if (order->due_ms <= state->now_ms)
            let_go(order, OUTCOME_BUSY);
        else
            next = with(next, first_of(rest));
    }
    if (next != 0)
        send_next(world, batch.shard, next);
}

/* What it has sent takes effect. */
static enum outcome lead(struct model_sale *sale) {
    const struct model_batch batch = sale->world->state.batches[sale->index];
    enum outcome outcomes[MODEL_ORDERS + 1], outcome = OUTCOME_OK;

    if (sale->world->is_lost)
        outcome = model_lose_write(
            sale, (struct model_flight){.shard = batch.shard, .batch = batch.sent});
    else if (model_row(sale->world, batch.shard).available > 0)
        outcome = model_wait_for_row(sale, batch.shard, SERVER_MS);
    for (int i = 0; i <= MODEL_ORDERS; i++)
        outcomes[i] = outcome;
    if (outcome == OUTCOME_OK)
        sell_to_all(sale, batch.shard, batch.sent, outcomes);
    else if (outcome != OUTCOME_UNKNOWN)
        tell(sale, batch.sent, outcomes);
    come_back(sale, outcomes);
    return outcomes[sale->index];
}

static void stand_in_line(struct model_sale *sale, int sender) {
    struct model_batch *batch = &sale->world->state.batches[sender];

    batch->waiting = with(batch->waiting, sale->index);
    model_say(sale, "waits until %c's statement is back", 'A' + sender);
    model_wait(sale, WAITS_BATCH, sale->world->state.now_ms + sale->sale.options->wait_ms);
}

/* Its time was over before it went. */
static enum outcome give_up(struct model_sale *sale) {
    struct model_state *state = &sale->world->state;

    for (int i = 0; i <= MODEL_ORDERS; i++)
        state->batches[i].waiting = without(state->batches[i].waiting, sale->index);
    (void)snprintf(sale->sale.message, MESSAGE_BYTES, "no batch took it in time");
    model_say(sale, "gives up waiting for a statement to go with");
    return OUTCOME_BUSY;
}

/* Nobody can come while its statement is under way: then that it is sent is no step. */
static bool is_alone(const struct model_world *world, int index) {
    return world->setup.orders == 1 || index == world->setup.orders;
}

enum outcome model_take_in_batch(struct sale *base, int shard) {
    struct model_sale *sale = model_of(base);
    struct model_order *order = order_of(sale);
    struct model_batch *batch = &sale->world->state.batches[sale->index];
    enum outcome outcome;
    int sender;

    assert(!is_in_transaction(sale));
    if (!is_alone(sale->world, sale->index))
        model_turn(sale);
    if (model_has_no_row(sale, shard))
        return model_answer(sale, OUTCOME_FAILED, NULL, 0);
    sender = find_sender(sale->world, order->instance, shard);
    if (sender == NOBODY) {
        *batch = (struct model_batch){.shard = (uint8_t)shard, .sent = with(0, sale->index)};
        if (!is_alone(sale->world, sale->index))
            model_say(sale, "sends a statement for itself");
        model_step(sale, STEP_WRITES);
    } else {
        stand_in_line(sale, sender);
    }
    if (batch->sent != 0)
        return model_answer(sale, lead(sale), NULL, 0);
    outcome = order->outcome != OUTCOME_OK ? (enum outcome)order->outcome : give_up(sale);
    if (order->outcome != OUTCOME_OK)
        model_say(sale, "hears what became of it");
    order->outcome = OUTCOME_OK;
    return model_answer(sale, outcome, NULL, 0);
}

uint64_t model_hash_batches(const struct model_world *world, uint64_t hash) {
    static_assert(sizeof(struct model_batch) == 12, "no padding, which would be hashed");
    for (int i = 0; i <= world->setup.orders; i++)
        if (world->state.batches[i].sent != 0)
            hash = model_mix(hash + (uint64_t)i + 1, &world->state.batches[i],
                             sizeof *world->state.batches);
    return hash;
}
