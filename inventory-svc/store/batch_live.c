/* The live store's batches: the sales of a row that wait are sold by one statement, in the fiber of
 * the one that came first.
 *
 * It sells to all or to none. An order that the ledger has makes it refuse all of them: then one is
 * run that first looks for each in the ledger, which costs a third of the whole. An order
 * that the ledger gets while that runs makes it refuse all of them, too, and then each sale goes
 * alone. One that is not answered leaves all of them unknown, and each looks itself up; so does one
 * of which the ledger took fewer sales than the row gave units. */
#include "store_live_internal.h"

#include "batcher.h"
#include "clock.h"
#include "stock_sql.h"
#include "text_copy.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BATCH_MOST  256
#define BATCH_LANES 1
#define BATCH_LIMIT 4096 /* sales of a row that may wait */
#define BATCH_TRIES 2

/* A sale in a batch, on its fiber's stack. */
struct member {
    struct batcher_call call; /* first: the batcher gives it back */
    struct live_sale *live;
    int shard;
    int64_t asked_ns;
    int64_t due_ms;       /* of the statement */
    enum outcome outcome; /* OK: none of its own, as it is to go alone */
};

static struct member *first(const struct batcher_calls *batch) {
    return (struct member *)(void *)TAILQ_FIRST(batch);
}

static struct member *batch_live_next(const struct member *member) {
    return (struct member *)(void *)TAILQ_NEXT(&member->call, entry);
}

#define EACH_MEMBER(member, batch)                                                                 \
    struct member *member = first(batch);                                                          \
    member != NULL;                                                                                \
    member = batch_live_next(member)

/* When its statement must have ended, so that none of them outlives its sale. */
static int64_t batch_live_begin_all(const struct batcher_calls *batch) {
    int64_t now_ns = clock_now_ns(), due_ms = INT64_MAX;

    for (EACH_MEMBER(member, batch)) {
        struct live_sale *live = member->live;

        (void)live_begin_sold(live, member->shard);
        live->write_begun_ns = now_ns;
        live->cost.wait_ns = now_ns - member->asked_ns;
        due_ms = earlier(due_ms, live_due_ms(live));
    }
    for (EACH_MEMBER(member, batch))
        member->due_ms = due_ms;
    return due_ms;
}

static void batch_live_list_orders(const struct batcher_calls *batch,
                                   char ids[BATCH_MOST * UUID_TEXT + 2]) {
    char *end = ids;

    for (EACH_MEMBER(member, batch)) {
        *end = end == ids ? '{' : ',';
        memcpy(++end, member->live->order_id, UUID_TEXT - 1);
        end += UUID_TEXT - 1;
    }
    memcpy(end, "}", 2);
}

static void end_alike(const struct batcher_calls *batch, enum outcome outcome,
                      const char message[MESSAGE_BYTES]) {
    for (EACH_MEMBER(member, batch)) {
        member->outcome = outcome;
        memcpy(member->live->sale.message, message, MESSAGE_BYTES);
    }
}

/* It was not new: in the ledger, or in this batch already, and then it is as that one was. */
static enum outcome of_repeat(const struct batcher_calls *batch, const struct member *repeat) {
    for (EACH_MEMBER(member, batch)) {
        if (member == repeat)
            break;
        if (strcmp(member->live->order_id, repeat->live->order_id) == 0)
            return member->outcome == OUTCOME_SOLD ? OUTCOME_REPEATED : member->outcome;
    }
    return OUTCOME_REPEATED;
}

