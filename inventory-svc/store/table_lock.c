/* A lock that is a row of a table. It is polled, as nobody tells of its end; so one sale of this
 * instance does at a time, and the others stand in line for that: its grant is the local lease. No
 * renewal: it ends by the database's clock, and here a little earlier, counted from before it was
 * asked for. */
#include "store_live_internal.h"

#include "backoff.h"
#include "clock.h"
#include "fiber.h"
#include "lock_sql.h"

#include <stdio.h>

#define POLL_LEAST_MS 1
#define POLL_MOST_MS  16
#define DRIFT_MS      2 /* and a hundredth of the TTL: as lockkit has it */

static struct table_lock row_of(const struct live_sale *live) {
    return (struct table_lock){live->product->id, live->lock.row.shard, live->lock.row.token};
}

static enum outcome attempt(struct live_sale *live, unsigned *attempts) {
    const int64_t ttl_ms = live->sale.options->ttl_ms;
    struct table_lock row = row_of(live);

    ++*attempts;
    live->lock.row.ends_ms = clock_now_ms() + ttl_ms - ttl_ms / 100 - DRIFT_MS;
    return lock_sql_take(live->store->pool, &row, ttl_ms, &live->lock.row.fence, live_due_ms(live),
                         live->sale.message);
}

/* The customer waits for that; when it fails, the lock ends by itself. */
static void give_back(struct live_sale *live) {
    struct table_lock row = row_of(live);
    char ignored[MESSAGE_BYTES];

    (void)lock_sql_give_back(live->store->pool, &row, live_due_ms(live), ignored);
}

static bool is_to_try_again(enum outcome outcome) {
    return outcome == OUTCOME_BUSY || outcome == OUTCOME_UNKNOWN;
}

/* One token for all attempts, because one that was not answered may have won. */
static enum outcome poll(struct live_sale *live, unsigned *attempts) {
    enum outcome outcome;

    live->sale.ops->random_token(&live->sale, live->lock.row.token);
    while (is_to_try_again(outcome = attempt(live, attempts))) {
        uint64_t pause_ms = 1 + backoff_ms(*attempts - 1, POLL_LEAST_MS, POLL_MOST_MS);

        if (clock_now_ms() + (int64_t)pause_ms > live->lock_deadline_ms)
            break;
        fiber_sleep(live->store->loop, pause_ms);
    }
    if (outcome != OUTCOME_UNKNOWN)
        return outcome;
    give_back(live);
    return OUTCOME_BUSY;
}

static void leave_line(struct live_sale *live) {
    local_lock_ops.release(live);
    live->lock.grant = NULL;
}

static enum outcome acquire(struct live_sale *live, int shard, unsigned *attempts) {
    unsigned ignored;
    enum outcome outcome = local_lock_ops.acquire(live, shard, &ignored);

    live->lock.row.shard = shard;
    if (outcome != OUTCOME_OK)
        return outcome;
    outcome = poll(live, attempts);
    if (outcome != OUTCOME_OK)
        leave_line(live);
    return outcome;
}

static enum outcome check(struct live_sale *live) {
    if (clock_now_ms() + live_need_ms(live) <= live->lock.row.ends_ms)
        return OUTCOME_OK;
    (void)snprintf(live->sale.message, MESSAGE_BYTES,
                   "the lock ended, or was about to, before the write");
    return OUTCOME_BUSY;
}

static void release(struct live_sale *live) {
    give_back(live);
    leave_line(live);
}

/* It ends by itself, and what its holder wrote is refused from the next holder's write on: by the
 * fence, however late it lands. */
static void abandon(struct live_sale *live, int64_t hold_ms) {
    (void)hold_ms;
    leave_line(live);
}

static int64_t fence(const struct store_lock *lock) {
    return lock->row.fence;
}

const struct lock_ops table_lock_ops = {
    .acquire = acquire, .check = check, .release = release, .abandon = abandon, .fence = fence};
