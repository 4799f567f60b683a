/* Units that come back: by their number, or to the count of their row. */
#include "model_internal.h"

#include <stdio.h>
#include <string.h>

bool model_put_back(struct model_world *world, struct model_unit unit) {
    struct model_state *state = &world->state;

    if (state->returned_count == MODEL_UNITS)
        return false;
    state->returned[state->returned_count++] = unit;
    return true;
}

/* No step while nothing can come back: it would be one more for each who is told sold out. */
static bool can_come_back(const struct model_world *world) {
    return (world->setup.strategy != NULL && world->setup.strategy->prepare != NULL) ||
           world->state.brought_count > 0 || world->state.gave_back != 0;
}

static enum outcome take(struct model_sale *sale) {
    struct model_state *state = &sale->world->state;
    const struct model_unit unit = state->returned[0];
    const struct model_txn written = {.unit = unit.unit};

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
    model_step(sale, STEP_SELLS);
    if (model_is_dropped(sale))
        return OUTCOME_UNKNOWN;
    outcome = take(sale);
    if (outcome == OUTCOME_SOLD)
        model_say(sale, "takes unit %d, which came back", (int)base->unit);
    else
        model_say(sale, "looks for a unit that came back: %s", outcome_text(outcome));
    return model_answer(sale, model_may_lose(sale, outcome), NULL, 0);
}

/* ---- to the count */

static struct model_place *find_place(struct model_state *state, int shard, int64_t place) {
    for (size_t i = 0; i < state->place_count; i++)
        if (state->places[i].shard == shard && state->places[i].place == place)
            return &state->places[i];
    return NULL;
}

int64_t model_unit_at(const struct model_world *world, int shard, int64_t available) {
    const struct model_state *state = &world->state;

    for (size_t i = 0; i < state->place_count; i++)
        if (state->places[i].shard == shard && state->places[i].place == available - 1)
            return state->places[i].unit;
    return state->rows[shard].first_unit + available - 1;
}

/* Whoever was told that it has a unit may give it back, once. */
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
    char text[80];

    memset(&state->sold[index], 0, sizeof state->sold[index]);
    if (world->setup.options.returns_to_count)
        raise_count(world, &sold);
    else
        (void)model_put_back(world, (struct model_unit){sold.shard, (int16_t)sold.unit});
    state->gave_back |= (uint8_t)(1U << index);
    model_changed(world);
    if (world->say == NULL)
        return;
    (void)snprintf(text, sizeof text, "gives unit %d back", sold.unit);
    world->say(world, index, text);
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

uint64_t model_hash_units(const struct model_world *world, uint64_t hash) {
    const struct model_state *state = &world->state;

    hash = model_mix(hash, state->queued, sizeof state->queued);
    hash = model_mix(hash, state->returned, sizeof *state->returned * state->returned_count);
    hash = model_mix(hash, state->places, sizeof *state->places * state->place_count);
    return model_mix(hash, state->brought, sizeof *state->brought * state->brought_count);
}
