/* The operations on the server of keys and values: keys, and the stock that is loaded into it. */
#include "servers.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- keys */

/* A token has 40 digits. In a line a few of them name it. */
#define SHORT 32
static void redis_shorten(const char *text, char to[SHORT]) {
    const size_t length = strlen(text);

    if (length < TOKEN_TEXT - 1)
        (void)snprintf(to, SHORT, "%.24s", text);
    else
        (void)snprintf(to, SHORT, "%.5s…%s", text, text + length - 2);
}

/* What the command did, for a schedule's line. */
static void redis_describe(const struct kv_call *call, char *to, size_t size) {
    char lifetime[40] = "", key[SHORT], reply[SHORT];

    redis_shorten(call->key, key);
    redis_shorten(call->reply, reply);
    if (call->ttl_ms > 0)
        (void)snprintf(lifetime, sizeof lifetime, ", for %" PRId64 " ms", call->ttl_ms);
    switch (call->command) {
    case KV_SET_ABSENT:
        (void)snprintf(to, size, call->is_yes ? "sets the key %s%s" : "finds the key %s taken", key,
                       lifetime);
        return;
    case KV_EXPIRE:
        (void)snprintf(to, size, "lets the key %s expire in %" PRId64 " ms%s", key, call->ttl_ms,
                       call->is_yes ? "" : ": it is not there");
        return;
    case KV_GET:
        (void)snprintf(to, size, "looks at the key %s: %s", key,
                       call->is_yes ? reply : "it is not there");
        return;
    case KV_DELETE:
        (void)snprintf(to, size, "deletes the key %s%s", key,
                       call->is_yes ? "" : ": it is not there");
        return;
    case KV_DELETE_IF_EQUAL:
        (void)snprintf(to, size, "deletes the key %s if it holds it: it does%s", key,
                       call->is_yes ? "" : " not");
        return;
    case KV_IS:
        (void)snprintf(to, size, "asks if it holds the key %s: it does%s", key,
                       call->is_yes ? "" : " not");
        return;
    case KV_COUNT:
        (void)snprintf(to, size, "counts the key %s up to %s", key, reply);
        return;
    }
}

/* The steps that ran, in one line. */
static void redis_tell(struct model_sale *sale, const struct kv_call *call) {
    char text[200], at[32] = "";
    size_t used = 0;

    if (sale->world->say == NULL)
        return;
    if (call->server > 0)
        (void)snprintf(at, sizeof at, "at server %d ", call->server);
    for (const struct kv_call *step = call; step != NULL; step = step->is_yes ? step->then : NULL) {
        used += (size_t)snprintf(text + used, sizeof text - used, "%s", used > 0 ? "; then " : at);
        if (used >= sizeof text)
            break;
        redis_describe(step, text + used, sizeof text - used);
        used = strlen(text);
    }
    model_say(sale, "%s", text);
}

static enum outcome redis_answer(struct model_sale *sale, struct kv_call *call,
                                 enum outcome outcome) {
    uint64_t said = 1;

    if (outcome != OUTCOME_OK)
        (void)snprintf(sale->sale.message, MESSAGE_BYTES, "Redis %s",
                       outcome == OUTCOME_UNKNOWN ? "did not answer" : "refused a command");
    for (struct kv_call *step = call; step != NULL; step = step->then) {
        if (outcome != OUTCOME_OK) { /* like the live store */
            step->is_yes = false;
            step->reply[0] = '\0';
        }
        said =
            model_mix(said + step->is_yes, step->reply, strnlen(step->reply, sizeof step->reply));
    }
    return model_answer(sale, outcome, &said, sizeof said);
}

