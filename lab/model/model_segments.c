/* Stock that is sold from keys and values, and its way to the ledger. */
#include "model_internal.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOTES  "stock" /* strategies/spread/prewarm.c says what is under it */
#define OLD_MS 2000    /* a note, by then its instance should have brought it */

static uint64_t hash_of(const char *data_set) {
    return model_mix(1, data_set, strlen(data_set)) | 1;
}

static int find_row(const struct model_world *world, uint64_t data_set, int after) {
    for (int i = after + 1; i < world->setup.options.shards; i++) {
        const struct model_row *row = &world->state.rows[i];

        if (row->available > 0 && (row->loaded == 0 || row->loaded == data_set))
            return i;
    }
    return -1;
}

enum outcome model_hand_out(struct sale *base, const char *data_set, int after,
                            struct stock_row *row) {
    struct model_sale *sale = model_of(base);
    const uint64_t hash = hash_of(data_set);
    int shard;

    model_step(sale, STEP_SELLS);
    if (model_is_dropped(sale))
        return OUTCOME_UNKNOWN;
    shard = find_row(sale->world, hash, after);
    if (shard < 0) {
        model_say(sale, "asks for a row of stock to load: there is none");
        return model_answer(sale, OUTCOME_SOLD_OUT, NULL, 0);
    }
    sale->world->state.rows[shard].loaded = hash;
    model_note_written(sale->world, shard);
    *row = model_row(sale->world, shard);
    row->unit = row->fence = 0;
    if (model_may_lose(sale, OUTCOME_OK) != OUTCOME_OK)
        return model_answer(sale, OUTCOME_UNKNOWN, NULL, 0);
    model_say(sale, "is handed row %d to load: %" PRId64 " left", shard, row->available);
    return model_answer_row(sale, row);
}

/* ---- the way to the ledger */

static const struct model_brought *find_brought(const struct model_state *state, int unit) {
    for (size_t i = 0; i < state->brought_count; i++)
        if (state->brought[i].unit == unit)
            return &state->brought[i];
    return NULL;
}

/* What the ledger says of an order that was to have a unit. */
static enum outcome look(const struct model_state *state, int index, int unit) {
    const struct model_sold *sold = &state->sold[index];

    return !sold->is_there      ? OUTCOME_CONFLICT
           : sold->unit == unit ? OUTCOME_SOLD
                                : OUTCOME_REPEATED;
}

/* The unit is brought once, whatever became of it: to the ledger, or, when its order has another
 * already, back. */
static enum outcome bring(struct model_world *world, int index, struct model_unit unit) {
    struct model_state *state = &world->state;
    struct model_row *row = &state->rows[unit.shard];
    const struct model_txn written = {.unit = unit.unit, .available = unit.unit - row->first_unit};

    if (find_brought(state, unit.unit) != NULL)
        return look(state, index, unit.unit);
    if (state->brought_count == MODEL_UNITS)
        return OUTCOME_UNKNOWN;
    state->brought[state->brought_count++] = (struct model_brought){unit.unit, (int16_t)index};
    row->available--;
    row->version++;
    model_note_written(world, unit.shard);
    if (!state->sold[index].is_there)
        model_write_ledger(world, index, unit.shard, &written);
    else if (!model_put_back(world, unit))
        return OUTCOME_UNKNOWN;
    model_changed(world);
    return look(state, index, unit.unit);
}

/* The note that the ledger has it now, or that it has another. */
static void forget_note(struct model_world *world, int index, enum outcome outcome) {
    const char *const removal[] = {"ZREM", NOTES ":pending", world->sales[index].order_id};
    const char *const deletion[] = {"HDEL", NOTES ":orders", world->sales[index].order_id};
    struct keys_reply reply;

    if (world->keys.key_count == 0 || outcome == OUTCOME_UNKNOWN)
        return;
    keys_run(&world->keys, world->state.now_ms, removal, 3, &reply);
    if (outcome != OUTCOME_SOLD)
        keys_run(&world->keys, world->state.now_ms, deletion, 3, &reply);
}

enum outcome model_write_pending(struct sale *base, const struct stock_row *seen, bool is_awaited) {
    struct model_sale *sale = model_of(base);
    struct model_state *state = &sale->world->state;
    const int64_t last = seen->first_unit + seen->available - 1;
    const struct model_unit unit = {(int16_t)seen->shard, (int16_t)last};
    enum outcome outcome = OUTCOME_SOLD;

