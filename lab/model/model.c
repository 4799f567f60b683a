/* The world: its beginning, its choices, its clock. */
#include "model_internal.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- Steps: how an order waits for its turn, and what remains of a step. */

uint64_t model_mix(uint64_t hash, const void *bytes, size_t size) {
    const unsigned char *at = bytes;

    assert(at != NULL || size == 0);
    for (; size > 0; at += 8) {
        const size_t take = size < 8 ? size : 8;
        uint64_t word = 0;

        memcpy(&word, at, take);
        size -= take;
        hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
        hash *= UINT64_C(0xbf58476d1ce4e5b9);
        hash ^= hash >> 32;
    }
    return hash;
}

/* What can fail there: then to begin is a step of its own, so that it can. */
static bool may_fail_first(const struct model_world *world, int index, enum order_step step) {
    const unsigned faults = world->setup.faults;
    const bool loses = (faults >> FAULT_LOST_REPLY & 1U) != 0;

    switch (step) {
    case STEP_LOOKS:
    case STEP_UNLOCKS:
        return false;
    case STEP_LOCKS:
        return loses && model_locks[world->state.orders[index].lock.kind].place == PLACE_SERVER;
    case STEP_WRITES:
    case STEP_SELLS:
        return loses || (faults >> FAULT_CRASH & 1U) != 0;
    case STEP_KEYS:
        return loses;
    }
    return false;
}

void model_step(struct model_sale *sale, enum order_step step) {
    struct model_world *world = sale->world;
    struct model_order *order = order_of(sale);
    const bool is_first = order->state == ORDER_TO_COME;

    if (world->prepared.is_now)
        return;
    if (order->state == ORDER_KILLED)
        model_bury(world, sale->index);
    /* Its first step is what made it begin. */
    if (is_first)
        order->state = ORDER_RUNS;
    if (!is_first ||
        (sale->index < world->setup.orders && may_fail_first(world, sale->index, step))) {
        order->step = (uint8_t)step;
        world->turn(world, sale->index);
        order->step = STEP_LOOKS;
    }
}

void model_turn(struct model_sale *sale) {
    model_step(sale, STEP_LOOKS);
}

void model_wait(struct model_sale *sale, enum order_wait waits, int64_t due_ms) {
    struct model_order *order = order_of(sale);

    if (order->state == ORDER_TO_COME)
        order->state = ORDER_RUNS;
    order->waits = (uint8_t)waits;
    order->due_ms = due_ms;
    model_step(sale, waits == WAITS_LOCK ? STEP_LOCKS : STEP_LOOKS);
    if (waits == WAITS_CHANGE)
        order->has_changed = 0;
    order->waits = WAITS_NOT;
    order->due_ms = 0;
}

/* Whoever is to try again has seen what it did itself. */
void model_changed(struct model_world *world) {
    for (int i = 0; i <= world->setup.orders; i++)
        if (world->state.orders[i].state == ORDER_RUNS && i != world->mover)
            world->state.orders[i].has_changed = 1;
}

enum outcome model_answer(struct model_sale *sale, enum outcome outcome, const void *more,
                          size_t size) {
    struct model_order *order = order_of(sale);
    const uint64_t said = (uint64_t)outcome;

    order->past = model_mix(model_mix(order->past + 1, &said, sizeof said), more, size);
    return outcome;
}

enum outcome model_answer_row(struct model_sale *sale, const struct stock_row *row) {
    const int64_t numbers[] = {row->shard, row->available, row->version, row->unit, row->fence};

    return model_answer(sale, OUTCOME_OK, numbers, sizeof numbers);
}

void model_say(struct model_sale *sale, const char *format, ...) {
    struct model_world *world = sale->world;
    char text[200];
    va_list args;

    if (world->say == NULL || world->prepared.is_now)
        return;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    world->say(world, sale->index, text);
}

/* ---- The clock: it jumps, and what ends by then ends. */

