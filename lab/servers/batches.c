/* Statements that sell to several orders, units that come back, and customers at another shop. */
#include "servers.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* ---- Batches. If no statement of its instance and row is on its way, a sale sends one for itself.
 * Later sales wait until that statement is back, and then go together: the first of them sends one
 * statement for all. It takes the row once and sells to each, or it is lost for all. It leaves in
 * the step in which the statement before it is back, and takes effect in its sender's next step. */

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

/* The caller calls this in the sequence in which the orders came. */
static enum outcome sell_to_one(struct model_sale *sale, int shard) {
    const struct stock_row row = model_row(sale->world, shard);
    const struct model_write written = {.available = (int32_t)row.available - 1,
                                        .unit = (int32_t)(row.first_unit + row.available - 1)};

    if (sale->world->state.sold[sale->ledger].is_there)
        return OUTCOME_REPEATED;
    return row.available > 0 ? model_sell_unit(sale, shard, &written) : OUTCOME_SOLD_OUT;
}

static void batch_tell(struct model_sale *sale, uint32_t orders, const enum outcome *outcomes) {
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

static void batch_sell_to_all(struct model_sale *sale, int shard, uint32_t orders,
                              enum outcome outcomes[MODEL_ORDERS + 1]) {
    for (EACH(rest, orders))
        outcomes[first_of(rest)] = sell_to_one(&sale->world->sales[first_of(rest)], shard);
    batch_tell(sale, orders, outcomes);
}

void model_land_batch(struct model_sale *sale, int shard, uint32_t orders) {
    enum outcome outcomes[MODEL_ORDERS + 1];

    batch_sell_to_all(sale, shard, orders, outcomes);
}

/* ---- the sender and the waiters */

bool model_is_in_line(const struct model_order *order) {
    return order->waits == WAITS_BATCH && order->due_ms != MODEL_NEVER;
}

/* The order with a statement on its way. A killed order does not count: its instance has forgotten
 * it. */
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

/* End the order's wait with this outcome. */
static void batch_let_go(struct model_order *order, enum outcome outcome) {
    if (order->waits != WAITS_BATCH)
        return;
    order->waits = WAITS_NOT;
    order->due_ms = 0;
    order->outcome = (uint8_t)outcome;
}

static void batch_send_next(struct model_world *world, int shard, uint32_t orders) {
    const int sender = first_of(orders);
    char names[NAMES];

    world->state.batches[sender] = (struct model_batch){.shard = (uint8_t)shard, .sent = orders};
    for (EACH(rest, orders))
        world->state.orders[first_of(rest)].due_ms = MODEL_NEVER;
    batch_let_go(&world->state.orders[sender], OUTCOME_OK);
    world->state.orders[sender].step = STEP_WRITES;
    write_names(orders, names);
    model_say(&world->sales[sender], "sends %s statement for %s", orders >> 4 == 0 ? "a" : "one",
              orders >> 4 == 0 ? "itself" : names);
}

/* Tell the outcomes to all orders of the statement, and send the next statement for the waiters. */
static void come_back(struct model_sale *sale, const enum outcome *outcomes) {
    struct model_world *world = sale->world;
    struct model_state *state = &world->state;
    const struct model_batch batch = state->batches[sale->index];
    uint32_t next = 0;

    memset(&state->batches[sale->index], 0, sizeof batch);
    for (EACH(rest, batch.sent))
        batch_let_go(&state->orders[first_of(rest)], outcomes[first_of(rest)]);
    for (EACH(rest, batch.waiting)) {
        struct model_order *order = &state->orders[first_of(rest)];

        if (order->due_ms <= state->now_ms)
            batch_let_go(order, OUTCOME_BUSY);
        else
            next = with(next, first_of(rest));
    }
    if (next != 0)
        batch_send_next(world, batch.shard, next);
}

/* The sender's statement takes effect. */
static enum outcome batch_lead(struct model_sale *sale) {
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
        batch_sell_to_all(sale, batch.shard, batch.sent, outcomes);
    else if (outcome != OUTCOME_UNKNOWN)
        batch_tell(sale, batch.sent, outcomes);
    come_back(sale, outcomes);
    return outcomes[sale->index];
}

static void stand_in_line(struct model_sale *sale, int sender) {
    struct model_batch *batch = &sale->world->state.batches[sender];

    batch->waiting = with(batch->waiting, sale->index);
    model_say(sale, "waits until %c's statement is back", 'A' + sender);
    model_wait(sale, WAITS_BATCH, sale->world->state.now_ms + sale->sale.options->wait_ms);
}

/* The order's time was over before its statement left. */
static enum outcome batch_give_up(struct model_sale *sale) {
    struct model_state *state = &sale->world->state;

    for (int i = 0; i <= MODEL_ORDERS; i++)
        state->batches[i].waiting = without(state->batches[i].waiting, sale->index);
    (void)snprintf(sale->sale.message, MESSAGE_BYTES, "no batch took it in time");
    model_say(sale, "gives up waiting for a statement to join");
    return OUTCOME_BUSY;
}

/* True if no other order can come while its statement is on its way. Then sending is not a step. */
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
        model_step(sale, STEP_LOOKS);
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
        return model_answer(sale, batch_lead(sale), NULL, 0);
    outcome = order->outcome != OUTCOME_OK ? (enum outcome)order->outcome : batch_give_up(sale);
    if (order->outcome != OUTCOME_OK)
        model_say(sale, "hears the result of its statement");
    order->outcome = OUTCOME_OK;
    return model_answer(sale, outcome, NULL, 0);
}

