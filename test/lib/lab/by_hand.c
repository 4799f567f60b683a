/* Moves the orders of a play. It stands between each sale and the model. */
#include "by_hand.h"

#include "fiber.h"
#include "play.h"
#include "strategies.h"

#define KEY "lock"

struct by_hand hand;

static struct store_ops model;
static int begun;
static bool is_at_stop;

/* ---- steps of a sale that a test watches or decides */

static enum outcome read_stock(struct sale *sale, int shard, struct stock_row *row) {
    const enum outcome outcome = model.read_stock(sale, shard, row);

    return hand.read_outcome != OUTCOME_OK ? hand.read_outcome : outcome;
}

static enum outcome read_for_update(struct sale *sale, int shard, enum row_wait wait,
                                    struct stock_row *row) {
    const enum outcome outcome = model.read_for_update(sale, shard, wait, row);

    return hand.read_outcome != OUTCOME_OK ? hand.read_outcome : outcome;
}

static enum outcome write_stock(struct sale *sale, const struct stock_row *seen, enum guard guard,
                                const struct store_lock *under) {
    return hand.write_outcome != OUTCOME_OK ? hand.write_outcome
                                            : model.write_stock(sale, seen, guard, under);
}

static enum outcome check_write(struct sale *sale, enum guard guard,
                                const struct store_lock *under) {
    return under != NULL && hand.check_outcome != OUTCOME_OK
               ? hand.check_outcome
               : model.check_write(sale, guard, under);
}

static void unlock(struct sale *sale, struct store_lock *held, enum outcome outcome) {
    hand.unlocked_with = outcome;
    model.unlock(sale, held, outcome);
}

static enum outcome kv(struct sale *sale, struct kv_call *call) {
    static const char *const words[] = {
#define X(name, text) text,
        KV_COMMANDS(X)
#undef X
    };
    const enum outcome outcome =
        hand.kv_outcome != OUTCOME_OK ? hand.kv_outcome : model.kv(sale, call);
    const size_t used = strlen(hand.said);

    (void)snprintf(hand.said + used, sizeof hand.said - used, "%s%s", used > 0 ? ", " : "",
                   words[call->command]);
    return outcome;
}

/* Notes that the sale has reached its stop. */
static enum outcome pass(struct sale *sale, enum fail_point point) {
    hand.locks_taken += point == FAIL_AFTER_LOCK;
    is_at_stop = is_at_stop || (hand.does_stop && hand.stop == point);
    return hand.passes_with[point];
}

/* ---- the world */

int hand_set_up(void **state) {
    static struct store_ops ops;

    memset(&hand, 0, sizeof hand);
    hand.world.setup = (struct model_setup){
        .options = {.shards = SHARDS, .borrows = true, .ttl_ms = 300, .work_ms = 1},
        .orders = MODEL_ORDERS,
        .instances = 1,
        .stock = SHARDS * 10};
    play_begin(&hand.world);
    model = ops = *hand.world.sales[0].sale.ops;
    ops.read_stock = read_stock;
    ops.read_for_update = read_for_update;
    ops.write_stock = write_stock;
    ops.check_write = check_write;
    ops.unlock = unlock;
    ops.kv = kv;
    ops.pass = pass;
    for (int i = 0; i <= MODEL_ORDERS; i++)
        hand.world.sales[i].sale.ops = &ops;
    begun = 0;
    return 0;
}

int hand_tear_down(void **state) {
    play_end(&hand.world);
    fiber_cleanup();
    return 0;
}

void hand_set_stock(int available) {
    for (int i = 0; i < SHARDS; i++)
        hand.world.state.rows[i].available = available;
}

void hand_let_wait(void) {
    hand.world.setup.options.wait_ms = 5000;
}

/* ---- sales */

static bool has_stopped(const struct model_order *order) {
    return is_at_stop || order->state == ORDER_ENDED || order->waits == WAITS_SLEEP ||
           (order->waits == WAITS_CHANGE && order->due_ms > hand.world.state.now_ms);
}

void hand_go_on(const struct model_sale *sale) {
    struct model_order *order = &hand.world.state.orders[sale->index];

    order->has_changed = true; /* this ends its pause */
    do {
        is_at_stop = false;
        assert_int_equal(
            play_move(&hand.world, (struct model_move){MOVE_RUN, (uint8_t)sale->index}), 0);
    } while (!has_stopped(order));
}

struct model_sale *hand_begin_by(const struct strategy *strategy) {
    struct model_sale *sale = &hand.world.sales[begun++];

    assert_in_range(begun, 1, MODEL_ORDERS);
    hand.world.setup.strategy = strategy;
    hand_go_on(sale);
    return sale;
}

static const struct strategy *find(const char *name) {
    const struct strategy *const *at = strategies;

    while (strcmp((*at)->name, name) != 0)
        assert_non_null(*++at);
    return *at;
}

struct model_sale *hand_begin(const char *name, int first_shard) {
    hand.world.state.dealt[0] = (uint8_t)first_shard;
    return hand_begin_by(find(name));
}

enum outcome hand_outcome(const struct model_sale *sale) {
    const struct model_order *order = &hand.world.state.orders[sale->index];

    return order->state == ORDER_ENDED ? (enum outcome)order->outcome : OUTCOME_OK;
}

enum outcome hand_sell(const char *name, int first_shard, const struct model_sale **sale) {
    *sale = hand_begin(name, first_shard);
    if (hand_outcome(*sale) == OUTCOME_OK)
        hand_go_on(*sale);
    return hand_outcome(*sale);
}

/* ---- locks and the raw key */

void hand_lock(enum lock_kind kind, bool is_shared) {
    hand.world.state.grants[MODEL_ORDERS] =
        (struct model_grant){.owner = MODEL_ORDERS + 1,
                             .kind = (uint8_t)kind,
                             .is_shared = is_shared,
                             .place = kind == LOCK_RWLOCK || kind == LOCK_STAMPED};
}

void hand_free_locks(void) {
    memset(hand.world.state.grants, 0, sizeof hand.world.state.grants);
}

int hand_locks(void) {
    int count = 0;

    for (int i = 0; i < MODEL_GRANTS; i++)
        count += hand.world.state.grants[i].owner != 0;
    return count;
}

const char *hand_key(void) {
    static struct kv_call call;

    call = (struct kv_call){KV_GET, .key = KEY};
    assert_int_equal(keys_call(&hand.world.keys, 0, hand.world.state.now_ms, &call), OUTCOME_OK);
    return call.is_yes ? call.reply : "";
}

int64_t hand_key_ttl_ms(void) {
    const int64_t expires_ms = keys_expire_next(&hand.world.keys);

    return expires_ms > 0 ? expires_ms - hand.world.state.now_ms : 0;
}

void hand_set_key(const char *value) {
    struct kv_call set = {KV_SET_ABSENT, .key = KEY, .value = value, .ttl_ms = 300},
                   drop = {KV_DELETE, .key = KEY};

    (void)keys_call(&hand.world.keys, 0, hand.world.state.now_ms, &drop);
    if (value[0] != '\0')
        (void)keys_call(&hand.world.keys, 0, hand.world.state.now_ms, &set);
}
