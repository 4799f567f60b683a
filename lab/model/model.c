/* The world: how it begins, its sales, its hash, and the names of its faults. */
#include "model.h"

#include "servers.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* ---- The choices that a live store makes by chance. Here they are the same in every schedule. */

/* Deal evenly: each instance deals its rows in turn. Deal at random: by the order's number. */
static int model_deal(struct sale *base) {
    struct model_sale *sale = model_of(base);
    uint8_t *dealt = &sale->world->state.dealt[order_of(sale)->instance];
    const int shards = base->options->shards;
    int shard = sale->index % shards;

    if (base->options->deal == DEAL_EVEN) {
        shard = *dealt;
        *dealt = (uint8_t)((shard + 1) % shards);
    }
    (void)model_answer(sale, OUTCOME_OK, &shard, sizeof shard);
    return shard;
}

static void model_random_token(struct sale *base, char token[TOKEN_TEXT]) {
    struct model_sale *sale = model_of(base);

    (void)snprintf(token, TOKEN_TEXT, MODEL_TOKEN, (unsigned)sale->index + 1, ++sale->tokens);
}

/* ---- operations without a file of their own */

/* A live sale tries again and again. Mostly this changes nothing until something else does, so the
 * model lets it wait for that. But an attempt that gives a key more time comes before its end. */
static enum outcome model_pause_before_retry(struct sale *base) {
    struct model_sale *sale = model_of(base);
    const int64_t due_ms = order_of(sale)->begun_ms + base->options->wait_ms;
    const int64_t before_ms = sale->prolongs ? model_next_key_ms(sale->world) - 1 : due_ms;
    const bool is_soon = before_ms > sale->world->state.now_ms && before_ms < due_ms;

    sale->prolongs = false;
    model_wait(sale, WAITS_CHANGE, is_soon ? before_ms : due_ms);
    if (sale->world->state.now_ms < due_ms) {
        model_say(sale, "tries again");
        return model_answer(sale, OUTCOME_OK, NULL, 0);
    }
    model_say(sale, "gives up");
    return model_answer(sale, OUTCOME_BUSY, NULL, 0);
}

static bool model_work(struct sale *base, int64_t most_ms) {
    struct model_sale *sale = model_of(base);
    struct model_order *order = order_of(sale);
    const int64_t left_ms = base->options->work_ms - sale->worked_ms;
    const bool is_part = most_ms < left_ms, is_first = sale->worked_ms == 0;

    if (base->options->work_ms == 0)
        return false;
    if (!is_part)
        sale->world->state.worked |= (uint8_t)(1U << sale->index);
    order->wake_ms = sale->world->state.now_ms + (is_part ? most_ms : left_ms);
    if (is_first && sale->index == 0)
        order->wake_ms += sale->world->setup.stall_ms;
    sale->worked_ms = is_part ? sale->worked_ms + most_ms : 0;
    model_wait(sale, WAITS_SLEEP, 0);
    order->wake_ms = 0;
    (void)model_answer(sale, OUTCOME_OK, NULL, 0);
    model_say(sale, is_part ? "has done a part of its work" : "has worked");
    return is_part;
}

static void model_trace(struct sale *base, const char *text) {
    model_say(model_of(base), "says: %.*s", TRACE_TEXT - 1, text);
}

static enum outcome model_pass(struct sale *sale, enum fail_point point) {
    (void)sale, (void)point;
    return OUTCOME_OK;
}

static const struct store_ops ops = {.read_stock = model_read_stock,
                                     .check_write = model_check_write,
                                     .write_stock = model_write_stock,
                                     .take_stock = model_take_stock,
                                     .take_in_batch = model_take_in_batch,
                                     .take_returned = model_take_returned,
                                     .open_data_set = model_open_data_set,
                                     .hand_out = model_hand_out,
                                     .load_row = model_load_row,
                                     .take_loaded = model_take_loaded,
                                     .write_pending = model_write_pending,
                                     .find_sale = model_find_sale,
                                     .read_for_update = model_read_for_update,
                                     .begin = model_begin_transaction,
                                     .commit = model_commit,
                                     .rollback = model_rollback,
                                     .lock = model_lock,
                                     .unlock = model_unlock,
                                     .kv = model_kv,
                                     .deal = model_deal,
                                     .saw_empty = model_saw_empty,
                                     .random_token = model_random_token,
                                     .pause = model_pause_before_retry,
                                     .work = model_work,
                                     .trace = model_trace,
                                     .pass = model_pass};