/* When nobody can go on, a transaction that stands idle ends all the same. */
static int64_t next_idle_ms(const struct model_world *world) {
    int64_t next_ms = INT64_MAX;

    for (int i = 0; i <= world->setup.orders; i++) {
        const struct model_txn *txn = &world->state.txns[i];

        if (txn->idle_ms > world->state.now_ms && txn->idle_ms < next_ms)
            next_ms = txn->idle_ms;
    }
    return next_ms;
}

/* What ends is nobody's doing: who moved last is woken by it, too. */
void model_let_pass(struct model_world *world, int64_t now_ms) {
    const int mover = world->mover;

    world->mover = -1;
    world->state.now_ms = now_ms;
    model_abort_idle(world);
    model_expire_grants(world);
    model_expire_keys(world);
    model_end_flights(world);
    world->mover = mover;
}

static bool model_pass_time(struct model_world *world) {
    const int64_t expiry_ms = model_next_expiry_ms(world);
    int64_t next_ms = next_idle_ms(world);

    if (expiry_ms < next_ms)
        next_ms = expiry_ms;
    for (int i = 0; i <= world->setup.orders; i++) {
        const struct model_order *order = &world->state.orders[i];

        if (order->state == ORDER_RUNS && order->due_ms > world->state.now_ms &&
            order->due_ms < next_ms)
            next_ms = order->due_ms;
    }
    if (next_ms == INT64_MAX)
        return false;
    model_let_pass(world, next_ms);
    return true;
}

/* ---- What is left to chance in a live store, and is the same in every schedule here. */

/* By turns, as each instance of its own; "at random": by the order's own number. */
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

    (void)snprintf(token, TOKEN_TEXT, "%04x%036x", (unsigned)sale->index + 1, ++sale->tokens);
}

/* ---- Before the first sale. What is done then is remembered, as a world begins many times. */

static void model_prepare_world(struct model_world *world) {
    const int last = world->setup.orders;
    const struct model_order order = world->state.orders[last];
    const struct sale sale = world->sales[last].sale;

    world->prepared.is_now = true;
    (void)world->setup.strategy->prepare(&world->sales[last].sale);
    world->prepared.is_now = false;
    world->state.orders[last] = order;
    world->state.keyed = world->state.lag = 0;
    world->sales[last].sale = sale;
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

/* ---- what is not in a file of its own */

static enum outcome model_pause_before_retry(struct sale *base) {
    struct model_sale *sale = model_of(base);
    const int64_t due_ms = order_of(sale)->begun_ms + base->options->wait_ms;

    model_wait(sale, WAITS_CHANGE, due_ms);
    if (sale->world->state.now_ms < due_ms) {
        model_say(sale, "tries again");
        return model_answer(sale, OUTCOME_OK, NULL, 0);
    }
    model_say(sale, "gives up");
    return model_answer(sale, OUTCOME_BUSY, NULL, 0);
}

static void model_work(struct sale *base) {
    struct model_sale *sale = model_of(base);
    struct model_order *order = order_of(sale);

    if (base->options->work_ms == 0)
        return;
    order->wake_ms = sale->world->state.now_ms + base->options->work_ms;
    model_wait(sale, WAITS_SLEEP, 0);
    order->wake_ms = 0;
    (void)model_answer(sale, OUTCOME_OK, NULL, 0);
    model_say(sale, "has worked");
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
                                     .pass = model_pass};

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
        row->holder = -1;
        next += row->initial;
    }
}

