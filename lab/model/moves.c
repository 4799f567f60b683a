/* The possible moves and their effects: the clock, the orders' steps, and the faults. Each kind of
 * fault is offered once in a schedule, and only where it can change the schedule's end. */
#include "model.h"

#include "servers.h"

#include <assert.h>
#include <string.h>

/* ---- Requests that may arrive later or never: a write with a lost reply, and the last step of a
 * killed order. The killed order's own fiber makes that step, and then goes no further. */

static bool is_about_to_commit(const struct model_txn *txn) {
    return is_open(txn) && txn->wrote != 0;
}

/* A write does not land while it would wait: for the row, or for the commit of its own order. */
static bool may_land(const struct model_state *state, const struct model_flight *flight) {
    for (uint32_t rest = flight->batch; rest != 0; rest >>= 4)
        if (is_about_to_commit(&state->txns[(rest & 15) - 1]))
            return false;
    return state->rows[flight->shard].holder < 0 &&
           !is_about_to_commit(&state->txns[flight->owner - 1]);
}

static size_t add_flights(const struct model_world *world, struct model_move *moves, size_t count) {
    const struct model_state *state = &world->state;
    const struct model_flight *flight = &state->flight;

    if (flight->owner != 0 && may_land(state, flight))
        moves[count++] = (struct model_move){MOVE_LAND, (uint8_t)(flight->owner - 1)};
    for (int i = 0; i < world->setup.orders; i++)
        if ((state->flying >> i & 1U) != 0)
            moves[count++] = (struct model_move){MOVE_LAND, (uint8_t)i};
    return count;
}

void model_bury(struct model_world *world, int index) {
    struct model_order *order = &world->state.orders[index];

    assert(order->state == ORDER_KILLED);
    model_abort(world, index);
    if (world->state.txns[index].state != TXN_COMMITTED)
        world->state.txns[index].state = TXN_NONE;
    order->waits = order->step = order->wait_shard = order->has_changed = 0;
    order->due_ms = order->wake_ms = 0;
    order->past = 0;
    order->outcome = 0;
    memset(&world->state.batches[index], 0, sizeof *world->state.batches);
    memset(&order->lock, 0, sizeof order->lock);
    world->state.keyed &= (uint8_t) ~(1U << index);
}

static bool land(struct model_world *world, int index) {
    struct model_state *state = &world->state;
    const struct model_flight flight = state->flight;

    if ((state->flying >> index & 1) != 0) {
        state->flying &= (uint8_t) ~(1U << index);
        return true;
    }
    memset(&state->flight, 0, sizeof state->flight);
    if (flight.batch != 0)
        model_land_batch(&world->sales[index], flight.shard, flight.batch);
    else
        model_land_write(&world->sales[index], &flight);
    return false;
}

static void end_flights(struct model_world *world) {
    struct model_state *state = &world->state;

    if (state->flight.owner != 0 && state->flight.until_ms <= state->now_ms)
        memset(&state->flight, 0, sizeof state->flight);
    for (int i = 0; i < world->setup.orders && state->flying != 0; i++)
        if ((state->flying >> i & 1) != 0 && state->orders[i].due_ms <= state->now_ms) {
            state->flying &= (uint8_t) ~(1U << i);
            model_bury(world, i);
        }
}

/* ---- The clock: it jumps, and everything that expires by then ends. */

/* The first expiry of a lock or a key. */
static int64_t next_expiry_ms(const struct model_world *world) {
    const int64_t key_ms = model_next_key_ms(world), grant_ms = model_next_grant_ms(world);

    return key_ms < grant_ms ? key_ms : grant_ms;
}

/* The first end of an idle transaction. It ends even if no order can go on. */
static int64_t next_idle_ms(const struct model_world *world) {
    int64_t next_ms = INT64_MAX;

    for (int i = 0; i <= world->setup.orders; i++) {
        const struct model_txn *txn = &world->state.txns[i];

        if (txn->idle_ms > world->state.now_ms && txn->idle_ms < next_ms)
            next_ms = txn->idle_ms;
    }
    return next_ms;
}

/* Let time pass until `now_ms`, and end everything that expires by then. No order made this change,
 * so it also wakes the order that moved last. */
