/* The rows of stock and the ledger. */
#include "model_internal.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct stock_row model_row(const struct model_world *world, int shard) {
    const struct model_row *row = &world->state.rows[shard];

    return (struct stock_row){.shard = shard,
                              .first_unit = row->first_unit,
                              .available = row->available,
                              .version = row->version,
                              .unit = model_unit_at(world, shard, row->available),
                              .fence = row->fence};
}

bool model_has_no_row(struct model_sale *sale, int shard) {
    if (shard >= 0 && shard < sale->sale.options->shards)
        return false;
    (void)snprintf(sale->sale.message, MESSAGE_BYTES, "shard %d has no row of stock", shard);
    return true;
}

static uint16_t *seen_empty(struct model_sale *sale) {
    return &sale->world->state.seen_empty[order_of(sale)->instance];
}

/* Of one row no strategy asks, and worlds that differ in nothing else would be explored twice. */
static void note_empty(struct model_sale *sale, const struct stock_row *row) {
    const uint16_t bit = (uint16_t)(1U << row->shard);

    if (sale->sale.options->shards > 1 && row->available <= 0)
        *seen_empty(sale) |= bit;
    else
        *seen_empty(sale) &= (uint16_t)~bit;
}

bool model_saw_empty(struct sale *base, int shard) {
    struct model_sale *sale = model_of(base);
    bool is_empty = shard >= 0 && shard < MODEL_SHARDS && (*seen_empty(sale) >> shard & 1) != 0;

    (void)model_answer(sale, OUTCOME_OK, &is_empty, sizeof is_empty);
    return is_empty;
}

enum outcome model_read_stock(struct sale *base, int shard, struct stock_row *row) {
    struct model_sale *sale = model_of(base);
    enum outcome outcome;

    model_turn(sale);
    outcome = model_begin_step(sale);
    if (outcome != OUTCOME_OK)
        return model_answer(sale, outcome, NULL, 0);
    if (model_has_no_row(sale, shard))
        return model_answer(sale, OUTCOME_FAILED, NULL, 0);
    if (!model_note_read(sale, shard))
        return model_answer(sale, model_fail(sale, OUTCOME_CONFLICT), NULL, 0);
    *row = model_see(sale, shard);
    note_empty(sale, row);
    model_say(sale, "reads the stock: %" PRId64 " left", row->available);
    return model_answer_row(sale, row);
}

/* The token that the write carries. */
static int64_t fence_of(const struct store_lock *under) {
    return under != NULL ? under->fence : 0;
}

static bool holds(enum guard guard, const struct stock_row *row, const struct stock_row *seen,
                  int64_t fence) {
    switch (guard) {
    case GUARD_ANY:
        return true;
    case GUARD_VERSION:
        return row->version == seen->version;
    case GUARD_VALUE:
        return row->available == seen->available;
    case GUARD_FENCE:
        return row->fence == seen->fence && row->fence < fence;
    }
    return false;
}

void model_write_ledger(struct model_world *world, int index, int shard,
                        const struct model_txn *written) {
    world->state.sold[index] = (struct model_sold){.is_there = true,
                                                   .instance = world->state.orders[index].instance,
                                                   .shard = (uint8_t)shard,
                                                   .number = ++world->state.sold_count,
                                                   .unit = written->unit,
                                                   .remaining = written->available,
                                                   .fence = written->fence};
    model_changed(world);
}

enum outcome model_sell_unit(struct model_sale *sale, int shard, const struct model_txn *written) {
    struct model_row *row = &sale->world->state.rows[shard];

    row->available = written->available;
    row->version++;
    model_note_written(sale->world, shard);
    if (written->fence > row->fence)
        row->fence = written->fence;
    model_write_ledger(sale->world, sale->ledger, shard, written);
    sale->sale.shard = shard;
    sale->sale.unit = written->unit;
    sale->sale.remaining = written->available;
    sale->sale.fence = written->fence;
    return OUTCOME_SOLD;
}

/* The ledger has this order, or will have it with this transaction. */
static bool is_sold(struct model_sale *sale) {
    return sale->world->state.sold[sale->ledger].is_there ||
           (is_in_transaction(sale) && txn_of(sale)->wrote != 0);
}

/* As Postgres does it: the guard is looked at before the row is waited for, and again once it is
 * had. OK: it can be written. */
static enum outcome win_row(struct model_sale *sale, const struct stock_row *seen, enum guard guard,
                            int64_t fence) {
    struct stock_row now = model_see(sale, seen->shard);
    enum outcome outcome;

    if (!model_note_read(sale, seen->shard))
        return model_fail(sale, OUTCOME_CONFLICT);
    if (!holds(guard, &now, seen, fence))
        return OUTCOME_CONFLICT;
    if (model_is_overtaken(sale, seen->shard))
        return model_fail(sale, OUTCOME_CONFLICT);
    outcome = model_wait_for_row(sale, seen->shard, SERVER_MS);
    if (outcome != OUTCOME_OK)
        return model_fail(sale, outcome);
    if (model_is_overtaken(sale, seen->shard))
        return model_fail(sale, OUTCOME_CONFLICT);
    now = model_see(sale, seen->shard);
    if (!holds(guard, &now, seen, fence))
        return OUTCOME_CONFLICT;
    if (!model_note_write(sale, seen->shard))
        return model_fail(sale, OUTCOME_CONFLICT);
    return is_sold(sale) ? model_fail(sale, OUTCOME_REPEATED) : OUTCOME_OK;
}

