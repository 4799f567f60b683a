/* The store as it is in service.
 *
 * A write that is not answered: look the order up in the ledger once. Found, it has its unit, from
 * this write or from an earlier one of the same order: REPEATED, because the caller may take back
 * only what is certainly this sale's. Absent proves nothing, because the statement may still be
 * running, so it stays UNKNOWN and the lock is kept from the next sale for as long as the write may
 * land: until its deadline, after which the server begins it no more, and LAND_MS. The server knows
 * the deadline by its own clock, which the sale read with the stock.
 *
 * A write under a lease: first take a connection and prepare the statement on it, both of which may
 * mean waiting, and only then ask whether the lease is still ours; so nothing lies between that
 * answer and the sending. It is not begun when the sale's own time would end before the server's
 * definite answer. */
#include "store_live.h"

#include "clock.h"
#include "fiber.h"
#include "lock_adapter.h"
#include "log.h"
#include "reservation_sql.h"
#include "stock_sql.h"

#include <assert.h>
#include <stdio.h>

#define STATEMENTS_MS 3000 /* of a sale, for all its statements together */
#define LAST_LOOK_MS  500  /* beyond that */
#define LOOK_UP_MS    1000 /* with the lock held: others wait for it, and then for its TTL */

/* The lease that a write should have left: so much that the server gives the write up before the
 * lease ends, even when this instance or Redis dies right after the sending. A short lease cannot
 * have that: a third of it then, since renewal begins when two thirds are left. */
#define NEED_MS (SERVER_MS + 300)

#define WAIT_TIMES                                                                                 \
    "inventory_lock_wait_seconds", "Time until a lock was won or given up", METRIC_TIMES
#define HOLD_TIMES                                                                                 \
    "inventory_lock_hold_seconds", "Time from winning a lock to giving it back", METRIC_TIMES

static struct {
    struct metric wait, hold;
} times[] = {
    [LOCK_LOCAL] = {{WAIT_TIMES, .labels = "kind=\"local\""},
                    {HOLD_TIMES, .labels = "kind=\"local\""}},
    [LOCK_REDIS] = {{WAIT_TIMES, .labels = "kind=\"redis\""},
                    {HOLD_TIMES, .labels = "kind=\"redis\""}},
};

static struct live_sale *live_of(struct sale *sale) {
    return (struct live_sale *)(void *)sale;
}

