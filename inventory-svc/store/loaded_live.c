/* The live store: stock that Redis sells, and its way to the ledger.
 *
 * Sales of a product that want a unit go to Redis in groups: one script takes a unit for each. While
 * a call is under way, further sales wait for the next one. If a call has no answer, each of its
 * sales is unknown, and asks again.
 *
 * On a Redis Cluster the stock has parts, each in a slot. A sale tries them in turn:
 *
 *     a new order       begins at a part without a call under way, like all of that moment
 *     a repeat          begins at the part that its id names, so that repeats meet
 *     an unknown call   begins at the part that it asked, and stays there until that answers
 *     a part is over    goes to the next one. A new order remembers that; a repeat looks at each
 *                       part, because its note may be there
 *     no answer         goes to the next one. If no other part has a unit, it is BUSY, not sold out */
#include "store_live_internal.h"

#include "batcher.h"
#include "clock.h"
#include "cluster_slot.h"
#include "number.h"
#include "pending.h"
#include "segment_redis.h"

#include <assert.h>
#include <stdlib.h>

#define REDIS_MS    1000 /* of a command */
#define TAKES_LIMIT 4096 /* most sales of a part that may wait for a call */

static struct segment_server server_of(const struct store *store) {
    return (struct segment_server){
        .redis = store->kv, .cluster = store->cluster, .loop = store->loop};
}

int store_live_parts(const struct store *store, const struct product *product) {
    return store->cluster == NULL ? 1
                                  : (int)number_min(product->spec.options.shards, STOCK_PARTS_MOST);
}

struct segment_keys store_live_part(const struct store *store, const struct product *product,
                                    int part, char tag[TAG_BYTES], struct why *why) {
    segment_tag(tag, product->id, store_live_parts(store, product), part);
    return (struct segment_keys){.server = server_of(store), .tag = tag, .why = why};
}

/* Each command with these keys counts as a round trip of the sale. */
static struct segment_keys live_keys(struct live_sale *live, char tag[TAG_BYTES]) {
    struct segment_keys keys =
        store_live_part(live->store, live->product, live->part, tag, live->why);

    keys.deadline_ms = number_min(clock_now_ms() + REDIS_MS, live->deadline_ms);
    keys.sends = &live->cost.redis;
    keys.retries = &live->cost.retries;
    return keys;
}

/* A cluster has no master for a slot until a replica takes over, or has one that no replica follows.
 * Pauses, and is true as long as the sale may wait. */
static bool may_try_again(struct sale *sale, enum outcome outcome) {
    return outcome == OUTCOME_BUSY && live_of(sale)->store->cluster != NULL &&
           store_pause(sale) == OUTCOME_OK;
}

enum outcome live_open_data_set(struct sale *sale, struct data_set *set) {
    enum outcome outcome;

    do {
        char tag[TAG_BYTES];
        const struct segment_keys keys = live_keys(live_of(sale), tag);

        outcome = segment_redis_open(&keys, set);
    } while (may_try_again(sale, outcome));
    return outcome;
}

static enum outcome keep_and_announce(struct live_sale *live, const struct data_set *set) {
    char tag[TAG_BYTES];
    const struct segment_keys keys = live_keys(live, tag);
    const enum outcome outcome = segment_redis_keep(&keys, set);

    return outcome == OUTCOME_OK ? segment_redis_announce(&keys) : outcome;
}

/* First announces the part: otherwise no instance would look for a unit that Redis sold and a killed
 * instance left behind. */
enum outcome live_hand_out(struct sale *sale, const struct data_set *set, struct stock_row *row) {
    struct live_sale *live = live_of(sale);
    enum outcome outcome;

    do
        outcome = keep_and_announce(live, set);
    while (may_try_again(sale, outcome));
    if (outcome != OUTCOME_OK)
        return outcome;
    live->cost.postgres++;
    return segment_sql_hand_out(live->store->pool, live->product->id,
                                store_live_parts(live->store, live->product), live->part, set, row,
                                live_due_ms(live), live->why);
}

enum outcome live_load_row(struct sale *sale, const struct data_set *set,
                           const struct stock_row *row) {
    enum outcome outcome;

    do {
        char tag[TAG_BYTES];
        const struct segment_keys keys = live_keys(live_of(sale), tag);

        outcome = segment_redis_load(&keys, set, row);
    } while (may_try_again(sale, outcome));
    return outcome;
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
    char tag[TAG_BYTES];
    struct segment_keys keys = live_keys(leader, tag);
    const int64_t now_ns = clock_now_ns();
    size_t i = 0;

    keys.sends = &cost->sends;
    keys.retries = &cost->retries;
    if (leader->store->cluster != NULL)
        keys.replicas = (unsigned)leader->sale.options->replicas;
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
    const bool is_alone = leader->store->cluster == NULL && leader->sale.options->replicas > 0;
    const enum outcome outcome = take_all(batch, wants, count, &cost);
    const struct segment_want *want = wants;

    (void)data;
    for (EACH_TAKER(taker, batch)) {
        taker->live->cost.redis += cost.sends;
        taker->live->cost.retries += cost.retries;
        taker->live->note = want->note;
        taker->live->has_asked |= outcome == OUTCOME_UNKNOWN || want->taken.seen.available > 0;
        *taker->taken = want->taken;
        taker->taken->is_unconfirmed |= is_alone;
        taker->outcome = outcome == OUTCOME_OK ? want->outcome : outcome;
        want++;
        if (outcome != OUTCOME_OK && taker->live != leader)
            (void)why_set(taker->live->why, "%s", leader->why->text);
    }
}