static enum outcome write_row(struct model_sale *sale, const struct stock_row *seen,
                              int64_t fence) {
    struct model_txn *txn = txn_of(sale);
    struct model_txn written = {.wrote = (uint8_t)(seen->shard + 1),
                                .available = (int32_t)seen->available - 1,
                                .unit = (int32_t)seen->unit,
                                .fence = (int32_t)fence};

    model_say(sale, "writes %d, and sells unit %d%s", written.available, written.unit,
              is_in_transaction(sale) ? ", once it is committed" : "");
    if (!is_in_transaction(sale))
        return model_sell_unit(sale, seen->shard, &written);
    txn->wrote = written.wrote;
    txn->available = written.available;
    txn->unit = written.unit;
    txn->fence = written.fence;
    sale->world->state.rows[seen->shard].holder = sale->index;
    return OUTCOME_SOLD;
}

enum outcome model_write_stock(struct sale *base, const struct stock_row *seen, enum guard guard,
                               const struct store_lock *under) {
    struct model_sale *sale = model_of(base);
    const int64_t fence = fence_of(under);
    enum outcome outcome;

    model_step(sale, STEP_WRITES);
    outcome = model_begin_step(sale);
    if (outcome == OUTCOME_OK && model_has_no_row(sale, seen->shard))
        outcome = OUTCOME_FAILED;
    if (outcome == OUTCOME_OK && sale->world->is_lost)
        return model_lose_write(sale, (struct model_flight){.shard = (uint8_t)seen->shard,
                                                            .guard = (uint8_t)guard,
                                                            .available = (int32_t)seen->available,
                                                            .version = (int32_t)seen->version,
                                                            .unit = (int32_t)seen->unit,
                                                            .seen_fence = (int32_t)seen->fence,
                                                            .fence = (int32_t)fence});
    if (outcome == OUTCOME_OK)
        outcome = win_row(sale, seen, guard, fence);
    if (outcome == OUTCOME_OK)
        outcome = write_row(sale, seen, fence);
    else
        model_say(sale, "writes %" PRId64 ": %s", seen->available - 1, outcome_text(outcome));
    return model_answer(sale, outcome, NULL, 0);
}

static enum outcome take(struct model_sale *sale, int shard) {
    struct stock_row row = model_row(sale->world, shard);
    enum outcome outcome;

    if (row.available <= 0)
        return OUTCOME_SOLD_OUT;
    outcome = model_wait_for_row(sale, shard, SERVER_MS);
    if (outcome != OUTCOME_OK)
        return outcome;
    row = model_row(sale->world, shard);
    if (row.available <= 0)
        return OUTCOME_SOLD_OUT;
    if (is_sold(sale))
        return OUTCOME_REPEATED;
    row.unit = row.first_unit + row.available - 1; /* wherever a unit came back to */
    return write_row(sale, &row, 0);
}

enum outcome model_take_stock(struct sale *base, int shard) {
    struct model_sale *sale = model_of(base);
    enum outcome outcome = OUTCOME_FAILED;

    assert(!is_in_transaction(sale));
    model_step(sale, STEP_WRITES);
    if (!model_has_no_row(sale, shard)) {
        if (sale->world->is_lost)
            return model_lose_write(
                sale, (struct model_flight){.shard = (uint8_t)shard, .is_take = true});
        outcome = take(sale, shard);
    }
    if (outcome != OUTCOME_SOLD)
        model_say(sale, "takes a unit: %s", outcome_text(outcome));
    return model_answer(sale, outcome, NULL, 0);
}

void model_land_write(struct model_sale *sale, const struct model_flight *flight) {
    const struct stock_row seen = {.shard = flight->shard,
                                   .available = flight->available,
                                   .version = flight->version,
                                   .unit = flight->unit,
                                   .fence = flight->seen_fence};
    const struct model_txn now = *txn_of(sale);
    enum outcome outcome;

    if (flight->batch != 0) {
        model_land_batch(sale, flight->shard, flight->batch);
        return;
    }
    /* It is no part of what its order has begun since. */
    if (is_in_transaction(sale))
        memset(txn_of(sale), 0, sizeof now);
    if (flight->is_take != 0) {
        outcome = take(sale, flight->shard);
    } else {
        outcome = win_row(sale, &seen, (enum guard)flight->guard, flight->fence);
        if (outcome == OUTCOME_OK)
            outcome = write_row(sale, &seen, flight->fence);
    }
    *txn_of(sale) = now;
    if (outcome == OUTCOME_SOLD)
        model_note_written(sale->world, flight->shard); /* this one sees it, too */
    else
        model_say(sale, "its write arrives: %s", outcome_text(outcome));
}

enum outcome model_find_sale(struct sale *base, bool *is_found) {
    struct model_sale *sale = model_of(base);

    model_turn(sale);
    *is_found = sale->world->state.sold[sale->ledger].is_there;
    model_say(sale, "looks the order up: %s", *is_found ? "it is sold" : "not there");
    return model_answer(sale, OUTCOME_OK, is_found, sizeof *is_found);
}