/* ---- Before the first sale. A world begins many times, so it keeps the result of the strategy's
 * preparation. */

static void model_prepare_world(struct model_world *world) {
    const int last = world->setup.orders;
    const struct model_order order = world->state.orders[last];
    const struct sale sale = world->sales[last].sale;

    world->prepared.is_now = true;
    for (int i = model_parts(&world->setup); i-- > 0;) {
        world->sales[last].part = i;
        (void)world->setup.strategy->prepare(&world->sales[last].sale);
    }
    world->sales[last].part = last % model_parts(&world->setup);
    world->prepared.is_now = false;
    world->state.orders[last] = order;
    world->state.keyed = world->state.lag = 0;
    world->sales[last].sale = sale;
    world->sales[last].message[0] = '\0';
}

static void model_prepare(struct model_world *world) {
    unsigned *tokens = &world->sales[world->setup.orders].tokens;

    if (world->prepared.is_known &&
        memcmp(&world->prepared.setup, &world->setup, sizeof world->setup) == 0) {
        world->state = world->prepared.state;
        world->keys = world->prepared.keys;
        *tokens = world->prepared.tokens;
        return;
    }
    model_prepare_world(world);
    world->prepared.is_known = true;
    memcpy(&world->prepared.setup, &world->setup, sizeof world->setup);
    world->prepared.state = world->state;
    world->prepared.keys = world->keys;
    world->prepared.tokens = *tokens;
}

/* ---- the beginning */

static void lay_out_rows(struct model_world *world) {
    const int shards = world->setup.options.shards;
    int next = 1;

    assert(shards >= 1 && shards <= MODEL_SHARDS);
    for (int i = 0; i < shards; i++) {
        struct model_row *row = &world->state.rows[i];

        row->initial = row->available =
            world->setup.stock / shards + (i < world->setup.stock % shards);
        row->first_unit = next;
        row->version = world->setup.version;
        row->fence = world->state.fences[i] = world->setup.fence;
        row->holder = -1;
        next += row->initial;
    }
}

void model_begin(struct model_world *world) {
    const struct model_setup *setup = &world->setup;

    assert(setup->orders >= 1 && setup->orders <= MODEL_ORDERS);
    assert(setup->instances >= 1 && setup->instances <= MODEL_INSTANCES && setup->stock >= 0);
    assert(setup->others >= 0 && setup->others <= MODEL_OTHERS);
    memset(&world->state, 0, model_state_size(setup));
    world->is_lost = world->is_dropped = false;
    world->mover = -1;
    memset(&world->keys, 0, sizeof world->keys);
    lay_out_rows(world);
    for (int i = 0; i <= setup->orders; i++) {
        struct model_sale *sale = &world->sales[i];

        world->state.orders[i].instance = (uint8_t)(i % setup->instances);
        sale->world = world;
        sale->index = sale->ledger = i;
        sale->tokens = 0;
        sale->worked_ms = 0;
        sale->prolongs = false;
        sale->part = i % model_parts(setup);
        if (sale->order_id[0] == '\0') /* once, not for each schedule */
            (void)snprintf(sale->order_id, sizeof sale->order_id, MODEL_ORDER_ID, i + 1);
        sale->message[0] = '\0';
        sale->sale = (struct sale){.ops = &ops,
                                   .options = &world->setup.options,
                                   .order_id = sale->order_id,
                                   .instance = world->instances[i % setup->instances],
                                   .message = sale->message};
    }
    for (int i = 0; i < setup->instances; i++) {
        if (world->instances[i][0] == '\0')
            (void)snprintf(world->instances[i], sizeof world->instances[i], MODEL_INSTANCE, i + 1);
        world->state.dealt[i] = (uint8_t)(i % setup->options.shards);
    }
    if (setup->strategy != NULL && setup->strategy->prepare != NULL)
        model_prepare(world);
}