static int64_t earlier(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* When the next statement of this sale must have ended. */
static int64_t due_ms(const struct live_sale *live) {
    return earlier(statement_deadline_ms(), live->deadline_ms);
}

/* OK, or FAILED when the product's failpoint makes this sale fail here. */
static enum outcome pass(struct live_sale *live, enum fail_point point) {
    struct failpoint *failpoint = &live->product->spec.failpoint;
    enum fail_action action = failpoint_pass(failpoint, point, &live->has_passed);
    int64_t begun_ns;

    if (action == FAIL_NOTHING)
        return OUTCOME_OK;
    begun_ns = clock_now_ns();
    log_warn("failpoint", "order=%s product=%s point=%s action=%s", live->order_id,
             live->product->id, fail_points[point], fail_actions[action].text);
    failpoint_act(failpoint, action, live->store->loop);
    live->write_begun_ns += clock_now_ns() - begun_ns;
    if (action == FAIL_DROP_REPLY)
        live->is_reply_dropped = true;
    if (action != FAIL_ERROR)
        return OUTCOME_OK;
    (void)snprintf(live->sale.message, MESSAGE_BYTES, "failpoint %s: error", fail_points[point]);
    return OUTCOME_FAILED;
}

static enum outcome read_stock(struct sale *sale, int shard, struct stock_row *row) {
    struct live_sale *live = live_of(sale);
    enum outcome outcome;
    int64_t server_us;

    live->cost.postgres++;
    outcome = stock_sql_read(live->store->pool, live->product->id, shard, row, &server_us,
                             due_ms(live), sale->message);
    if (outcome == OUTCOME_OK) /* of a moment before now: it may be ahead by more */
        live->server_ahead_us = server_us - clock_now_ms() * 1000;
    return outcome == OUTCOME_OK ? pass(live, FAIL_AFTER_READ) : outcome;
}

enum outcome live_sale_find(struct live_sale *live, int64_t timeout_ms, bool *is_found,
                            struct reservation *found, char message[MESSAGE_BYTES]) {
    int64_t deadline_ms = earlier(clock_now_ms() + timeout_ms, live->deadline_ms + LAST_LOOK_MS);

    live->cost.postgres++;
    return reservation_sql_find(live->store->pool, live->order_id, deadline_ms, is_found, found,
                                message);
}

enum outcome live_sale_confirm(struct live_sale *live, bool *is_found, struct reservation *found) {
    char order_ids[UUID_TEXT + 4];
    size_t count;
    enum outcome outcome;

    (void)snprintf(order_ids, sizeof order_ids, "[\"%s\"]", live->order_id);
    live->cost.postgres++;
    outcome =
        reservation_sql_confirm(live->store->pool, order_ids,
                                earlier(statement_deadline_ms(), live->deadline_ms + LAST_LOOK_MS),
                                1, found, &count, live->sale.message);
    *is_found = count > 0;
    return outcome;
}

static enum outcome look_up(struct live_sale *live) {
    struct reservation found;
    char ignored[MESSAGE_BYTES]; /* the write's own message says more */
    bool is_found;

    (void)live_sale_find(live, LOOK_UP_MS, &is_found, &found, ignored);
    return is_found ? OUTCOME_REPEATED : OUTCOME_UNKNOWN;
}

/* The start of each way to sell: what will be written. */
static struct reservation *begin_write(struct live_sale *live, int shard) {
    struct reservation *sold = &live->sold;

    *sold = (struct reservation){.shard = shard};
    (void)snprintf(sold->order_id, sizeof sold->order_id, "%s", live->order_id);
    (void)snprintf(sold->product_id, sizeof sold->product_id, "%s", live->product->id);
    (void)snprintf(sold->instance, sizeof sold->instance, "%s", live->store->instance);
    (void)snprintf(sold->price, sizeof sold->price, "%s", live->product->row.price);
    live->write_begun_ns = clock_now_ns();
    return sold;
}

/* The end of each. */
static enum outcome after_write(struct live_sale *live, enum outcome outcome) {
    const struct reservation *sold = &live->sold;

    if (outcome == OUTCOME_UNKNOWN)
        return look_up(live);
    if (outcome != OUTCOME_SOLD)
        return outcome;
    live->cost.commit_ns = clock_now_ns() - live->write_begun_ns;
    live->cost.shard = live->sale.shard = sold->shard;
    live->sale.unit = sold->unit;
    live->sale.remaining = sold->remaining;
    live->sale.fence = sold->fence;
    return pass(live, FAIL_AFTER_WRITE) == OUTCOME_OK ? OUTCOME_SOLD : OUTCOME_UNKNOWN;
}

static enum outcome check_lock(struct sale *sale, const struct store_lock *lock) {
    uint32_t need_ms =
        lock->kind == LOCK_LOCAL ? 1 : (uint32_t)earlier(NEED_MS, sale->options->ttl_ms / 3);

    if (lk_lease_check(lock->lease, need_ms) == LK_OK)
        return OUTCOME_OK;
    (void)snprintf(sale->message, MESSAGE_BYTES,
                   "the lease ended, or was about to, before the write");
    return OUTCOME_BUSY;
}

static enum outcome write_now(struct live_sale *live, struct pg_conn *on) {
    enum outcome outcome = pass(live, FAIL_BEFORE_WRITE);
    int64_t deadline_ms;

    if (outcome != OUTCOME_OK)
        return outcome;
    live->cost.postgres++;
    deadline_ms = due_ms(live);
    outcome = stock_sql_write(live->store->pool, on, &live->sold,
                              deadline_ms * 1000 + live->server_ahead_us, deadline_ms,
                              live->sale.message);
    if (outcome == OUTCOME_UNKNOWN)
        live->lands_until_ms = deadline_ms + LAND_MS;
    return outcome;
}

static enum outcome write_under_lease(struct live_sale *live, const struct store_lock *under) {
    int64_t ready_ms = earlier(due_ms(live), live->deadline_ms - SERVER_MS);
    struct pg_conn *conn = pg_hold(live->store->pool, ready_ms);
    enum outcome outcome;

    if (conn == NULL) {
        (void)snprintf(live->sale.message, MESSAGE_BYTES, "no connection to the database in time");
        return OUTCOME_BUSY;
    }
    outcome = stock_sql_prepare_write(live->store->pool, conn, ready_ms, live->sale.message);
    if (outcome == OUTCOME_OK)
        outcome = check_lock(&live->sale, under);
    if (outcome == OUTCOME_OK)
        outcome = write_now(live, conn);
    pg_give_back(conn);
    return outcome;
}

static enum outcome write_stock(struct sale *sale, const struct stock_row *seen,
                                const struct store_lock *under) {
    struct live_sale *live = live_of(sale);
    struct reservation *sold = begin_write(live, seen->shard);
    const bool is_leased = under != NULL && under->kind == LOCK_REDIS;

    assert(seen->available > 0);
    sold->unit = seen->first_unit + seen->available - 1;
    sold->remaining = seen->available - 1;
    sold->fence = is_leased ? (int64_t)lk_lease_fence(under->lease) : 0;
    return after_write(live, is_leased ? write_under_lease(live, under) : write_now(live, NULL));
}

static enum outcome take_stock(struct sale *sale, int shard) {
    struct live_sale *live = live_of(sale);
    struct reservation *sold = begin_write(live, shard);
    enum outcome outcome = pass(live, FAIL_BEFORE_WRITE);

    if (outcome != OUTCOME_OK)
        return outcome;
    live->cost.postgres++;
    outcome = stock_sql_take(live->store->pool, sold, due_ms(live), sale->message);
    return after_write(live, outcome);
}

enum outcome live_sale_take_returned(struct live_sale *live) {
    struct reservation *sold = begin_write(live, 0);

    live->cost.postgres++;
    return after_write(
        live, stock_sql_take_returned(live->store->pool, sold, due_ms(live), live->sale.message));
}

/* Nothing was sold: at fault are we or our memory, or else the lock's owner or server. */
static enum outcome not_acquired(struct sale *sale, enum lk_status status) {
    assert(status != LK_OK);
    (void)snprintf(sale->message, MESSAGE_BYTES, "lock: %s", lk_status_text(status));
    return status == LK_UNSUPPORTED || status == LK_INVALID || status == LK_NOMEM ? OUTCOME_FAILED
                                                                                  : OUTCOME_BUSY;
}

#define LOCK_NAME_BYTES (UUID_TEXT + 24)

static void name_lock(char name[LOCK_NAME_BYTES], const struct product *product, int shard) {
    (void)snprintf(name, LOCK_NAME_BYTES, "stock:%s:%d", product->id, shard);
}

static enum lk_status acquire(struct live_sale *live, enum lock_kind kind, int shard,
                              lk_lease **lease) {
    lk_client *client = kind == LOCK_LOCAL ? live->store->local : live->store->redis;
    int64_t wait_ms = live->lock_deadline_ms - clock_now_ms();
    int64_t begun_ns = clock_now_ns(), wait_ns;
    char name[LOCK_NAME_BYTES];
    enum lk_status status;
    unsigned attempts;

    name_lock(name, live->product, shard);
    live->product->is_locked_in_redis |= kind == LOCK_REDIS;
    status = lock_acquire_await(client, name, (uint32_t)live->sale.options->ttl_ms,
                                wait_ms > 0 ? (uint32_t)wait_ms : LK_TRY, lease, &attempts);
    wait_ns = clock_now_ns() - begun_ns;
    metric_time(&times[kind].wait, wait_ns);
    sale_cost_lock(&live->cost, kind, wait_ns, attempts);
    return status;
}

/* How long its lock stays taken when the sale is not sure what became of its write. */
static uint32_t hold_ms(const struct live_sale *live) {
    int64_t left_ms = live->lands_until_ms - clock_now_ms();

    return left_ms > 0 ? (uint32_t)left_ms : 0;
}

static void unlock(struct sale *sale, struct store_lock *lock, enum outcome outcome) {
    struct live_sale *live = live_of(sale);
    bool is_failing = pass(live, FAIL_BEFORE_UNLOCK) != OUTCOME_OK;
    bool is_abandoned = outcome == OUTCOME_UNKNOWN || is_failing;
    int64_t hold_ns = clock_now_ns() - lock->acquired_ns;

    assert(lock == &live->lock && lock->lease != NULL);
    metric_time(&times[lock->kind].hold, hold_ns);
    sale_cost_unlock(&live->cost, lock->kind, hold_ns, !is_abandoned);
    if (is_abandoned)
        lk_abandon(lock->lease, hold_ms(live));
    else
        lk_release(lock->lease, NULL, NULL); /* the customer need not wait for the confirmation */
    lock->lease = NULL;
}

static enum outcome lock(struct sale *sale, enum lock_kind kind, int shard,
                         struct store_lock **out) {
    struct live_sale *live = live_of(sale);
    enum lk_status status;

    assert(live->lock.lease == NULL);
    status = acquire(live, kind, shard, &live->lock.lease);
    if (status != LK_OK)
        return not_acquired(sale, status);
    live->lock.kind = kind;
    live->lock.acquired_ns = clock_now_ns();
    *out = &live->lock;
    if (pass(live, FAIL_AFTER_LOCK) == OUTCOME_OK)
        return OUTCOME_OK;
    unlock(sale, *out, OUTCOME_FAILED);
    return OUTCOME_FAILED;
}

static void work(struct sale *sale) {
    if (sale->options->work_ms > 0)
        fiber_sleep(live_of(sale)->store->loop, (uint64_t)sale->options->work_ms);
}

void live_sale_init(struct live_sale *live, struct store *store, struct product *product,
                    const char *order_id, int64_t begun_ms) {
    static const struct store_ops ops = {.read_stock = read_stock,
                                         .write_stock = write_stock,
                                         .take_stock = take_stock,
                                         .lock = lock,
                                         .check_lock = check_lock,
                                         .unlock = unlock,
                                         .work = work};
    const struct sale_options *options = &product->spec.options;

    *live = (struct live_sale){
        .sale = {.ops = &ops,
                 .options = options,
                 .first_shard = (int)(product->next_shard++ % (unsigned)options->shards)},
        .store = store,
        .product = product,
        .order_id = order_id,
        .lock_deadline_ms = begun_ms + options->wait_ms,
        .deadline_ms = begun_ms + options->wait_ms + options->work_ms + STATEMENTS_MS,
    };
    sale_cost_init(&live->cost);
}

void store_live_holder(struct store *store, const struct product *product,
                       char holder[INSTANCE_BYTES]) {
    char name[LOCK_NAME_BYTES];

    holder[0] = '\0';
    if (!product->is_locked_in_redis)
        return;
    name_lock(name, product, 0);
    lock_holder_await(store->redis, name, holder, INSTANCE_BYTES);
}
