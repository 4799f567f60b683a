/* What goes wrong, as moves. Each kind is offered once in a schedule, and only where it can change
 * how that ends. */
#include "model_internal.h"

#include <assert.h>
#include <string.h>

/* ---- What was sent, and may arrive later or never: a write whose reply is lost, and the last step
 * of an order that was killed. That one is made by the order's own fiber, which goes no further. */

enum outcome model_lose_write(struct model_sale *sale, struct model_flight flight) {
    struct model_state *state = &sale->world->state;

    assert(state->flight.owner == 0); /* one reply is lost in a schedule */
    flight.owner = (uint8_t)(sale->index + 1);
    flight.until_ms = state->now_ms + LANDS_MS;
    state->flight = flight;
    model_say(sale, "sends its write, and gets no answer");
    return model_answer(sale, OUTCOME_UNKNOWN, NULL, 0);
}

bool model_is_dropped(struct model_sale *sale) {
    if (!sale->world->is_dropped)
        return false;
    model_say(sale, "asks for a step, which never arrives");
    (void)model_answer(sale, OUTCOME_UNKNOWN, NULL, 0);
    return true;
}

enum outcome model_may_lose(const struct model_sale *sale, enum outcome outcome) {
    return sale->world->is_lost ? OUTCOME_UNKNOWN : outcome;
}

static bool is_about_to_commit(const struct model_txn *txn) {
    return is_open(txn) && txn->wrote != 0;
}

/* Not while it would wait: for the row, or for what an order of its own is about to commit. */
static bool may_land(const struct model_state *state, const struct model_flight *flight) {
    for (uint32_t rest = flight->batch; rest != 0; rest >>= 4)
        if (is_about_to_commit(&state->txns[(rest & 15) - 1]))
            return false;
    return state->rows[flight->shard].holder < 0 &&
           !is_about_to_commit(&state->txns[flight->owner - 1]);
}

static size_t model_add_flights(const struct model_world *world, struct model_move *moves,
                                size_t count) {
    const struct model_state *state = &world->state;
    const struct model_flight *flight = &state->flight;

    if (flight->owner != 0 && may_land(state, flight))
        moves[count++] = (struct model_move){MOVE_LAND, (uint8_t)(flight->owner - 1)};
    for (int i = 0; i < world->setup.orders; i++)
        if ((state->flying >> i & 1U) != 0)
            moves[count++] = (struct model_move){MOVE_LAND, (uint8_t)i};
    return count;
}

bool model_land(struct model_world *world, int index) {
    struct model_state *state = &world->state;
    const struct model_flight flight = state->flight;

    if ((state->flying >> index & 1U) != 0) {
        state->flying &= (uint8_t) ~(1U << index);
        return true;
    }
    memset(&state->flight, 0, sizeof state->flight);
    model_land_write(&world->sales[index], &flight);
    return false;
}

void model_end_flights(struct model_world *world) {
    struct model_state *state = &world->state;

    if (state->flight.owner != 0 && state->flight.until_ms <= state->now_ms)
        memset(&state->flight, 0, sizeof state->flight);
    for (int i = 0; i < world->setup.orders && state->flying != 0; i++)
        if ((state->flying >> i & 1U) != 0 && state->orders[i].due_ms <= state->now_ms) {
            state->flying &= (uint8_t) ~(1U << i);
            model_bury(world, i);
        }
}

/* ---- the moves */

static int64_t model_faults_later(int64_t a, int64_t b) {
    return a > b ? a : b;
}

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

/* By its holder's count. */
static int64_t ends_ms(const struct model_world *world) {
    const int64_t ttl_ms = world->setup.options.ttl_ms;

    return world->state.now_ms + ttl_ms - ttl_ms / 100 - 2;
}

/* ---- a pause */

/* Something ends meanwhile, of which the order will not know. What it gives back then is not its
 * own, and stays as it is. */
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

/* Until when it has to stand still for all to end that it has, or waits for. */
static int64_t end_all(struct model_world *world, int index) {
    struct store_lock *lock = &world->state.orders[index].lock;
    struct model_grant *grant = model_find_grant(world, index);
    int64_t until_ms = world->state.now_ms;

    if (is_leased(lock) && grant != NULL) {
        if (grant->ends_ms == 0) {
            grant->ends_ms = world->state.now_ms + world->setup.options.ttl_ms;
            lock->ends_ms = ends_ms(world);
        }
        until_ms = grant->ends_ms;
    }
    if (has_transaction(world, index))
        until_ms = model_faults_later(until_ms, world->state.txns[index].idle_ms);
    if (model_is_in_line(&world->state.orders[index]))
        until_ms = model_faults_later(until_ms, world->state.orders[index].due_ms);
    if (has_keys(world, index))
        for (size_t i = 0; i < world->keys.key_count; i++)
            until_ms = model_faults_later(until_ms, world->keys.keys[i].expires_ms);
    return until_ms;
}

static void stand_still(struct model_world *world, int instance) {
    int64_t until_ms = world->state.now_ms;

    for (int i = 0; i < world->setup.orders; i++) {
        const struct model_order *order = &world->state.orders[i];

        if (order->state != ORDER_RUNS || order->instance != instance)
            continue;
        until_ms = model_faults_later(until_ms, end_all(world, i));
        if (is_in_server_line(order))
            model_leave_line(world, i);
    }
    world->state.paused |= (uint8_t)(1U << instance);
    model_let_pass(world, until_ms + 1);
}