static void moves_let_pass(struct model_world *world, int64_t now_ms) {
    const int mover = world->mover;

    world->mover = -1;
    world->state.now_ms = now_ms;
    model_abort_idle(world);
    model_expire_grants(world);
    model_expire_keys(world);
    end_flights(world);
    world->mover = mover;
}

static bool pass_time(struct model_world *world) {
    const int64_t expiry_ms = next_expiry_ms(world);
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
    moves_let_pass(world, next_ms);
    return true;
}

/* ---- faults */

static bool is_leased(const struct store_lock *lock) {
    const enum lock_end end = model_locks[lock->kind].end;

    return lock->times > 0 && (end == ENDS_WITH_LEASE || end == ENDS_AT_TTL);
}

static bool has_transaction(const struct model_world *world, int index) {
    return is_open(&world->state.txns[index]);
}

static bool has_keys(const struct model_world *world, int index) {
    return (world->state.keyed >> index & 1U) != 0;
}

/* ---- a pause */

/* A pause matters if something of the order expires meanwhile without its knowledge. An order that
 * is about to release its lock does not count: a late release changes nothing. */
static bool is_to_pause(const struct model_world *world, int index) {
    const struct model_order *order = &world->state.orders[index];

    return order->state == ORDER_RUNS &&
           ((is_leased(&order->lock) && order->step != STEP_UNLOCKS) ||
            has_transaction(world, index) || model_is_in_line(order) ||
            (has_keys(world, index) && model_next_key_ms(world) < MODEL_NEVER));
}

static bool is_in_server_line(const struct model_order *order) {
    return order->waits == WAITS_LOCK && model_locks[order->lock.kind].line == LINE_AT_LOCK &&
           model_locks[order->lock.kind].place == PLACE_SERVER;
}

/* Nobody renews the order's lease from now on. */
static void end_renewals(struct model_world *world, int index) {
    struct store_lock *lock = &world->state.orders[index].lock;
    struct model_grant *grant = model_find_grant(world, index);

    if (is_leased(lock) && grant != NULL && grant->ends_ms == 0) {
        grant->ends_ms = world->state.now_ms + world->setup.options.ttl_ms;
        lock->ends_ms = model_lease_ends_ms(world);
    }
}

/* The sooner one of two moments, if it is still to come. */
static int64_t sooner(const struct model_world *world, int64_t a, int64_t b) {
    return b > world->state.now_ms && b < a ? b : a;
}

/* The next moment at which something ends that the order holds or waits for; or MODEL_NEVER. */
static int64_t next_end_ms(struct model_world *world, int index) {
    const struct model_order *order = &world->state.orders[index];
    const struct model_grant *grant = model_find_grant(world, index);
    int64_t next_ms = MODEL_NEVER;

    if (is_leased(&order->lock) && grant != NULL)
        next_ms = sooner(world, next_ms, grant->ends_ms);
    if (has_transaction(world, index))
        next_ms = sooner(world, next_ms, world->state.txns[index].idle_ms);
    if (model_is_in_line(order))
        next_ms = sooner(world, next_ms, order->due_ms);
    if (has_keys(world, index))
        for (size_t i = 0; i < world->keys.key_count; i++)
            next_ms = sooner(world, next_ms, world->keys.keys[i].expires_ms);
    return next_ms;
}

static int64_t next_end_at(struct model_world *world, int instance) {
    int64_t next_ms = MODEL_NEVER;

    for (int i = 0; i < world->setup.orders; i++)
        if (world->state.orders[i].state == ORDER_RUNS &&
            world->state.orders[i].instance == instance)
            next_ms = sooner(world, next_ms, next_end_ms(world, i));
    return next_ms;
}

static void begin_pause(struct model_world *world, int instance) {
    for (int i = 0; i < world->setup.orders; i++) {
        const struct model_order *order = &world->state.orders[i];

        if (order->state != ORDER_RUNS || order->instance != instance)
            continue;
        end_renewals(world, i);
        if (is_in_server_line(order))
            model_leave_line(world, i);
    }
    world->state.paused |= (uint8_t)(1U << instance);
}

