/* Advisory locks by statements over a pool, as they come to mind: wrong, see
 * strategies/postgres/locks.c. Unprepared, since a transaction pooler may not know what
 * was prepared. */
#include "store_live_internal.h"

#include "lock_sql.h"

#include <stdio.h>

static enum outcome ask(struct live_sale *live, enum advisory_verb verb, bool *is_yes) {
    return lock_sql_advisory(live->store->pooled, verb, live->product->id, live->lock.shard, is_yes,
                             live_due_ms(live), live->sale.message);
}

static enum outcome acquire(struct live_sale *live, int shard, unsigned *attempts) {
    enum outcome outcome;
    bool is_taken;

    (void)shard;
    for (;;) {
        ++*attempts;
        outcome = ask(live, ADVISORY_TRY, &is_taken);
        if (outcome == OUTCOME_OK && is_taken)
            break;
        if (outcome == OUTCOME_OK)
            outcome = store_pause(&live->sale);
        if (outcome != OUTCOME_OK)
            return outcome;
    }
    live->lock.grant = live->store->pooled;
    return OUTCOME_OK;
}

/* Whether that session had it, nobody asks: it would be too late. */
static void release(struct live_sale *live) {
    bool is_ours;

    (void)ask(live, ADVISORY_UNLOCK, &is_ours);
}

static void abandon(struct live_sale *live, int64_t hold_ms) {
    (void)live; /* some session has it for as long as that is open */
    (void)hold_ms;
}

const struct lock_ops raw_advisory_lock_ops = {
    .acquire = acquire, .release = release, .abandon = abandon};