static void end_order(struct model_world *world, int index, enum outcome outcome) {
    struct model_order *order = &world->state.orders[index];
    const struct sale *sale = &world->sales[index].sale;

    order->state = ORDER_ENDED;
    order->has_changed = 0;
    order->outcome = (uint8_t)outcome;
    order->past = 0;
    if (outcome == OUTCOME_SOLD) {
        if (world->setup.options.work_ms > 0 && (world->state.worked >> index & 1U) == 0)
            world->state.skipped |= (uint8_t)(1U << index);
        order->shard = sale->shard;
        order->unit = (int32_t)sale->unit;
        order->remaining = (int32_t)sale->remaining;
        order->fence = (int32_t)sale->fence;
    }
    world->state.answered |= (uint8_t)(1U << index);
}

void model_sell(struct model_world *world, int index) {
    struct model_order *order = &world->state.orders[index];
    enum outcome outcome;

    assert(order->state == ORDER_TO_COME);
    order->begun_ms = world->state.now_ms;
    order->came_after = world->state.answered;
    outcome = strategy_sell(world->setup.strategy, &world->sales[index].sale);
    if (order->state != ORDER_KILLED)
        end_order(world, index, outcome);
}

/* ---- the hash */

/* A moment for the hash, counted from now. Worlds that differ only in their clocks have equal
 * futures. All moments in the past are alike. 0 and MODEL_NEVER are not moments. */
static int64_t from_now(const struct model_world *world, int64_t ms) {
    const int64_t now_ms = world->state.now_ms;

    return ms == 0 || ms == MODEL_NEVER ? ms : ms <= now_ms ? 1 : ms - now_ms + 1;
}

static_assert(sizeof(struct model_order) == 80 && sizeof(struct model_sold) == 16 &&
                  offsetof(struct model_state, rows) == 32,
              "padding would be hashed");

static uint64_t hash_orders(const struct model_world *world, uint64_t hash) {
    for (int i = 0; i <= world->setup.orders; i++) {
        struct model_order order = world->state.orders[i];
        const int64_t begun_ms = order.begun_ms + world->setup.options.wait_ms;

        order.begun_ms = order.state == ORDER_RUNS ? from_now(world, begun_ms) : 0;
        order.due_ms = from_now(world, order.due_ms);
        order.wake_ms = from_now(world, order.wake_ms);
        order.lock.ends_ms = from_now(world, order.lock.ends_ms);
        hash = model_mix(hash, &order, sizeof order);
    }
    return hash;
}

static uint64_t hash_locks(const struct model_world *world, uint64_t hash) {
    const struct model_state *state = &world->state;

    static_assert(sizeof(struct store_lock) == 24 && sizeof(struct model_grant) == 16 &&
                      sizeof(struct model_flight) == 40,
                  "padding would be hashed");
    for (int i = 0; i < MODEL_GRANTS; i++) {
        struct model_grant grant = state->grants[i];

        if (grant.owner == 0)
            continue;
        grant.ends_ms = from_now(world, grant.ends_ms);
        hash = model_mix(hash + (uint64_t)i + 1, &grant, sizeof grant);
    }
    for (int i = 0; i < world->setup.options.shards; i++)
        if (state->fences[i] != 0)
            hash = model_mix(hash + (uint64_t)i + 1, &state->fences[i], sizeof state->fences[i]);
    hash = model_mix(hash, state->stamped, sizeof state->stamped + 4);
    if (state->flight.owner != 0) {
        struct model_flight flight = state->flight;

        flight.until_ms = from_now(world, flight.until_ms);
        hash = model_mix(hash, &flight, sizeof flight);
    }
    return hash;
}

static uint64_t hash_batches(const struct model_world *world, uint64_t hash) {
    static_assert(sizeof(struct model_batch) == 12, "padding would be hashed");
    for (int i = 0; i <= world->setup.orders; i++)
        if (world->state.batches[i].sent != 0)
            hash = model_mix(hash + (uint64_t)i + 1, &world->state.batches[i],
                             sizeof *world->state.batches);
    return hash;
}