/* The instance stands still until the next of its leases, keys and transactions has ended. Another
 * such move lasts until the one after it. So a pause ends between any two of them. */
static void stand_still(struct model_world *world, int instance) {
    int64_t until_ms;

    if ((world->state.paused >> instance & 1U) == 0)
        begin_pause(world, instance);
    until_ms = next_end_at(world, instance);
    moves_let_pass(world, (until_ms < MODEL_NEVER ? until_ms : world->state.now_ms) + 1);
}

/* Its waiters join the servers' lines at the end, because the servers have dropped them. */
static void moves_resume(struct model_world *world, int instance) {
    for (int i = 0; i < world->setup.orders; i++) {
        struct model_order *order = &world->state.orders[i];

        if (order->instance == instance && is_in_server_line(order))
            order->lock.behind = model_line_before(world, i);
    }
    world->state.paused &= (uint8_t) ~(1U << instance);
}

/* ---- a crash */

/* True if the order has sent a step that may still arrive. */
static bool is_flying(const struct model_world *world, int index) {
    const struct model_order *order = &world->state.orders[index];

    if (world->state.flight.owner == index + 1 || order->waits != WAITS_NOT)
        return false;
    return order->step == STEP_SELLS ||
           (order->step == STEP_WRITES && !has_transaction(world, index));
}

static bool is_to_crash(const struct model_world *world, int index) {
    const struct model_order *order = &world->state.orders[index];

    return order->state == ORDER_RUNS && (order->lock.times > 0 || is_flying(world, index) ||
                                          has_transaction(world, index) || has_keys(world, index));
}

/* Its request arrives before its lease expires, because the live store gives it that deadline. */
static void kill_order(struct model_world *world, int index) {
    struct model_order *order = &world->state.orders[index];
    const bool is_in = has_transaction(world, index);
    const int64_t ttl_ms = world->setup.options.ttl_ms, most_ms = is_in ? CLOSES_MS : LANDS_MS;
    const int64_t lands_ms = is_leased(&order->lock) && ttl_ms < most_ms ? ttl_ms : most_ms;
    const bool flies = is_flying(world, index);

    if (order->waits == WAITS_LOCK)
        model_leave_line(world, index);
    order->state = ORDER_KILLED;
    if (!flies) {
        model_bury(world, index);
        return;
    }
    world->state.flying |= (uint8_t)(1U << index);
    world->state.batches[index].waiting = 0;
    order->due_ms = world->state.now_ms + lands_ms;
    if (is_in)
        world->state.txns[index].idle_ms = order->due_ms;
    memset(&order->lock, 0, sizeof order->lock);
}

static void end_grant(struct model_world *world, struct model_grant *grant) {
    switch (model_locks[grant->kind].end) {
    case ENDS_WITH_PROCESS:
        model_free_grant(world, grant);
        break;
    case ENDS_WITH_LEASE:
        if (grant->ends_ms == 0 && model_locks[grant->kind].is_free_on_crash)
            model_free_grant(world, grant);
        else if (grant->ends_ms == 0)
            grant->ends_ms = world->state.now_ms + world->setup.options.ttl_ms;
        break;
    case ENDS_WITH_NOTHING:
        grant->ends_ms = MODEL_NEVER;
        break;
    case ENDS_AT_TTL:
        break;
    }
}

static void crash(struct model_world *world, int instance) {
    struct model_state *state = &world->state;

    for (int i = 0; i < MODEL_GRANTS; i++) {
        struct model_grant *grant = &state->grants[i];

        if (grant->owner != 0 && state->orders[grant->owner - 1].instance == instance)
            end_grant(world, grant);
    }
    for (int i = 0; i < world->setup.orders; i++)
        if (state->orders[i].state == ORDER_RUNS && state->orders[i].instance == instance)
            kill_order(world, i);
    state->stamped[instance] = 0;
    state->seen_empty[instance] = 0;
    state->dealt[instance] = (uint8_t)(instance % world->setup.options.shards); /* the beginning */
    model_drop_queue(world, instance);
}

/* ---- a failover */

/* True if the replica that lags most does not have the grant. */
static bool is_to_forget(const struct model_world *world, const struct model_grant *grant) {
    return grant->owner != 0 && model_locks[grant->kind].is_at_redis &&
           !(grant->kind == LOCK_REDIS_WAIT && world->setup.options.replicas >= 2);
}

