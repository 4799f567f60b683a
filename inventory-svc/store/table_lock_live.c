/* The live store's lock that is a row of a table. It is polled, as nobody tells of its end; so one
 * sale of this instance does at a time, and the others stand in line for that. No renewal: it ends
 * by the database's clock, and here a little earlier, counted from before it was asked for. */
#include "store_live_internal.h"

#include "backoff.h"
#include "clock.h"
#include "fiber.h"
#include "lock_sql.h"

#define POLL_LEAST_MS 1
#define POLL_MOST_MS  16
#define DRIFT_MS      2 /* and a hundredth of the TTL: as lockkit has it */

static struct table_lock row_of(const struct live_sale *live) {
    return (struct table_lock){live->product->id, live->lock.shard, live->lock.token};
}

static enum outcome attempt(struct live_sale *live) {
    const int64_t ttl_ms = live->sale.options->ttl_ms;
    struct table_lock row = row_of(live);

    live->lock.ends_ms = clock_now_ms() + ttl_ms - ttl_ms / 100 - DRIFT_MS;
    return lock_sql_take(live->store->pool, &row, ttl_ms, &live->lock.fence, live_due_ms(live),
                         live->sale.message);
}

/* One token for all attempts, because one that was not answered may have won. */
enum outcome live_table_poll(struct live_sale *live, int shard, unsigned *attempts) {
    enum outcome outcome;

    live->lock.shard = shard;
    live->sale.ops->random_token(&live->sale, live->lock.token);
    for (*attempts = 0;; ++*attempts) {
        uint64_t pause_ms = 1 + backoff_ms(*attempts, POLL_LEAST_MS, POLL_MOST_MS);

        outcome = attempt(live);
        if (outcome != OUTCOME_BUSY ||
            clock_now_ms() + (int64_t)pause_ms > live->lock_deadline_ms)
            break;
        fiber_sleep(live->store->loop, pause_ms);
    }
    ++*attempts;
    return outcome;
}

/* The customer waits for that; when it fails, the lock ends by itself. */
void live_table_give_back(struct live_sale *live) {
    struct table_lock row = row_of(live);
    char ignored[MESSAGE_BYTES];

    (void)lock_sql_give_back(live->store->pool, &row, live_due_ms(live), ignored);
}