/* NULL without memory. */
static struct batcher *takers_of(struct product *product, const struct store *store) {
    const int parts = store_live_parts(store, product);

    if (product->takers == NULL)
        product->takers = calloc((size_t)parts, sizeof *product->takers);
    for (int i = 0; i < parts && product->takers != NULL && product->takers[i].run == NULL; i++) {
        product->takers[i] = (struct batcher){.lanes = 1,
                                              .most = SEGMENT_ORDERS_MAX,
                                              .limit = TAKES_LIMIT,
                                              .enough = SEGMENT_ORDERS_MAX,
                                              .loop = store->loop, /* gathers those of this turn */
                                              .run = take_for_all};
        batcher_init(&product->takers[i]);
    }
    return product->takers;
}

static enum outcome refuse_taker(struct live_sale *live, const char *why) {
    (void)why_set(live->why, "%s", why);
    return OUTCOME_BUSY;
}

/* This command is the sale. */
static enum outcome take_from_part(struct live_sale *live, struct loaded_unit *taken) {
    struct taker taker = {.live = live, .taken = taken, .asked_ns = clock_now_ns()};
    struct batcher *takers = takers_of(live->product, live->store);

    live_sale_end(live);
    if (takers == NULL)
        return refuse_taker(live, "out of memory");
    if (!batcher_await(&takers[live->part], &taker.call,
                       number_min(live->lock_deadline_ms, live->deadline_ms)))
        return refuse_taker(live, taker.call.is_late
                                      ? "no call to Redis took it in time"
                                      : "too many sales of this product wait for Redis");
    return taker.outcome;
}

static bool is_over(const struct product *product, int part) {
    return (product->parts_over & UINT32_C(1) << part) != 0;
}

/* The part for a new order: the last one of this kind, or, while that has a call under way, another
 * one that has none. */
static int part_for_new(struct product *product, int parts) {
    for (int i = 0; i < parts; i++) {
        const int part = (product->next_part + i) % parts;

        if (!is_over(product, part) &&
            (product->takers == NULL || batcher_is_open(&product->takers[part])))
            return product->next_part = part;
    }
    return product->next_part;
}

static void choose_part(struct live_sale *live, int parts) {
    if (live->sale.may_be_repeat) /* the same for all instances */
        live->part = cluster_slot(live->order_id) % parts;
    else
        live->part = part_for_new(live->product, parts);
}

/* Ask each part once, from live->part on. */
static enum outcome take_from_parts(struct live_sale *live, struct loaded_unit *taken, int parts) {
    struct product *product = live->product;
    const bool is_new = !live->sale.may_be_repeat && !live->has_asked;
    enum outcome outcome, result = OUTCOME_SOLD_OUT;

    for (int i = 0; i < parts; i++, live->part = (live->part + 1) % parts) {
        if (is_new && is_over(product, live->part))
            continue;
        outcome = take_from_part(live, taken);
        if (outcome == OUTCOME_SOLD_OUT)
            product->parts_over |= UINT32_C(1) << live->part;
        else if (outcome != OUTCOME_BUSY || live->has_asked)
            return outcome;
        else
            result = OUTCOME_BUSY;
    }
    return result;
}

enum outcome live_take_loaded(struct sale *sale, struct loaded_unit *taken) {
    struct live_sale *live = live_of(sale);
    const int parts = store_live_parts(live->store, live->product);
    enum outcome outcome;

    if (!live->has_asked)
        choose_part(live, parts);
    do
        outcome = take_from_parts(live, taken, parts);
    while (may_try_again(sale, outcome));
    return outcome;
}

enum outcome live_write_pending(struct sale *sale, const struct stock_row *seen, bool is_awaited) {
    struct live_sale *live = live_of(sale);
    struct reservation *sold = live_begin_sold(live, seen->shard);
    const int parts = store_live_parts(live->store, live->product);
    char tag[TAG_BYTES];
    const struct pending_sale pending = {.tag = tag,
                                         .order_id = sold->order_id,
                                         .shard = seen->shard,
                                         .unit = seen->first_unit + seen->available - 1,
                                         .note = live->note};
    enum outcome outcome = OUTCOME_SOLD;

    segment_tag(tag, live->product->id, parts, seen->shard % parts);
    live->note = NULL;
    sold->unit = pending.unit;
    sold->remaining = seen->available - 1;
    if (is_awaited) {
        live->cost.postgres++;
        outcome = pending_write(live->store->pending, &pending, live_due_ms(live), live->why);
        live->has_asked &= outcome != OUTCOME_CONFLICT; /* the order owns no unit */
    } else {
        pending_add(live->store->pending, &pending);
    }
    return live_end_sold(live, outcome, clock_now_ms());
}