static bool is_to_fail_over(const struct model_world *world) {
    for (int i = 0; i < MODEL_GRANTS; i++)
        if (is_to_forget(world, &world->state.grants[i]))
            return true;
    return false;
}

/* A holder learns of the loss at its next renewal. Until then it trusts its lease. */
static void fail_over(struct model_world *world, int part, int writes) {
    model_lag_keys(world, part, writes);
    for (int i = 0; i < MODEL_GRANTS; i++) {
        struct model_grant *grant = &world->state.grants[i];
        struct model_order *order = &world->state.orders[grant->owner != 0 ? grant->owner - 1 : 0];

        if (!is_to_forget(world, grant))
            continue;
        if (order->lock.times > 0 && order->lock.kind == grant->kind && order->lock.ends_ms == 0)
            order->lock.ends_ms = model_lease_ends_ms(world);
        model_free_grant(world, grant);
    }
}

/* ---- the runs */

static bool is_over(const struct model_world *world, const struct model_order *order) {
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
        return is_over(world, order);
    case WAITS_CHANGE:
        return order->has_changed != 0 || is_over(world, order);
    case WAITS_LOCK:
        return is_over(world, order) || model_is_open(world, index);
    case WAITS_ROW:
        return is_over(world, order) || !model_is_held_by_other(world, index, order->wait_shard);
    }
    return false;
}

/* Customers that have not come yet are alike, unless they are dealt rows at random. So those of one
 * instance come in a fixed order. */
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