/* `wakes`: a sale that waits for a change can go on. A key that lives longer wakes nobody. */
static void model_change_keys(struct model_sale *sale, const struct keys *was, int part,
                              bool wakes) {
    struct model_world *world = sale->world;

    world->state.keyed |= (uint8_t)(1U << sale->index);
    if (wakes)
        model_changed(world);
    if (was == NULL || !model_may_happen(world, FAULT_FAILOVER))
        return;
    for (size_t i = MODEL_LAG - 1; i > 0; i--)
        world->before[part][i] = world->before[part][i - 1];
    world->before[part][0] = *was;
    if (model_lag(&world->state, part) < MODEL_LAG)
        world->state.lag = (world->state.lag + (1U << 2 * part)) & 15U;
}

/* The part's replica has all that its master wrote. */
static void model_catch_up(struct model_world *world, int part) {
    world->state.lag = world->state.lag & ~(3U << 2 * part) & 15U;
}

void model_lag_keys(struct model_world *world, int part, int writes) {
    if (writes > 0) {
        keys_go_back(&world->keys, &world->before[part][writes - 1], part);
        keys_forget(&world->keys, world->state.now_ms);
        model_changed(world);
    }
    world->state.lag = 0; /* it fails once in a schedule */
    world->state.failed = (world->state.failed | 1U << part) & 3U;
}

void model_stop_server(struct model_world *world, int server) {
    static_assert(KV_SERVERS < 4, "a bit for each");
    world->state.down = (world->state.down | 1U << server) & 15U;
    keys_lose(&world->keys, server);
    model_changed(world);
}

/* A dead order needs its keys no more. A script that deletes a key and sets it anew takes it over. */
static bool is_anothers(const struct model_world *world, const struct model_sale *sale,
                        const struct keys_key *key, const struct kv_call *call) {
    return key != NULL && key->owner != sale->index &&
           world->state.orders[key->owner].state != ORDER_KILLED &&
           !(call->then != NULL && call->then->command == KV_SET_ABSENT);
}

static bool changes_keys(enum kv_command command) {
    return command != KV_GET && command != KV_IS;
}

/* Run one command of a script. */
static enum outcome redis_step(struct model_sale *sale, int server, struct kv_call *call) {
    struct model_world *world = sale->world;
    struct keys *keys = &world->keys;
    const size_t count = keys->key_count;
    const bool frees = is_anothers(world, sale, keys_find(keys, server, call->key), call);
    const enum outcome outcome = keys_call(keys, server, world->state.now_ms, call);

    if (keys->key_count > count)
        keys->keys[keys->key_count - 1].owner = sale->index;
    if (call->is_yes && frees &&
        (call->command == KV_DELETE || call->command == KV_DELETE_IF_EQUAL))
        world->state.freed |= (uint8_t)(1U << sale->index);
    return outcome;
}

/* Like a script of Redis, keep the effect of the commands before one that is refused. */
static enum outcome redis_run(struct model_sale *sale, struct kv_call *call, bool *has_changed,
                              bool *wakes) {
    enum outcome outcome = OUTCOME_OK;

    for (struct kv_call *step = call; step != NULL; step = step->then) {
        step->is_yes = false;
        memset(step->reply, 0, sizeof step->reply);
    }
    for (struct kv_call *step = call; step != NULL && outcome == OUTCOME_OK; step = step->then) {
        outcome = redis_step(sale, call->server, step);
        if (outcome != OUTCOME_OK)
            model_say(sale, "asks Redis, which refuses the command: %s", step->reply);
        if (!step->is_yes)
            break;
        *has_changed |= changes_keys(step->command);
        if (step->command == KV_EXPIRE && step->ttl_ms > 0)
            sale->prolongs = true;
        else
            *wakes |= changes_keys(step->command);
    }
    return outcome;
}

static bool only_looks(const struct kv_call *call) {
    return call == NULL || (!changes_keys(call->command) && only_looks(call->then));
}

enum outcome model_kv(struct sale *base, struct kv_call *call) {
    struct model_sale *sale = model_of(base);
    struct model_world *world = sale->world;
    static struct keys was; /* too large for a fiber's stack */
    enum outcome outcome;
    bool has_changed = false, wakes = false;