/* ---- Units that come back: by their number, or to the count of their row. */

bool model_put_back(struct model_world *world, struct model_unit unit) {
    struct model_state *state = &world->state;

    if (state->returned_count == MODEL_UNITS)
        return false;
    state->returned[state->returned_count++] = unit;
    return true;
}

/* False: no unit can come back. Then a look for one is not a step, which saves a step before each
 * SOLD_OUT. */
static bool can_come_back(const struct model_world *world) {
    return (world->setup.strategy != NULL && world->setup.strategy->prepare != NULL) ||
           world->state.brought_count > 0 || world->state.gave_back != 0;
}

static enum outcome take_first_returned(struct model_sale *sale) {
    struct model_state *state = &sale->world->state;
    const struct model_unit unit = state->returned[0];
    const struct model_write written = {.unit = unit.unit};

    if (state->returned_count == 0)
        return OUTCOME_SOLD_OUT;
    if (state->sold[sale->ledger].is_there)
        return OUTCOME_REPEATED;
    state->returned_count--;
    memmove(state->returned, state->returned + 1, state->returned_count * sizeof unit);
    memset(&state->returned[state->returned_count], 0, sizeof unit);
    model_write_ledger(sale->world, sale->ledger, unit.shard, &written);
    sale->sale.shard = unit.shard;
    sale->sale.unit = unit.unit;
    sale->sale.remaining = sale->sale.fence = 0;
    return OUTCOME_SOLD;
}

enum outcome model_take_returned(struct sale *base) {
    struct model_sale *sale = model_of(base);
    enum outcome outcome;

    if (!can_come_back(sale->world))
        return OUTCOME_SOLD_OUT;
    if (!model_arrives(sale, STEP_SELLS))
        return OUTCOME_UNKNOWN;
    outcome = take_first_returned(sale);
    if (outcome == OUTCOME_SOLD) /* the seam sells it, and the strategy has no part in it */
        sale->world->state.worked |= (uint8_t)(1U << sale->index);
    if (outcome == OUTCOME_SOLD)
        model_say(sale, "takes unit %d, which came back", (int)base->unit);
    else
        model_say(sale, "looks for a unit that came back: %s", outcome_text(outcome));
    return model_answer(sale, model_may_lose(sale, outcome), NULL, 0);
}

/* ---- units that come back to the count */

