/* The live store: stock that Redis sells, and its way to the ledger.
 *
 * Sales of a product that want a unit go to Redis in groups: one script takes a unit for each. While
 * a call is under way, further sales wait for the next one. If a call has no answer, each of its
 * sales is unknown, and asks again. */
#include "store_live_internal.h"

#include "batcher.h"
#include "clock.h"
#include "number.h"
#include "pending.h"
#include "segment_redis.h"

#include <assert.h>
#include <stdlib.h>

#define REDIS_MS    1000 /* of a command */
#define TAKES_LIMIT 4096 /* most sales of a product that may wait for a call */

/* Each command with these keys counts as a round trip of the sale. */
static struct segment_keys live_keys(struct live_sale *live) {
    return (struct segment_keys){.redis = live->store->kv,
                                 .product_id = live->product->id,
                                 .why = live->why,
                                 .deadline_ms =
                                     number_min(clock_now_ms() + REDIS_MS, live->deadline_ms),
                                 .sends = &live->cost.redis,
                                 .retries = &live->cost.retries};
}

enum outcome live_open_data_set(struct sale *sale, struct data_set *set) {
    const struct segment_keys keys = live_keys(live_of(sale));

    return segment_redis_open(&keys, set);
}

/* First announces the product: otherwise no instance would look for a unit that Redis sold and a
 * killed instance left behind. */
enum outcome live_hand_out(struct sale *sale, const struct data_set *set, struct stock_row *row) {
    struct live_sale *live = live_of(sale);
    const struct segment_keys keys = live_keys(live);
    enum outcome outcome = segment_redis_announce(&keys);

    if (outcome != OUTCOME_OK)
        return outcome;
    live->cost.postgres++;
    return segment_sql_hand_out(live->store->pool, live->product->id, set, row, live_due_ms(live),
                                live->why);
}

enum outcome live_load_row(struct sale *sale, const struct data_set *set,
                           const struct stock_row *row) {
    const struct segment_keys keys = live_keys(live_of(sale));

    return segment_redis_load(&keys, set, row);
}

/* ---- Groups */

/* A sale that wants a unit, on its fiber's stack. */
struct taker {
    struct batcher_call call; /* first: the batcher gives it back */
    struct live_sale *live;
    struct loaded_unit *taken;
    int64_t asked_ns;
    enum outcome outcome;
};

#define EACH_TAKER(taker, batch)                                                                   \
    struct taker *taker = (void *)TAILQ_FIRST(batch);                                              \
    taker != NULL;                                                                                 \
    taker = (void *)TAILQ_NEXT(&taker->call, entry)

/* The counters of one call, which count for each of its sales. */
struct take_cost {
    unsigned sends, retries;
};

static enum outcome take_all(const struct batcher_calls *batch, struct segment_want *wants,
                             size_t count, struct take_cost *cost) {
    struct live_sale *leader = ((struct taker *)(void *)TAILQ_FIRST(batch))->live;
    struct segment_keys keys = live_keys(leader);
    const int64_t now_ns = clock_now_ns();
    size_t i = 0;

    keys.sends = &cost->sends;
    keys.retries = &cost->retries;
    for (EACH_TAKER(taker, batch)) {
        wants[i++] = (struct segment_want){.order_id = taker->live->order_id,
                                           .may_be_repeat = taker->live->sale.may_be_repeat,
                                           .has_asked = taker->live->has_asked};
        taker->live->write_begun_ns = now_ns;
        taker->live->cost.wait_ns = now_ns - taker->asked_ns;
        keys.deadline_ms = number_min(keys.deadline_ms, taker->live->deadline_ms);
    }
    assert(i == count);
    return segment_redis_take(&keys, leader->store->instance, wants, count);
}

static void take_for_all(void *data, const struct batcher_calls *batch, unsigned count) {
    struct segment_want wants[SEGMENT_ORDERS_MAX];
    struct live_sale *leader = ((struct taker *)(void *)TAILQ_FIRST(batch))->live;
    struct take_cost cost = {0, 0};
    const enum outcome outcome = take_all(batch, wants, count, &cost);
    const struct segment_want *want = wants;

    (void)data;
    for (EACH_TAKER(taker, batch)) {
        taker->live->cost.redis += cost.sends;
        taker->live->cost.retries += cost.retries;
        taker->live->note = want->note;
        taker->live->has_asked |= outcome == OUTCOME_UNKNOWN || want->taken.seen.available > 0;
        *taker->taken = want->taken;
        taker->outcome = outcome == OUTCOME_OK ? want->outcome : outcome;
        want++;
        if (outcome != OUTCOME_OK && taker->live != leader)
            (void)why_set(taker->live->why, "%s", leader->why->text);
    }
}

/* NULL without memory. */
static struct batcher *taker_of(struct product *product, uv_loop_t *loop) {
    if (product->taker == NULL && (product->taker = malloc(sizeof *product->taker)) != NULL) {
        *product->taker = (struct batcher){.lanes = 1,
                                           .most = SEGMENT_ORDERS_MAX,
                                           .limit = TAKES_LIMIT,
                                           .enough = SEGMENT_ORDERS_MAX,
                                           .loop = loop, /* gathers the sales of this turn */
                                           .run = take_for_all};
        batcher_init(product->taker);
    }
    return product->taker;
}

static enum outcome refuse_taker(struct live_sale *live, const char *why) {
    (void)why_set(live->why, "%s", why);
    return OUTCOME_BUSY;
}

/* This command is the sale. */
enum outcome live_take_loaded(struct sale *sale, struct loaded_unit *taken) {
    struct live_sale *live = live_of(sale);
    struct taker taker = {.live = live, .taken = taken, .asked_ns = clock_now_ns()};
    struct batcher *batcher = taker_of(live->product, live->store->loop);

    live_sale_end(live);
    if (batcher == NULL)
        return refuse_taker(live, "out of memory");
    if (!batcher_await(batcher, &taker.call, number_min(live->lock_deadline_ms, live->deadline_ms)))
        return refuse_taker(live, taker.call.is_late
                                      ? "no call to Redis took it in time"
                                      : "too many sales of this product wait for Redis");
    return taker.outcome;
}

enum outcome live_write_pending(struct sale *sale, const struct stock_row *seen, bool is_awaited) {
    struct live_sale *live = live_of(sale);
    struct reservation *sold = live_begin_sold(live, seen->shard);
    const struct pending_sale pending = {.product_id = sold->product_id,
                                         .order_id = sold->order_id,
                                         .shard = seen->shard,
                                         .unit = seen->first_unit + seen->available - 1,
                                         .note = live->note};
    enum outcome outcome = OUTCOME_SOLD;

    live->note = NULL;
    sold->unit = pending.unit;
    sold->remaining = seen->available - 1;
    if (is_awaited) {
        live->cost.postgres++;
        outcome = pending_write(live->store->pending, &pending, live_due_ms(live), live->why);
    } else {
        pending_add(live->store->pending, &pending);
    }
    return live_end_sold(live, outcome, clock_now_ms());
}