    if (!model_arrives(sale, only_looks(call) ? STEP_LOOKS : STEP_KEYS))
        return OUTCOME_UNKNOWN;
    if ((world->state.down >> call->server & 1U) != 0) {
        model_say(sale, "asks server %d, which is down", call->server);
        return redis_answer(sale, call, OUTCOME_BUSY);
    }
    keys_forget(&world->keys, world->state.now_ms);
    if (model_may_happen(world, FAULT_FAILOVER))
        was = world->keys;
    outcome = redis_run(sale, call, &has_changed, &wakes);
    if (has_changed)
        model_change_keys(sale, call->server == 0 ? &was : NULL, 0, wakes);
    if (outcome == OUTCOME_OK)
        redis_tell(sale, call);
    return redis_answer(sale, call,
                        outcome == OUTCOME_OK ? model_may_lose(sale, outcome) : outcome);
}

int64_t model_next_key_ms(const struct model_world *world) {
    const int64_t next_ms = world->keys.key_count > 0 ? keys_expire_next(&world->keys) : 0;

    return next_ms > 0 ? next_ms : INT64_MAX;
}

void model_expire_keys(struct model_world *world) {
    if (model_next_key_ms(world) > world->state.now_ms)
        return;
    keys_forget(&world->keys, world->state.now_ms);
    model_changed(world);
}

/* ---- Stock that is sold from keys and values, and its way to the ledger. */

#define OLD_MS 2000 /* any instance may bring a note of this age */

static_assert(SEGMENTS_ORDERS > MODEL_ORDERS, "each order has a note");

/* ---- load and take */

static uint64_t hash_of(const char *data_set) {
    return model_mix(1, data_set, strlen(data_set)) | 1;
}

/* Call this before a script. False: the script never arrives. */
static bool begin_script(struct model_sale *sale) {
    if (!model_arrives(sale, STEP_SELLS))
        return false;
    model_change_keys(sale, &sale->world->keys, sale->part, true);
    return true;
}

static struct segments *segments_of(struct model_sale *sale) {
    return &sale->world->keys.segments[sale->part];
}

enum outcome model_open_data_set(struct sale *base, struct data_set *set) {
    struct model_sale *sale = model_of(base);
    uint64_t said[2];

    if (!begin_script(sale))
        return OUTCOME_UNKNOWN;
    segments_open(segments_of(sale), set);
    model_say(sale,
              set->last < 0 ? "opens the data set in Redis: no row was loaded"
                            : "opens the data set in Redis: row %d was loaded last",
              set->last);
    said[0] = hash_of(set->token);
    said[1] = (uint64_t)set->last;
    return model_answer(sale, model_may_lose(sale, OUTCOME_OK), said, sizeof said);
}

enum outcome model_load_row(struct sale *base, const struct data_set *set,
                            const struct stock_row *row) {
    struct model_sale *sale = model_of(base);
    struct segments *segments = segments_of(sale);
    enum outcome outcome;

    if (!begin_script(sale))
        return OUTCOME_UNKNOWN;
    if (!segments_are_at(segments, set))
        model_say(sale, "loads nothing into Redis: another sale has loaded a row since");
    else if (row->available > 0)
        model_say(sale, "loads row %d into Redis", row->shard);
    else
        model_say(sale, "tells Redis that no more row can be loaded");
    outcome = segments_load(segments, set, row);
    return model_answer(sale, model_may_lose(sale, outcome), NULL, 0);
}

/* WAIT, behind the script. After a failover the new master has no replica, so nothing confirms. */
static void take_confirmed(struct model_sale *sale, struct loaded_unit *taken) {
    struct model_world *world = sale->world;
    bool is_confirmed;

    taken->is_unconfirmed = sale->sale.options->replicas > 0;
    if (!taken->is_unconfirmed || model_parts(&world->setup) == 1) /* one Redis has no replica */
        return;
    model_step(sale, STEP_LOOKS);
    is_confirmed = (world->state.failed >> sale->part & 1U) == 0;
    if (is_confirmed)
        model_catch_up(world, sale->part);
    model_say(sale, is_confirmed ? "hears that the replica has it" : "hears of no replica");
    taken->is_unconfirmed = !is_confirmed;
    (void)model_answer(sale, OUTCOME_OK, &is_confirmed, sizeof is_confirmed);
}