/* Add the runs of the orders that are ready at the next moment at which an order is. */
static size_t add_later_runs(struct model_world *world, struct model_move *moves) {
    const size_t size = model_state_size(&world->setup);
    const bool has_keys = model_next_key_ms(world) < INT64_MAX;
    struct model_state now;
    size_t count = 0;

    memcpy(&now, &world->state, size);
    if (has_keys)
        world->saved = world->keys;
    while (count == 0 && pass_time(world))
        count = add_runs(world, moves);
    memcpy(&world->state, &now, size);
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

/* ---- a lost reply */

static bool is_to_lose(const struct model_world *world, int index) {
    const struct model_order *order = &world->state.orders[index];

    if (order->state != ORDER_RUNS || !model_is_ready(world, index))
        return false;
    switch ((enum order_step)order->step) {
    case STEP_LOOKS:
    case STEP_UNLOCKS:
        return false;
    case STEP_LOCKS:
        return model_locks[order->lock.kind].place == PLACE_SERVER &&
               order->lock.kind != LOCK_PG_ADVISORY_RAW && model_is_open(world, index);
    case STEP_WRITES:
        return !has_transaction(world, index) && world->state.flight.owner == 0;
    case STEP_SELLS:
    case STEP_KEYS:
        return true;
    }
    return false;
}

/* ---- all moves */

static bool any_of(const struct model_world *world, int instance,
                   bool (*is_so)(const struct model_world *world, int index)) {
    if ((world->state.paused >> instance & 1U) != 0)
        return false;
    for (int i = 0; i < world->setup.orders; i++)
        if (world->state.orders[i].instance == instance && is_so(world, i))
            return true;
    return false;
}

static size_t add_of_instances(const struct model_world *world, struct model_move *moves,
                               size_t count) {
    for (int i = 0; i < world->setup.instances; i++) {
        if (model_may_happen(world, FAULT_PAUSE) && any_of(world, i, is_to_pause))
            moves[count++] = (struct model_move){MOVE_PAUSE, (uint8_t)i};
        if (model_may_happen(world, FAULT_CRASH) && any_of(world, i, is_to_crash))
            moves[count++] = (struct model_move){MOVE_CRASH, (uint8_t)i};
    }
    return count;
}

static size_t add_of_pauses(struct model_world *world, struct model_move *moves, size_t count) {
    for (int i = 0; i < world->setup.instances; i++) {
        if ((world->state.paused >> i & 1U) == 0)
            continue;
        moves[count++] = (struct model_move){MOVE_RESUME, (uint8_t)i};
        if (next_end_at(world, i) < MODEL_NEVER)
            moves[count++] = (struct model_move){MOVE_PAUSE, (uint8_t)i};
    }
    return count;
}

/* An order's renewals can fail at any time but between the check of its lease and its write: a
 * request arrives before the lease expires, because the live store gives it that deadline. */
static bool is_to_lose_renewals(struct model_world *world, int index) {
    const struct model_order *order = &world->state.orders[index];
    const struct model_grant *grant = model_find_grant(world, index);

    return order->state == ORDER_RUNS && is_leased(&order->lock) && grant != NULL &&
           grant->ends_ms == 0 && order->step == STEP_LOOKS && !has_transaction(world, index) &&
           (world->state.paused >> order->instance & 1U) == 0;
}

static size_t add_expiries(struct model_world *world, struct model_move *moves, size_t count) {
    if (!model_may_happen(world, FAULT_EXPIRY))
        return count;
    if (next_expiry_ms(world) < MODEL_NEVER)
        moves[count++] = (struct model_move){MOVE_EXPIRE, 0};
    for (int i = 0; i < world->setup.orders; i++)
        if (is_to_lose_renewals(world, i))
            moves[count++] = (struct model_move){MOVE_EXPIRE, (uint8_t)(i + 1)};
    return count;
}

static void expire(struct model_world *world, int who) {
    if (who == 0) {
        moves_let_pass(world, next_expiry_ms(world));
        return;
    }
    end_renewals(world, who - 1);
    moves_let_pass(world, world->state.now_ms + world->setup.options.ttl_ms);
}

static size_t add_faults(struct model_world *world, struct model_move *moves, size_t count,
                         bool have_ended) {
    count = add_of_pauses(world, moves, add_flights(world, moves, count));
    if (have_ended || (world->setup.faults & ~(unsigned)world->state.faults_made) == 0)
        return count;
    count = add_of_instances(world, moves, count);
    for (int i = 0; i < world->setup.orders && model_may_happen(world, FAULT_LOST_REPLY); i++)
        if (is_to_lose(world, i)) {
            moves[count++] = (struct model_move){MOVE_LOSE, (uint8_t)i};
            if (world->state.orders[i].step == STEP_SELLS)
                moves[count++] = (struct model_move){MOVE_DROP, (uint8_t)i};
        }
    count = add_expiries(world, moves, count);
    if (model_may_happen(world, FAULT_FAILOVER) && is_to_fail_over(world))
        moves[count++] = (struct model_move){MOVE_FAILOVER, 0};
    for (uint8_t i = 1; i <= model_lag(&world->state, 0) && model_may_happen(world, FAULT_FAILOVER);
         i++)
        moves[count++] = (struct model_move){MOVE_FAILOVER, i};
    for (uint8_t i = 1; i <= model_lag(&world->state, 1) && model_may_happen(world, FAULT_FAILOVER);
         i++)
        moves[count++] = (struct model_move){MOVE_FAILOVER, MODEL_MASTER + i};
    static_assert(MODEL_LAG <= MODEL_SERVER && MODEL_SERVER + KV_SERVERS <= MODEL_MASTER &&
                      MODEL_MASTER + MODEL_LAG < 10,
                  "the numbers of a failover are distinct digits");
    for (uint8_t i = 1; i <= KV_SERVERS && model_may_happen(world, FAULT_FAILOVER); i++)
        if (keys_are_at(&world->keys, i))
            moves[count++] = (struct model_move){MOVE_FAILOVER, MODEL_SERVER + i};
    return count;
}

static void made(struct model_world *world, enum sale_fault fault) {
    world->state.faults_made |= (uint8_t)(1U << fault);
}

static void end_faults(struct model_world *world) {
    int64_t next_ms;

    for (int i = 0; i < world->setup.orders; i++)
        if ((world->state.flying >> i & 1) != 0)
            model_bury(world, i);
    world->state.flying = 0;
    memset(&world->state.flight, 0, sizeof world->state.flight);
    while ((next_ms = next_expiry_ms(world)) < MODEL_NEVER)
        moves_let_pass(world, next_ms);
}

static bool may_bring(const struct model_world *world, int instance, bool may_wait) {
    return (world->state.paused >> instance & 1U) == 0 &&
           model_brings_at(world, instance) <= (may_wait ? MODEL_NEVER - 1 : world->state.now_ms);
}

/* Add the moves that no order makes. A unit comes back only before the last customer
 * comes. So that customer must see it. */
static size_t add_others(struct model_world *world, struct model_move *moves, size_t runs,
                         bool is_last) {
    size_t count = runs;

    for (int i = 0; i < world->setup.options.shards; i++)
        if (model_may_buy(world, i))
            moves[count++] = (struct model_move){MOVE_BUY, (uint8_t)i};
    for (int i = 0; i < world->setup.instances; i++)
        if (may_bring(world, i, runs == 0))
            moves[count++] = (struct model_move){MOVE_BRING, (uint8_t)i};
    for (int i = 0; i < world->setup.orders && runs > 0 && !is_last; i++)
        if (model_may_return(world, i))
            moves[count++] = (struct model_move){MOVE_RETURN, (uint8_t)i};
    return count;
}

size_t model_moves(struct model_world *world, struct model_move moves[MODEL_MOVES]) {
    const int last = world->setup.orders;
    const bool is_last = have_ended(world);
    const size_t ready = add_runs(world, moves);
    size_t count =
        add_others(world, moves, ready > 0 ? ready : add_later_runs(world, moves), is_last);

    /* When all orders have ended, the last customer comes alone. */
    if (count == 0 && is_last && world->state.paused == 0 &&
        world->state.orders[last].state == ORDER_TO_COME)
        moves[count++] = (struct model_move){MOVE_RUN, (uint8_t)last};
    count = add_faults(world, moves, count, is_last);
    assert(count <= MODEL_MOVES);
    return count;
}

/* Let time pass until the order may go on. The last customer comes after everything has expired. */
static void wake(struct model_world *world, int index) {
    const struct model_order *order = &world->state.orders[index];

    if (index == world->setup.orders && order->state == ORDER_TO_COME)
        end_faults(world);
    if (order->wake_ms > world->state.now_ms)
        moves_let_pass(world, order->wake_ms);
    while (!model_is_ready(world, index) && pass_time(world))
        ;
}

bool model_make(struct model_world *world, struct model_move move) {
    world->is_lost = move.kind == MOVE_LOSE;
    world->is_dropped = move.kind == MOVE_DROP;
    world->mover = -1;
    switch ((enum model_move_kind)move.kind) {
    case MOVE_RUN:
    case MOVE_LOSE:
    case MOVE_DROP:
        if (move.kind != MOVE_RUN)
            made(world, FAULT_LOST_REPLY);
        wake(world, move.who);
        world->mover = move.who;
        world->state.has_bought = 0;
        return true;
    case MOVE_BRING:
        if (model_brings_at(world, move.who) > world->state.now_ms)
            moves_let_pass(world, model_brings_at(world, move.who));
        model_bring(world, move.who);
        break;
    case MOVE_RETURN:
        model_return(world, move.who);
        break;
    case MOVE_BUY:
        model_buy(world, move.who);
        break;
    case MOVE_LAND:
        return land(world, move.who);
    case MOVE_PAUSE:
        made(world, FAULT_PAUSE);
        stand_still(world, move.who);
        break;
    case MOVE_RESUME:
        moves_resume(world, move.who);
        break;
    case MOVE_CRASH:
        made(world, FAULT_CRASH);
        crash(world, move.who);
        break;
    case MOVE_EXPIRE:
        made(world, FAULT_EXPIRY);
        expire(world, move.who);
        break;
    case MOVE_FAILOVER:
        made(world, FAULT_FAILOVER);
        if (move.who > MODEL_MASTER)
            fail_over(world, 1, move.who - MODEL_MASTER);
        else if (move.who > MODEL_SERVER)
            model_stop_server(world, move.who - MODEL_SERVER);
        else
            fail_over(world, 0, move.who);
        break;
    }
    return false;
}

bool model_is_gone(const struct model_world *world, int index) {
    return world->state.orders[index].state == ORDER_KILLED &&
           (world->state.flying >> index & 1U) == 0;
}