    assert(!model_has_no_row(sale, seen->shard));
    if (is_awaited) {
        model_step(sale, STEP_SELLS);
        if (model_is_dropped(sale))
            return OUTCOME_UNKNOWN;
        outcome = bring(sale->world, sale->ledger, unit);
        forget_note(sale->world, sale->index, outcome);
        outcome = model_may_lose(sale, outcome);
        model_say(sale, "brings unit %d to the ledger: %s", unit.unit, outcome_text(outcome));
    } else {
        state->queued[sale->index] = unit;
    }
    if (outcome == OUTCOME_SOLD) {
        base->shard = unit.shard;
        base->unit = last;
        base->remaining = seen->available - 1;
        base->fence = 0;
    }
    return model_answer(sale, outcome, NULL, 0);
}

/* ---- in the background */

static int find_queued(const struct model_world *world, int instance) {
    for (int i = 0; i <= world->setup.orders; i++)
        if (world->state.queued[i].unit != 0 && world->state.orders[i].instance == instance)
            return i;
    return -1;
}

static const char *find_value(const struct keys *keys, const char *name, const char *member) {
    for (size_t i = 0; i < keys->value_count; i++) {
        const struct keys_value *value = &keys->values[i];

        if (strcmp(value->member, member) == 0 && keys->keys[value->key].type != KEYS_NONE &&
            strcmp(keys->keys[value->key].name, name) == 0)
            return value->value;
    }
    return NULL;
}

/* When a note is old enough for any instance to bring it; false: there is none, or it is in the
 * hands of an order that goes on, or of its instance. */
static bool is_left_behind(const struct model_world *world, int index, int64_t *at_ms) {
    const char *score;

    if (world->state.orders[index].state < ORDER_ENDED || world->state.queued[index].unit != 0)
        return false;
    score = find_value(&world->keys, NOTES ":pending", world->sales[index].order_id);
    if (score == NULL)
        return false;
    *at_ms = (int64_t)strtod(score, NULL) + OLD_MS;
    return true;
}

/* The first that is left behind; -1: none. Without faults none is. */
static int find_left_behind(const struct model_world *world, int64_t *at_ms) {
    int found = -1;

    if (world->setup.faults == 0 || world->keys.key_count == 0)
        return -1;
    for (int i = 0; i <= world->setup.orders; i++) {
        int64_t ms;

        if (is_left_behind(world, i, &ms) && (found < 0 || ms < *at_ms)) {
            found = i;
            *at_ms = ms;
        }
    }
    return found;
}

bool model_may_bring(const struct model_world *world, int instance, bool may_wait) {
    int64_t at_ms = 0;

    if ((world->state.paused >> instance & 1U) != 0)
        return false;
    return find_queued(world, instance) >= 0 ||
           (find_left_behind(world, &at_ms) >= 0 && (may_wait || at_ms <= world->state.now_ms));
}

static struct model_unit read_note(const struct model_world *world, int index) {
    const char *note = find_value(&world->keys, NOTES ":orders", world->sales[index].order_id);
    int shard = 0, first = 0, before = 0;

    if (note == NULL || sscanf(note, "%d %d %d", &shard, &first, &before) != 3)
        return (struct model_unit){0, 0};
    return (struct model_unit){(int16_t)shard, (int16_t)(first + before - 1)};
}

void model_bring(struct model_world *world, int instance) {
    int64_t at_ms = 0;
    int index = find_queued(world, instance);
    const bool is_own = index >= 0;
    struct model_unit unit;
    enum outcome outcome;
    char text[120];

    if (!is_own) {
        index = find_left_behind(world, &at_ms);
        if (at_ms > world->state.now_ms)
            model_let_pass(world, at_ms);
    }
    unit = is_own ? world->state.queued[index] : read_note(world, index);
    memset(&world->state.queued[index], 0, sizeof unit);
    outcome = unit.unit != 0 ? bring(world, world->sales[index].ledger, unit) : OUTCOME_CONFLICT;
    forget_note(world, index, outcome);
    if (world->say == NULL)
        return;
    (void)snprintf(text, sizeof text, "has unit %d brought to the ledger by %s: %s", unit.unit,
                   world->instances[instance], outcome_text(outcome));
    world->say(world, index, text);
}

void model_drop_queue(struct model_world *world, int instance) {
    for (int i = 0; i <= world->setup.orders; i++)
        if (world->state.orders[i].instance == instance)
            memset(&world->state.queued[i], 0, sizeof world->state.queued[i]);
}