static struct model_place *find_place(struct model_state *state, int shard, int64_t place) {
    for (size_t i = 0; i < state->place_count; i++)
        if (state->places[i].shard == shard && state->places[i].place == place)
            return &state->places[i];
    return NULL;
}

/* An order that was told SOLD may give its unit back, once. */
bool model_may_return(const struct model_world *world, int index) {
    const struct model_state *state = &world->state;
    const struct model_sold *sold = &state->sold[index];

    return world->setup.options.returns_to_count && sold->is_there &&
           state->orders[index].state == ORDER_ENDED &&
           state->orders[index].outcome == OUTCOME_SOLD && state->rows[sold->shard].holder < 0 &&
           state->place_count < MODEL_UNITS;
}

static void raise_count(struct model_world *world, const struct model_sold *sold) {
    struct model_state *state = &world->state;
    struct model_row *row = &state->rows[sold->shard];
    struct model_place *place = find_place(state, sold->shard, row->available);

    assert(place != NULL || state->place_count < MODEL_UNITS);
    if (place == NULL)
        place = &state->places[state->place_count++];
    *place = (struct model_place){sold->shard, (int16_t)row->available, (int16_t)sold->unit, 0};
    row->available++;
    row->version++;
    model_note_written(world, sold->shard);
}

void model_return(struct model_world *world, int index) {
    struct model_state *state = &world->state;
    const struct model_sold sold = state->sold[index];

    memset(&state->sold[index], 0, sizeof state->sold[index]);
    if (world->setup.options.returns_to_count)
        raise_count(world, &sold);
    else
        (void)model_put_back(world, (struct model_unit){sold.shard, (int16_t)sold.unit});
    state->gave_back |= (uint8_t)(1U << index);
    model_changed(world);
    model_say(&world->sales[index], "gives unit %d back", sold.unit);
}

size_t model_returned(const struct model_world *world, struct model_unit units[2 * MODEL_UNITS],
                      int in_count[MODEL_SHARDS]) {
    const struct model_state *state = &world->state;
    size_t count = 0;

    for (size_t i = 0; in_count != NULL && i < MODEL_SHARDS; i++)
        in_count[i] = 0;
    for (size_t i = 0; i < state->returned_count; i++)
        units[count++] = state->returned[i];
    for (size_t i = 0; i < state->place_count; i++) {
        const struct model_place *place = &state->places[i];

        if (place->place >= state->rows[place->shard].available)
            continue;
        units[count++] = (struct model_unit){place->shard, place->unit};
        if (in_count != NULL)
            in_count[place->shard]++;
    }
    return count;
}

/* ---- customers at another shop */

#define SHARDS_NAMED 10 /* by the digit in the id of a schedule */

static bool is_about_to_write(const struct model_world *world) {
    for (int i = 0; i < world->setup.orders; i++) {
        const struct model_order *order = &world->state.orders[i];

        if (order->state == ORDER_RUNS && order->waits == WAITS_NOT && order->step == STEP_WRITES)
            return true;
    }
    return false;
}

bool model_may_buy(const struct model_world *world, int shard) {
    const struct model_state *state = &world->state;
    const struct model_row *row = &state->rows[shard];

    return state->bought_count < world->setup.others && state->has_bought == 0 &&
           is_about_to_write(world) && row->available > 0 && row->holder < 0 &&
           shard < SHARDS_NAMED;
}

void model_buy(struct model_world *world, int shard) {
    struct model_state *state = &world->state;
    struct model_row *row = &state->rows[shard];
    const int64_t unit = model_unit_at(world, shard, row->available);

    assert(row->available > 0 && row->holder < 0 && state->bought_count < MODEL_OTHERS);
    state->has_bought = 1;
    row->available--;
    row->version++;
    model_note_written(world, shard);
    state->bought[state->bought_count++] = (struct model_sold){.is_there = true,
                                                               .shard = (uint8_t)shard,
                                                               .number = ++state->sold_count,
                                                               .unit = (int32_t)unit,
                                                               .remaining = row->available};
    model_changed(world);
}