/* False: the ledger did not take as many as were sold. */
static bool end_each(const struct batcher_calls *batch, const struct batch_sale *sale) {
    const char *places = sale->places; /* "{1,2,5}": each is after one character */
    char *end;
    int64_t left = sale->available, sold_count = 0;
    long place = 1, new_place = 0;

    for (EACH_MEMBER(member, batch)) {
        struct reservation *sold = &member->live->sold;

        if (!sale->has_repeats)
            new_place = place;
        else if (new_place < place && places[0] != '\0' && places[0] != '}') {
            new_place = strtol(places + 1, &end, 10);
            places = end;
        }
        if (new_place != place++) {
            member->outcome = of_repeat(batch, member);
        } else if (left == 0) {
            member->outcome = OUTCOME_SOLD_OUT;
        } else {
            sold->remaining = --left;
            sold->unit = sale->first_unit + left;
            member->outcome = OUTCOME_SOLD;
            sold_count++;
        }
    }
    return sold_count == sale->sold;
}

static void batch_live_sell_to_all(void *data, const struct batcher_calls *batch, unsigned count) {
    char order_ids[BATCH_MOST * UUID_TEXT + 2], message[MESSAGE_BYTES] = "";
    const struct member *leader = first(batch);
    struct batch_sale sale = {.product_id = leader->live->product->id,
                              .instance = leader->live->store->instance,
                              .shard = leader->shard,
                              .order_ids = order_ids,
                              .deadline_ms = batch_live_begin_all(batch)};
    enum outcome outcome = OUTCOME_REPEATED;

    (void)data;
    assert(count <= BATCH_MOST);
    batch_live_list_orders(batch, order_ids);
    for (int tries = 0; tries < BATCH_TRIES && outcome == OUTCOME_REPEATED; tries++) {
        for (EACH_MEMBER(member, batch))
            member->live->cost.postgres++;
        sale.has_repeats = tries > 0;
        outcome = stock_sql_take_batch(leader->live->store->pool, &sale, message);
        if (outcome == OUTCOME_OK && !end_each(batch, &sale)) {
            outcome = OUTCOME_UNKNOWN;
            text_copy(message, sizeof message, "the ledger did not take all of a batch");
        }
        pg_query_clear(&sale.query);
    }
    if (outcome != OUTCOME_OK)
        end_alike(batch, outcome == OUTCOME_REPEATED ? OUTCOME_OK : outcome, message);
}

/* NULL without memory. */
static struct batcher *batcher_of(struct product *product, int shard) {
    int rows = product->spec.options.shards;

    assert(shard >= 0 && shard < rows);
    if (product->batchers == NULL) {
        product->batchers = calloc((size_t)rows, sizeof *product->batchers);
        for (int i = 0; i < rows && product->batchers != NULL; i++) {
            product->batchers[i] = (struct batcher){.lanes = BATCH_LANES,
                                                    .most = BATCH_MOST,
                                                    .limit = BATCH_LIMIT,
                                                    .run = batch_live_sell_to_all};
            batcher_init(&product->batchers[i]);
        }
    }
    return product->batchers != NULL ? &product->batchers[shard] : NULL;
}

static enum outcome batch_live_refuse(struct member *member, const char *why) {
    struct live_sale *live = member->live;

    live->cost.wait_ns = clock_now_ns() - member->asked_ns;
    text_copy(live->sale.message, MESSAGE_BYTES, why);
    return OUTCOME_BUSY;
}

enum outcome live_take_in_batch(struct sale *sale, int shard) {
    struct live_sale *live = live_of(sale);
    struct member member = {.live = live, .shard = shard, .asked_ns = clock_now_ns()};
    int64_t wait_until_ms = clock_now_ms() + sale->options->wait_ms;
    struct batcher *batcher;

    assert(!live->is_transaction);
    if (shard < 0 || shard >= sale->options->shards)
        return OUTCOME_SOLD_OUT; /* there is no such row */
    batcher = batcher_of(live->product, shard);
    if (batcher == NULL)
        return batch_live_refuse(&member, "out of memory");
    if (!batcher_await(batcher, &member.call, earlier(wait_until_ms, live->deadline_ms)))
        return batch_live_refuse(&member, member.call.is_late
                                              ? "no batch took it in time"
                                              : "too many sales of this product wait for a batch");
    if (member.outcome == OUTCOME_OK)
        return live_take_stock(sale, shard);
    return live_end_sold(live, member.outcome, member.due_ms);
}