static uint64_t hash_transactions(const struct model_world *world, uint64_t hash) {
    const struct model_state *state = &world->state;

    static_assert(sizeof(struct model_txn) == 32, "padding would be hashed");
    for (int i = 0; i <= world->setup.orders; i++) {
        struct model_txn txn = state->txns[i];

        if (txn.state == TXN_NONE)
            continue;
        txn.idle_ms = from_now(world, txn.idle_ms);
        hash = model_mix(hash + (uint64_t)i + 1, &txn, sizeof txn);
        if (is_serial(&state->txns[i]))
            hash = model_mix(hash, state->seen[i],
                             sizeof **state->seen * (size_t)world->setup.options.shards);
    }
    return hash;
}

static uint64_t hash_carts(const struct model_world *world, uint64_t hash) {
    static_assert(sizeof(struct model_second) == 32, "padding would be hashed");
    return world->setup.options.is_cart
               ? model_mix(hash, world->state.seconds, sizeof world->state.seconds)
               : hash;
}

static uint64_t hash_server(const struct model_world *world, const struct keys *keys,
                            uint64_t hash) {
    const int64_t now_ms = world->state.now_ms;
    const uint64_t sum = keys_hash(keys, now_ms);

    hash = model_mix(hash, &sum, sizeof sum);
    for (int i = 0; i < model_parts(&world->setup); i++) {
        if (keys->segments[i].token[0] != '\0')
            hash = model_mix(hash, &keys->segments[i], sizeof *keys->segments);
        if (segments_are_pending(&keys->segments[i]))
            hash = model_mix(hash, &now_ms, sizeof now_ms);
    }
    return hash;
}

static uint64_t hash_keys(const struct model_world *world, uint64_t hash) {
    hash = hash_server(world, &world->keys, hash);
    for (int part = 0; part < KEYS_PARTS && model_may_happen(world, FAULT_FAILOVER); part++)
        for (int i = 0; i < model_lag(&world->state, part); i++)
            hash = hash_server(world, &world->before[part][i], hash);
    return hash;
}

static uint64_t hash_units(const struct model_world *world, uint64_t hash) {
    const struct model_state *state = &world->state;

    hash = model_mix(hash, state->queued, sizeof state->queued);
    hash = model_mix(hash, state->returned, sizeof *state->returned * state->returned_count);
    hash = model_mix(hash, state->places, sizeof *state->places * state->place_count);
    hash = model_mix(hash, state->bought, sizeof *state->bought * state->bought_count);
    return model_mix(hash, state->brought, sizeof *state->brought * state->brought_count);
}

uint64_t model_hash(const struct model_world *world) {
    const struct model_state *state = &world->state;
    const size_t orders = (size_t)world->setup.orders + 1;
    uint64_t hash =
        model_mix(1, &state->answered, offsetof(struct model_state, rows) - sizeof state->now_ms);

    hash = model_mix(hash, state->rows, sizeof *state->rows * (size_t)world->setup.options.shards);
    hash = model_mix(hash, state->sold, sizeof *state->sold * orders);
    hash = hash_orders(world, hash);
    hash = hash_locks(world, hash);
    hash = hash_batches(world, hash);
    hash = hash_carts(world, hash_transactions(world, hash));
    return hash_keys(world, hash_units(world, hash));
}

/* ---- the faults' names */

int model_faults_read(const char *text, unsigned *faults) {
    *faults = 0;
    if (strcmp(text, "none") == 0)
        return 0;
    while (*text != '\0') {
        const size_t length = strcspn(text, ",");
        int fault = 0;

        while (fault < FAULT_COUNT &&
               (strlen(sale_fault_name((enum sale_fault)fault)) != length ||
                strncmp(sale_fault_name((enum sale_fault)fault), text, length) != 0))
            fault++;
        if (fault == FAULT_COUNT)
            return -1;
        *faults |= 1U << fault;
        text += length + (text[length] == ',');
    }
    return 0;
}

char *model_faults_write(unsigned faults, const char *between, char text[MODEL_FAULTS_TEXT]) {
    size_t used = 0;

    text[0] = '\0';
    for (int i = 0; i < FAULT_COUNT; i++)
        if ((faults >> i & 1U) != 0)
            used += (size_t)snprintf(text + used, MODEL_FAULTS_TEXT - used, "%s%s",
                                     used > 0 ? between : "", sale_fault_name((enum sale_fault)i));
    assert(used < MODEL_FAULTS_TEXT);
    return text;
}