static enum outcome take_from_part(struct model_sale *sale, struct loaded_unit *taken) {
    struct model_world *world = sale->world;
    const struct stock_row *seen = &taken->seen;
    enum outcome outcome;

    if (!begin_script(sale))
        return OUTCOME_UNKNOWN;
    outcome = segments_take(segments_of(sale), sale->ledger, sale->sale.may_be_repeat,
                            world->state.now_ms, taken);
    if (outcome == OUTCOME_SOLD_OUT)
        model_say(sale, "finds no unit in Redis, and no row to load");
    else if (seen->available == 0)
        model_say(sale, "finds no unit in Redis");
    else
        model_say(sale, "takes unit %" PRId64 " in Redis%s", seen->first_unit + seen->available - 1,
                  taken->is_again ? " again" : "");
    outcome = model_answer(sale, model_may_lose(sale, outcome),
                           (const int64_t[]){seen->shard, seen->first_unit, seen->available,
                                             taken->is_again, taken->is_half_sold},
                           5 * sizeof(int64_t));
    if (outcome == OUTCOME_OK && seen->available > 0)
        take_confirmed(sale, taken);
    return outcome;
}

/* Like inventory-svc/store/loaded_live.c: each part once, from the last one on. A sale stays at a
 * part that did not answer. */
enum outcome model_take_loaded(struct sale *base, struct loaded_unit *taken) {
    struct model_sale *sale = model_of(base);
    const int parts = model_parts(&sale->world->setup);

    for (int i = 0; i < parts; i++, sale->part = (sale->part + 1) % parts) {
        const enum outcome outcome = take_from_part(sale, taken);

        if (outcome != OUTCOME_SOLD_OUT)
            return outcome;
    }
    return OUTCOME_SOLD_OUT;
}

static int find_row(const struct model_world *world, uint64_t data_set, int part, int after) {
    const int parts = model_parts(&world->setup);

    for (int i = after + 1; i < world->setup.options.shards; i++) {
        const struct model_row *row = &world->state.rows[i];

        if (i % parts == part && row->available > 0 &&
            (row->loaded == 0 || row->loaded == data_set))
            return i;
    }
    return -1;
}

enum outcome model_hand_out(struct sale *base, const struct data_set *set, struct stock_row *row) {
    struct model_sale *sale = model_of(base);
    const uint64_t hash = hash_of(set->token);
    int shard;

    if (!model_arrives(sale, STEP_SELLS))
        return OUTCOME_UNKNOWN;
    if (model_parts(&sale->world->setup) > 1 && (sale->world->state.failed >> sale->part & 1U) == 0)
        model_catch_up(sale->world, sale->part); /* a replica must have the data set before */
    shard = find_row(sale->world, hash, sale->part, set->last);
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
    model_say(sale, "gets row %d to load: %" PRId64 " left", shard, row->available);
    return model_answer_row(sale, row);
}

/* ---- the way to the ledger */

/* The ledger's answer for an order that took this unit. */
static enum outcome redis_look(const struct model_state *state, int index, int unit) {
    const struct model_sold *sold = &state->sold[index];

    return !sold->is_there      ? OUTCOME_CONFLICT
           : sold->unit == unit ? OUTCOME_SOLD
                                : OUTCOME_REPEATED;
}

/* Bring the unit, once: to the ledger; or back to the sale, if its order already has another unit.
 */
static enum outcome redis_bring(struct model_world *world, int index, struct model_unit unit) {
    struct model_state *state = &world->state;
    struct model_row *row = &state->rows[unit.shard];
    const struct model_write written = {.unit = unit.unit,
                                        .available = unit.unit - row->first_unit};