/* Its waiters come last in the servers' lines: these have not heard of them. */
static void model_faults_go_on(struct model_world *world, int instance) {
    for (int i = 0; i < world->setup.orders; i++) {
        struct model_order *order = &world->state.orders[i];

        if (order->instance == instance && is_in_server_line(order))
            order->lock.behind = model_line_before(world, i);
    }
    world->state.paused &= (uint8_t) ~(1U << instance);
}

/* ---- a crash */

void model_bury(struct model_world *world, int index) {
    struct model_order *order = &world->state.orders[index];

    assert(order->state == ORDER_KILLED);
    if (is_open(&world->state.txns[index]))
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

/* The last step that it sent may arrive. */
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

/* What it had sent arrives before its lease ends, since the live store sends it only then. */
static void kill_order(struct model_world *world, int index) {
    struct model_order *order = &world->state.orders[index];
    const int64_t ttl_ms = world->setup.options.ttl_ms;
    const int64_t lands_ms = is_leased(&order->lock) && ttl_ms < LANDS_MS ? ttl_ms : LANDS_MS;
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
    state->dealt[instance] = (uint8_t)(instance % world->setup.options.shards); /* as it began */
    model_drop_queue(world, instance);
}

/* ---- a failover */

/* The replica that lags most does not have it. */
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

/* Its holder learns of it when it renews it, and else believes in it to its end. */
static void fail_over(struct model_world *world, int writes) {
    model_lag_keys(world, writes);
    for (int i = 0; i < MODEL_GRANTS; i++) {
        struct model_grant *grant = &world->state.grants[i];
        struct model_order *order = &world->state.orders[grant->owner != 0 ? grant->owner - 1 : 0];

        if (!is_to_forget(world, grant))
            continue;
        if (order->lock.times > 0 && order->lock.kind == grant->kind && order->lock.ends_ms == 0)
            order->lock.ends_ms = ends_ms(world);
        model_free_grant(world, grant);
    }
}

/* ---- a reply that is lost */

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

/* ---- all of them */

static bool may_happen(const struct model_world *world, enum sale_fault fault) {
    return ((world->setup.faults & ~(unsigned)world->state.faults_made) >> fault & 1U) != 0;
}

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
        if (may_happen(world, FAULT_PAUSE) && any_of(world, i, is_to_pause))
            moves[count++] = (struct model_move){MOVE_PAUSE, (uint8_t)i};
        if (may_happen(world, FAULT_CRASH) && any_of(world, i, is_to_crash))
            moves[count++] = (struct model_move){MOVE_CRASH, (uint8_t)i};
    }
    return count;
}

size_t model_add_faults(const struct model_world *world, struct model_move *moves, size_t count,
                        bool have_ended) {
    count = model_add_flights(world, moves, count);
    for (int i = 0; i < world->setup.instances; i++)
        if ((world->state.paused >> i & 1U) != 0)
            moves[count++] = (struct model_move){MOVE_RESUME, (uint8_t)i};
    if (have_ended || (world->setup.faults & ~(unsigned)world->state.faults_made) == 0)
        return count;
    count = add_of_instances(world, moves, count);
    for (int i = 0; i < world->setup.orders && may_happen(world, FAULT_LOST_REPLY); i++)
        if (is_to_lose(world, i)) {
            moves[count++] = (struct model_move){MOVE_LOSE, (uint8_t)i};
            if (world->state.orders[i].step == STEP_SELLS)
                moves[count++] = (struct model_move){MOVE_DROP, (uint8_t)i};
        }
    if (may_happen(world, FAULT_EXPIRY) && model_next_expiry_ms(world) < MODEL_NEVER)
        moves[count++] = (struct model_move){MOVE_EXPIRE, 0};
    if (may_happen(world, FAULT_FAILOVER) && is_to_fail_over(world))
        moves[count++] = (struct model_move){MOVE_FAILOVER, 0};
    for (uint8_t i = 1; i <= world->state.lag && may_happen(world, FAULT_FAILOVER); i++)
        moves[count++] = (struct model_move){MOVE_FAILOVER, i};
    return count;
}

static void made(struct model_world *world, enum sale_fault fault) {
    world->state.faults_made |= (uint8_t)(1U << fault);
}

void model_make_fault(struct model_world *world, struct model_move move) {
    if (move.kind == MOVE_PAUSE) {
        made(world, FAULT_PAUSE);
        stand_still(world, move.who);
    } else if (move.kind == MOVE_RESUME) {
        model_faults_go_on(world, move.who);
    } else if (move.kind == MOVE_CRASH) {
        made(world, FAULT_CRASH);
        crash(world, move.who);
    } else if (move.kind == MOVE_EXPIRE) {
        made(world, FAULT_EXPIRY);
        model_let_pass(world, model_next_expiry_ms(world));
    } else if (move.kind == MOVE_FAILOVER) {
        made(world, FAULT_FAILOVER);
        fail_over(world, move.who);
    }
}

void model_end_faults(struct model_world *world) {
    int64_t next_ms;

    for (int i = 0; i < world->setup.orders; i++)
        if ((world->state.flying >> i & 1U) != 0)
            model_bury(world, i);
    world->state.flying = 0;
    memset(&world->state.flight, 0, sizeof world->state.flight);
    while ((next_ms = model_next_expiry_ms(world)) < MODEL_NEVER)
        model_let_pass(world, next_ms);
}

/* ---- their names */

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