void model_begin(struct model_world *world) {
    const struct model_setup *setup = &world->setup;

    assert(setup->orders >= 1 && setup->orders <= MODEL_ORDERS);
    assert(setup->instances >= 1 && setup->instances <= MODEL_INSTANCES && setup->stock >= 0);
    memset(&world->state, 0, sizeof world->state);
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
        if (sale->order_id[0] == '\0') /* not again for each schedule */
            (void)snprintf(sale->order_id, sizeof sale->order_id, "00000000-0000-7000-8000-%012d",
                           i + 1);
        sale->sale = (struct sale){.ops = &ops,
                                   .options = &world->setup.options,
                                   .order_id = sale->order_id,
                                   .instance = world->instances[i % setup->instances]};
    }
    for (int i = 0; i < setup->instances; i++) {
        if (world->instances[i][0] == '\0')
            (void)snprintf(world->instances[i], sizeof world->instances[i], "inventory-%d", i + 1);
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
    if (order->state == ORDER_KILLED)
        model_bury(world, index);
    else
        end_order(world, index, outcome);
}

/* ---- choices */

static bool model_is_over(const struct model_world *world, const struct model_order *order) {
    return order->due_ms <= world->state.now_ms;
}

bool model_is_ready(const struct model_world *world, int index) {
    const struct model_order *order = &world->state.orders[index];

    if (order->state != ORDER_RUNS && order->state != ORDER_TO_COME)
        return false;
    if ((world->state.paused >> order->instance & 1U) != 0)
        return false;
    switch ((enum order_wait)order->waits) {
    case WAITS_NOT:
    case WAITS_SLEEP:
        return true;
    case WAITS_BATCH:
        return model_is_over(world, order);
    case WAITS_CHANGE:
        return order->has_changed != 0 || model_is_over(world, order);
    case WAITS_LOCK:
        return model_is_over(world, order) || model_is_open(world, index);
    case WAITS_ROW:
        return model_is_over(world, order) ||
               !model_is_held_by_other(world, index, order->wait_shard);
    }
    return false;
}

/* What happens beside the orders. A unit comes back only while there is one left to see it. */
static size_t model_add_others(struct model_world *world, struct model_move *moves, size_t runs) {
    size_t count = runs;

    for (int i = 0; i < world->setup.instances; i++)
        if (model_may_bring(world, i, runs == 0))
            moves[count++] = (struct model_move){MOVE_BRING, (uint8_t)i};
    for (int i = 0; i < world->setup.orders && runs > 0; i++)
        if (model_may_return(world, i))
            moves[count++] = (struct model_move){MOVE_RETURN, (uint8_t)i};
    return count;
}

/* Customers who have not come yet are alike, but for the rows that they are dealt at random: of
 * those of one instance the first comes first. */
static bool is_preceded(const struct model_world *world, int index) {
    const struct model_order *orders = world->state.orders;

    if (world->setup.options.deal == DEAL_RANDOM)
        return false;
    for (int i = 0; i < index && orders[index].state == ORDER_TO_COME; i++)
        if (orders[i].state == ORDER_TO_COME && orders[i].instance == orders[index].instance)
            return true;
    return false;
}

static size_t add_runs(struct model_world *world, struct model_move *moves) {
    const int last = world->setup.orders;
    size_t count = 0;

    for (int i = 0; i < last; i++)
        if (model_is_ready(world, i) && !is_preceded(world, i))
            moves[count++] = (struct model_move){MOVE_RUN, (uint8_t)i};
    if (world->state.orders[last].state == ORDER_RUNS && model_is_ready(world, last))
        moves[count++] = (struct model_move){MOVE_RUN, (uint8_t)last};
    return count;
}

/* Of those who need not wait any more at the next moment at which somebody need not. */
static size_t add_later_runs(struct model_world *world, struct model_move *moves) {
    const struct model_state now = world->state;
    const bool has_keys = model_next_key_ms(world) < INT64_MAX;
    size_t count = 0;

    if (has_keys)
        world->saved = world->keys;
    while (count == 0 && model_pass_time(world))
        count = add_runs(world, moves);
    world->state = now;
    if (has_keys)
        world->keys = world->saved;
    return count;
}

static bool have_ended(const struct model_world *world) {
    for (int i = 0; i < world->setup.orders; i++)
        if (world->state.orders[i].state < ORDER_ENDED)
            return false;
    return true;
}