    for (size_t i = 0; i < state->brought_count; i++)
        if (state->brought[i].unit == unit.unit)
            return redis_look(state, index, unit.unit);
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
    return redis_look(state, index, unit.unit);
}

static void forget_note(struct model_world *world, int index, struct model_unit unit,
                        enum outcome outcome) {
    const int part = unit.shard % model_parts(&world->setup);

    if (outcome != OUTCOME_UNKNOWN)
        segments_forget(&world->keys.segments[part], world->sales[index].ledger,
                        outcome == OUTCOME_SOLD);
}

enum outcome model_write_pending(struct sale *base, const struct stock_row *seen, bool is_awaited) {
    struct model_sale *sale = model_of(base);
    struct model_state *state = &sale->world->state;
    const int64_t last = seen->first_unit + seen->available - 1;
    const struct model_unit unit = {(int16_t)seen->shard, (int16_t)last};
    enum outcome outcome = OUTCOME_SOLD;

    assert(!model_has_no_row(sale, seen->shard));
    if (is_awaited) {
        if (!model_arrives(sale, STEP_SELLS))
            return OUTCOME_UNKNOWN;
        outcome = redis_bring(sale->world, sale->ledger, unit);
        forget_note(sale->world, sale->index, unit, outcome);
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

/* The order's pending note, of the first part that has one; or else that of the last part. */
static const struct segment_note *note_of(const struct model_world *world, int index) {
    const int ledger = world->sales[index].ledger, last = model_parts(&world->setup) - 1;
    int part = 0;

    while (part < last && !world->keys.segments[part].notes[ledger].is_pending)
        part++;
    return &world->keys.segments[part].notes[ledger];
}

/* The order with a sale that the instance can bring: a queued sale of its own, or else the oldest
 * note that was left behind. Such a note has no queued sale and no running order, and is OLD_MS old
 * at `at_ms`. -1: none. Without faults no note is left behind. */
static int find_pending(const struct model_world *world, int instance, int64_t *at_ms) {
    const struct model_state *state = &world->state;
    int found = -1;

    *at_ms = MODEL_NEVER;
    for (int i = 0; i <= world->setup.orders; i++) {
        const bool is_queued = state->queued[i].unit != 0;

        if (is_queued && state->orders[i].instance == instance) {
            *at_ms = 0;
            return i;
        }
        if (world->setup.faults != 0 && !is_queued && state->orders[i].state >= ORDER_ENDED &&
            note_of(world, i)->is_pending && note_of(world, i)->noted_ms + OLD_MS < *at_ms) {
            *at_ms = note_of(world, i)->noted_ms + OLD_MS;
            found = i;
        }
    }
    return found;
}

int64_t model_brings_at(const struct model_world *world, int instance) {
    int64_t at_ms;

    (void)find_pending(world, instance, &at_ms);
    return at_ms;
}

void model_bring(struct model_world *world, int instance) {
    int64_t at_ms;
    const int index = find_pending(world, instance, &at_ms);
    const struct segment_note *note;
    struct model_unit unit;
    enum outcome outcome;

    assert(index >= 0); /* the caller asked model_brings_at() */
    note = note_of(world, index);
    unit = world->state.queued[index];
    if (unit.unit == 0)
        unit = (struct model_unit){(int16_t)note->shard, (int16_t)(note->first + note->before - 1)};
    memset(&world->state.queued[index], 0, sizeof unit);
    outcome = redis_bring(world, world->sales[index].ledger, unit);
    forget_note(world, index, unit, outcome);
    model_say(&world->sales[index], "gets unit %d written to the ledger by %s: %s", unit.unit,
              world->instances[instance], outcome_text(outcome));
}

void model_drop_queue(struct model_world *world, int instance) {
    for (int i = 0; i <= world->setup.orders; i++)
        if (world->state.orders[i].instance == instance)
            memset(&world->state.queued[i], 0, sizeof world->state.queued[i]);
}