size_t model_moves(struct model_world *world, struct model_move moves[MODEL_MOVES]) {
    const int last = world->setup.orders;
    const bool is_last = have_ended(world);
    const size_t ready = add_runs(world, moves);
    size_t count = model_add_others(world, moves, ready > 0 ? ready : add_later_runs(world, moves));

    /* When all has ended, one more customer comes, alone. */
    if (count == 0 && is_last && world->state.paused == 0 &&
        world->state.orders[last].state == ORDER_TO_COME)
        moves[count++] = (struct model_move){MOVE_RUN, (uint8_t)last};
    count = model_add_faults(world, moves, count, is_last);
    assert(count <= MODEL_MOVES);
    return count;
}

/* Who sleeps or waits is woken when it may go on, and who comes last when all that ends by itself
 * has ended. */
static void model_wake(struct model_world *world, int index) {
    const struct model_order *order = &world->state.orders[index];

    if (index == world->setup.orders && order->state == ORDER_TO_COME)
        model_end_faults(world);
    if (order->wake_ms > world->state.now_ms)
        model_let_pass(world, order->wake_ms);
    while (!model_is_ready(world, index) && model_pass_time(world))
        ;
}

bool model_make(struct model_world *world, struct model_move move) {
    world->is_lost = move.kind == MOVE_LOSE;
    world->is_dropped = move.kind == MOVE_DROP;
    world->mover = -1;
    switch ((enum model_move_kind)move.kind) {
    case MOVE_LOSE:
    case MOVE_DROP:
        world->state.faults_made |= 1U << FAULT_LOST_REPLY;
        model_wake(world, move.who);
        world->mover = move.who;
        return true;
    case MOVE_RUN:
        model_wake(world, move.who);
        world->mover = move.who;
        return true;
    case MOVE_BRING:
        model_bring(world, move.who);
        return false;
    case MOVE_RETURN:
        model_return(world, move.who);
        return false;
    case MOVE_LAND:
        return model_land(world, move.who);
    case MOVE_PAUSE:
    case MOVE_RESUME:
    case MOVE_CRASH:
    case MOVE_EXPIRE:
    case MOVE_FAILOVER:
        model_make_fault(world, move);
        return false;
    }
    return false;
}

bool model_is_gone(const struct model_world *world, int index) {
    return world->state.orders[index].state == ORDER_KILLED &&
           (world->state.flying >> index & 1U) == 0;
}

static_assert(sizeof(struct model_order) == 80 && sizeof(struct model_sold) == 16 &&
                  offsetof(struct model_state, rows) == 32,
              "no padding, which would be hashed");

static uint64_t hash_orders(const struct model_world *world, uint64_t hash) {
    for (int i = 0; i <= world->setup.orders; i++) {
        struct model_order order = world->state.orders[i];
        const int64_t begun_ms = order.begun_ms + world->setup.options.wait_ms;

        order.begun_ms = order.state == ORDER_RUNS ? model_from_now(world, begun_ms) : 0;
        order.due_ms = model_from_now(world, order.due_ms);
        order.wake_ms = model_from_now(world, order.wake_ms);
        order.lock.ends_ms = model_from_now(world, order.lock.ends_ms);
        hash = model_mix(hash, &order, sizeof order);
    }
    return hash;
}

uint64_t model_hash(const struct model_world *world) {
    const struct model_state *state = &world->state;
    const size_t orders = (size_t)world->setup.orders + 1;
    uint64_t hash =
        model_mix(1, &state->answered, offsetof(struct model_state, rows) - sizeof state->now_ms);

    hash = model_mix(hash, state->rows, sizeof *state->rows * (size_t)world->setup.options.shards);
    hash = model_mix(hash, state->sold, sizeof *state->sold * orders);
    hash = hash_orders(world, hash);
    hash = model_hash_locks(world, hash);
    hash = model_hash_batches(world, hash);
    hash = model_hash_transactions(world, hash);
    return model_hash_keys(world, model_hash_units(world, hash));
}
