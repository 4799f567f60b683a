/* The rows of stock, the ledger, and transactions like those of PostgreSQL. A transaction holds the
 * rows that it has written or read for update until its end. Another writer waits, and then checks
 * the row again. A serializable transaction sees the state at its first read, and cannot write a
 * row that was written since. */
#include "servers.h"

#include "cycles.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- committed rows */

int64_t model_unit_at(const struct model_world *world, int shard, int64_t available) {
    const struct model_state *state = &world->state;

    for (size_t i = 0; i < state->place_count; i++)
        if (state->places[i].shard == shard && state->places[i].place == available - 1)
            return state->places[i].unit;
    return state->rows[shard].first_unit + available - 1;
}

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

void model_note_written(struct model_world *world, int shard) {
    for (int i = 0; i <= world->setup.orders; i++)
        if (is_serial(&world->state.txns[i]))
            world->state.txns[i].overtaken |= (uint16_t)(1U << shard);
}

void model_write_ledger(struct model_world *world, int index, int shard,
                        const struct model_write *written) {
    struct model_sold *sold = &world->state.sold[index];

    if (world->setup.options.is_cart && sold->is_there)
        sold = &world->state.seconds[index].sold;
    *sold = (struct model_sold){.is_there = true,
                                .instance = world->state.orders[index].instance,
                                .shard = (uint8_t)shard,
                                .number = ++world->state.sold_count,
                                .unit = written->unit,
                                .remaining = written->available,
                                .fence = written->fence};
    model_changed(world);
}

enum outcome model_sell_unit(struct model_sale *sale, int shard,
                             const struct model_write *written) {
    struct model_row *row = &sale->world->state.rows[shard];
    const bool is_second =
        sale->sale.options->is_cart && sale->world->state.sold[sale->ledger].is_there;

    row->available = written->available;
    row->version++;
    model_note_written(sale->world, shard);
    if (written->fence > row->fence)
        row->fence = written->fence;
    model_write_ledger(sale->world, sale->ledger, shard, written);
    if (is_second)
        return OUTCOME_SOLD;
    sale->sale.shard = shard;
    sale->sale.unit = written->unit;
    sale->sale.remaining = written->available;
    sale->sale.fence = written->fence;
    return OUTCOME_SOLD;
}

/* How a sale calls the row. */
static const char *name_of_row(const struct model_sale *sale, int shard) {
    static const char *const products[] = {"product 0", "product 1"};

    return sale->sale.options->is_cart && shard >= 0 && shard <= 1 ? products[shard] : "the stock";
}

#define IDLE_MS     5000
#define DEADLOCK_MS 1000 /* after this wait a transaction looks for a deadlock */

/* ---- the end */

static void forget_second(struct model_state *state, size_t index) {
    memset(&state->seconds[index].write, 0, sizeof state->seconds[index].write);
}

/* Forget the committed transactions that every open one sees. */
static void forget_committed(struct model_state *state) {
    uint8_t oldest = UINT8_MAX;

    for (size_t i = 0; i <= MODEL_ORDERS; i++)
        if (is_serial(&state->txns[i]) && state->txns[i].before < oldest)
            oldest = state->txns[i].before;
    for (size_t i = 0; i <= MODEL_ORDERS; i++)
        if (state->txns[i].state == TXN_COMMITTED && state->txns[i].after <= oldest) {
            memset(&state->txns[i], 0, sizeof state->txns[i]);
            forget_second(state, i);
            for (size_t j = 0; j <= MODEL_ORDERS; j++)
                state->txns[j].readers &= (uint8_t) ~(1U << i);
        }
}

/* End a transaction in this state: free its rows. Forget it, unless it is TXN_COMMITTED. */
static void database_end(struct model_world *world, int index, enum txn_state state) {
    struct model_state *all = &world->state;
    const struct model_txn was = all->txns[index];

    for (int i = 0; i < world->setup.options.shards; i++)
        if (all->rows[i].holder == index) {
            all->rows[i].holder = -1;
            model_changed(world);
        }
    memset(all->seen[index], 0, sizeof all->seen[index]);
    memset(&all->txns[index], 0, sizeof all->txns[index]);
    all->txns[index].state = (uint8_t)state;
    if (state == TXN_COMMITTED) {
        all->txns[index] = was;
        all->txns[index].state = TXN_COMMITTED;
        all->txns[index].after = all->sold_count;
        all->txns[index].idle_ms = all->txns[index].overtaken = 0;
    } else {
        if (was.wrote_second != 0)
            forget_second(all, (size_t)index);
        for (size_t i = 0; i <= MODEL_ORDERS; i++)
            all->txns[i].readers &= (uint8_t) ~(1U << index);
    }
    forget_committed(all);
}

void model_abort(struct model_world *world, int index) {
    if (is_open(&world->state.txns[index]))
        database_end(world, index, TXN_LOST);
}

void model_abort_idle(struct model_world *world) {
    for (int i = 0; i <= world->setup.orders; i++) {
        const struct model_txn *txn = &world->state.txns[i];

        if (is_open(txn) && txn->idle_ms <= world->state.now_ms &&
            world->state.orders[i].waits != WAITS_ROW)
            database_end(world, i, TXN_LOST);
    }
}

static enum outcome database_fail(struct model_sale *sale, enum outcome outcome) {
    if (is_in_transaction(sale))
        database_end(sale->world, sale->index, TXN_FAILED);
    if (outcome == OUTCOME_CONFLICT)
        (void)snprintf(sale->sale.message, MESSAGE_BYTES, "%s", outcome_text(outcome));
    return outcome;
}

/* ---- visibility */

static void take_snapshot(struct model_sale *sale) {
    struct model_state *state = &sale->world->state;
    struct model_txn *txn = txn_of(sale);

    if (txn->state != TXN_SERIALIZABLE || txn->has_snapshot != 0)
        return;
    txn->has_snapshot = 1;
    txn->before = state->sold_count;
    for (int i = 0; i < sale->sale.options->shards; i++) {
        const struct stock_row row = model_row(sale->world, i);

        state->seen[sale->index][i] = (struct model_seen){
            (int32_t)row.available, (int32_t)row.version, (int32_t)row.unit, (int32_t)row.fence};
    }
}

static struct stock_row database_see(struct model_sale *sale, int shard) {
    const struct model_seen *seen = &sale->world->state.seen[sale->index][shard];
    const struct model_txn *txn = txn_of(sale);
    const struct model_write *write =
        is_open(txn) ? cycles_find_write(&sale->world->state, (size_t)sale->index, shard) : NULL;
    struct stock_row row = model_row(sale->world, shard);

    if (is_serial(txn)) {
        row.available = seen->available;
        row.version = seen->version;
        row.unit = seen->unit;
        row.fence = seen->fence;
    }
    if (write != NULL) {
        row.available = write->available;
        row.unit = model_unit_at(sale->world, shard, row.available);
        row.version++;
        row.fence = write->fence > row.fence ? write->fence : row.fence;
    }
    return row;
}

static bool is_overtaken(struct model_sale *sale, int shard) {
    return is_serial(txn_of(sale)) && (txn_of(sale)->overtaken >> shard & 1) != 0;
}

static enum outcome begin_step(struct model_sale *sale) {
    struct model_txn *txn = txn_of(sale);

    if (!is_in_transaction(sale))
        return OUTCOME_OK;
    if (!is_open(txn)) {
        (void)snprintf(sale->sale.message, MESSAGE_BYTES, "the transaction had %s",
                       txn->state == TXN_LOST ? "stood idle for too long" : "failed");
        return txn->state == TXN_LOST ? OUTCOME_BUSY : OUTCOME_FAILED;
    }
    if (txn->is_doomed != 0)
        return database_fail(sale, OUTCOME_CONFLICT);
    take_snapshot(sale);
    txn->idle_ms = sale->world->state.now_ms + IDLE_MS;
    return OUTCOME_OK;
}

/* ---- the wait for a row */

bool model_is_held_by_other(const struct model_world *world, int index, int shard) {
    const int holder = world->state.rows[shard].holder;

    return holder >= 0 && holder != index;
}

/* True if the row's holder waits, directly or through others, for a row of order `index`. */
static bool is_deadlock(const struct model_world *world, int index, int shard) {
    int at = world->state.rows[shard].holder;

    for (int i = 0; i <= MODEL_ORDERS && at >= 0 && at != index; i++) {
        const struct model_order *order = &world->state.orders[at];

        at = order->waits == WAITS_ROW ? world->state.rows[order->wait_shard].holder : -1;
    }
    return at == index;
}

enum outcome model_wait_for_row(struct model_sale *sale, int shard, int64_t most_ms) {
    struct model_world *world = sale->world;
    const int64_t begun_ms = world->state.now_ms;
    int64_t due_ms = begun_ms + (most_ms < DEADLOCK_MS ? most_ms : DEADLOCK_MS);

    while (model_is_held_by_other(world, sale->index, shard)) {
        model_say(sale, "waits for %s: another transaction holds %s",
                  sale->sale.options->is_cart ? name_of_row(sale, shard) : "the row",
                  sale->sale.options->is_cart ? "its row" : "it");
        order_of(sale)->wait_shard = (uint8_t)shard;
        model_wait(sale, WAITS_ROW, due_ms);
        if (!model_is_held_by_other(world, sale->index, shard))
            break;
        if (is_deadlock(world, sale->index, shard)) {
            order_of(sale)->has_deadlocked = 1;
            model_say(sale, "finds a deadlock (40P01): the holder waits for a row of %c",
                      'A' + sale->index);
            return OUTCOME_CONFLICT;
        }
        if (world->state.now_ms >= begun_ms + most_ms) {
            (void)snprintf(sale->sale.message, MESSAGE_BYTES, "other sales hold the stock");
            return OUTCOME_BUSY;
        }
        due_ms = begun_ms + most_ms;
    }
    order_of(sale)->wait_shard = 0;
    if (is_open(txn_of(sale)))
        txn_of(sale)->idle_ms = world->state.now_ms + IDLE_MS;
    return OUTCOME_OK;
}

/* ---- reads */

static uint16_t *seen_empty(struct model_sale *sale) {
    return &sale->world->state.seen_empty[order_of(sale)->instance];
}

/* A single row is not noted: no strategy asks for it, and it would make equal worlds differ. */
static void database_note_empty(struct model_sale *sale, const struct stock_row *row) {
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

    model_step(sale, STEP_LOOKS);
    outcome = begin_step(sale);
    if (outcome != OUTCOME_OK)
        return model_answer(sale, outcome, NULL, 0);
    if (model_has_no_row(sale, shard))
        return model_answer(sale, OUTCOME_FAILED, NULL, 0);
    if (!cycles_note(sale, shard, false))
        return model_answer(sale, database_fail(sale, OUTCOME_CONFLICT), NULL, 0);
    *row = database_see(sale, shard);
    database_note_empty(sale, row);
    model_say(sale, "reads %s: %" PRId64 " left", name_of_row(sale, shard), row->available);
    return model_answer_row(sale, row);
}

/* Read one row for update. OK: the transaction holds it. SOLD_OUT: it has no unit left; only with
 * `must_have_units`, for ANY_SHARD. */
static enum outcome win_for_update(struct model_sale *sale, int shard, enum row_wait wait,
                                   int64_t most_ms, bool must_have_units) {
    struct model_world *world = sale->world;
    enum outcome outcome;

    if (!cycles_note(sale, shard, false) || is_overtaken(sale, shard))
        return OUTCOME_CONFLICT;
    if (wait != ROW_WAIT && model_is_held_by_other(world, sale->index, shard))
        return OUTCOME_BUSY;
    outcome = model_wait_for_row(sale, shard, most_ms);
    if (outcome != OUTCOME_OK)
        return outcome;
    if (is_overtaken(sale, shard))
        return OUTCOME_CONFLICT;
    if (must_have_units && database_see(sale, shard).available <= 0)
        return OUTCOME_SOLD_OUT;
    world->state.rows[shard].holder = sale->index;
    return OUTCOME_OK;
}

/* Try the rows that had units when the statement began, from the dealt row on. Skip a row that lost
 * its last unit during the wait for it. */
static enum outcome win_any(struct model_sale *sale, enum row_wait wait, int64_t most_ms,
                            int *shard) {
    const int shards = sale->sale.options->shards, first = sale->sale.ops->deal(&sale->sale);
    uint32_t with_units = 0;

    for (int i = 0; i < shards; i++)
        with_units |= (uint32_t)(database_see(sale, i).available > 0) << i;
    if (with_units == 0)
        return OUTCOME_SOLD_OUT;
    for (int i = 0; i < shards; i++) {
        enum outcome outcome;

        *shard = (first + i) % shards;
        if ((with_units >> *shard & 1U) == 0)
            continue;
        outcome = win_for_update(sale, *shard, wait, most_ms, true);
        if (outcome != OUTCOME_SOLD_OUT && !(outcome == OUTCOME_BUSY && wait == ROW_SKIP_LOCKED))
            return outcome;
    }
    return OUTCOME_BUSY;
}

static enum outcome read_for_update(struct model_sale *sale, int *shard, enum row_wait wait) {
    const int64_t left_ms =
        order_of(sale)->begun_ms + sale->sale.options->wait_ms - sale->world->state.now_ms;
    const int64_t most_ms = left_ms > SERVER_MS ? SERVER_MS : left_ms > 0 ? left_ms : 1;
    enum outcome outcome = begin_step(sale);

    if (outcome != OUTCOME_OK)
        return outcome;
    if (*shard == ANY_SHARD)
        outcome = win_any(sale, wait, most_ms, shard);
    else if (model_has_no_row(sale, *shard))
        return OUTCOME_FAILED;
    else
        outcome = win_for_update(sale, *shard, wait, most_ms, false);
    if (outcome == OUTCOME_BUSY)
        (void)snprintf(sale->sale.message, MESSAGE_BYTES, "other sales hold the stock");
    /* A skipped row, or a lack of units, is not a refusal, so the transaction goes on. */
    return outcome == OUTCOME_CONFLICT || (outcome == OUTCOME_BUSY && wait != ROW_SKIP_LOCKED)
               ? database_fail(sale, outcome)
               : outcome;
}

enum outcome model_read_for_update(struct sale *base, int shard, enum row_wait wait,
                                   struct stock_row *row) {
    struct model_sale *sale = model_of(base);
    enum outcome outcome;

    assert(is_in_transaction(sale));
    model_step(sale, STEP_LOOKS);
    outcome = read_for_update(sale, &shard, wait);
    if (outcome != OUTCOME_OK) {
        if (order_of(sale)->has_deadlocked == 0)
            model_say(sale, "reads %s for update: %s", name_of_row(sale, shard),
                      outcome_text(outcome));
        return model_answer(sale, outcome, NULL, 0);
    }
    *row = database_see(sale, shard);
    model_say(sale, "reads %s for update: %" PRId64 " left", name_of_row(sale, shard),
              row->available);
    return model_answer_row(sale, row);
}

/* ---- writes */

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

static bool is_line(const struct model_sold *sold, int shard) {
    return sold->is_there && sold->shard == shard;
}

/* True if the ledger has this order, or will have it when this transaction commits. Of a cart: if it
 * has the order's unit of this row. */
static bool database_is_sold(struct model_sale *sale, int shard) {
    const struct model_state *state = &sale->world->state;

    if (sale->sale.options->is_cart)
        return is_line(&state->sold[sale->ledger], shard) ||
               is_line(&state->seconds[sale->ledger].sold, shard) ||
               (is_in_transaction(sale) &&
                cycles_find_write(state, (size_t)sale->index, shard) != NULL);
    return state->sold[sale->ledger].is_there ||
           (is_in_transaction(sale) && txn_of(sale)->wrote != 0);
}

/* Like Postgres, check the guard before the wait for the row, and again after it. OK: the sale can
 * write the row. */
static enum outcome database_win_row(struct model_sale *sale, const struct stock_row *seen,
                                     enum guard guard, int64_t fence) {
    struct stock_row now = database_see(sale, seen->shard);
    enum outcome outcome;

    if (!cycles_note(sale, seen->shard, false))
        return database_fail(sale, OUTCOME_CONFLICT);
    if (!holds(guard, &now, seen, fence))
        return OUTCOME_CONFLICT;
    if (is_overtaken(sale, seen->shard))
        return database_fail(sale, OUTCOME_CONFLICT);
    outcome = model_wait_for_row(sale, seen->shard, SERVER_MS);
    if (outcome != OUTCOME_OK)
        return database_fail(sale, outcome);
    if (is_overtaken(sale, seen->shard))
        return database_fail(sale, OUTCOME_CONFLICT);
    now = database_see(sale, seen->shard);
    if (!holds(guard, &now, seen, fence))
        return OUTCOME_CONFLICT;
    if (!cycles_note(sale, seen->shard, true))
        return database_fail(sale, OUTCOME_CONFLICT);
    return database_is_sold(sale, seen->shard) ? database_fail(sale, OUTCOME_REPEATED) : OUTCOME_OK;
}

static enum outcome write_row(struct model_sale *sale, const struct stock_row *seen,
                              int64_t fence) {
    struct model_state *state = &sale->world->state;
    struct model_txn *txn = txn_of(sale);
    const struct model_write written = {.available = (int32_t)seen->available - 1,
                                        .unit = (int32_t)seen->unit,
                                        .fence = (int32_t)fence};

    model_say(sale, "writes %d%s%s, and sells unit %d%s", written.available,
              sale->sale.options->is_cart ? " to " : "",
              sale->sale.options->is_cart ? name_of_row(sale, seen->shard) : "", written.unit,
              is_in_transaction(sale) ? " once it commits" : "");
    if (!is_in_transaction(sale))
        return model_sell_unit(sale, seen->shard, &written);
    if (txn->wrote == 0) {
        txn->wrote = (uint8_t)(seen->shard + 1);
        txn->write = written;
    } else {
        txn->wrote_second = (uint8_t)(seen->shard + 1);
        state->seconds[sale->index].write = written;
    }
    state->rows[seen->shard].holder = sale->index;
    return OUTCOME_SOLD;
}

enum outcome model_write_stock(struct sale *base, const struct stock_row *seen, enum guard guard,
                               const struct store_lock *under) {
    struct model_sale *sale = model_of(base);
    const int64_t fence = under != NULL ? under->fence : seen->token;
    enum outcome outcome;

    model_step(sale, STEP_WRITES);
    outcome = begin_step(sale);
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
        outcome = database_win_row(sale, seen, guard, fence);
    if (outcome == OUTCOME_OK)
        outcome = write_row(sale, seen, fence);
    else if (order_of(sale)->has_deadlocked == 0)
        model_say(sale, "writes %" PRId64 ": %s", seen->available - 1, outcome_text(outcome));
    return model_answer(sale, outcome, NULL, 0);
}

static enum outcome database_take(struct model_sale *sale, int shard) {
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
    if (database_is_sold(sale, shard))
        return OUTCOME_REPEATED;
    row.unit = row.first_unit + row.available - 1; /* also if a unit came back to the count */
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
        outcome = database_take(sale, shard);
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

    /* The write is not part of a transaction that its order has begun since. */
    if (is_in_transaction(sale))
        memset(txn_of(sale), 0, sizeof now);
    if (flight->is_take != 0) {
        outcome = database_take(sale, flight->shard);
    } else {
        outcome = database_win_row(sale, &seen, (enum guard)flight->guard, flight->fence);
        if (outcome == OUTCOME_OK)
            outcome = write_row(sale, &seen, flight->fence);
    }
    *txn_of(sale) = now;
    if (outcome == OUTCOME_SOLD)
        model_note_written(sale->world, flight->shard); /* also for the order's own transaction */
    else
        model_say(sale, "its write arrives: %s", outcome_text(outcome));
}

enum outcome model_find_sale(struct sale *base, bool *is_found) {
    struct model_sale *sale = model_of(base);

    model_step(sale, STEP_LOOKS);
    *is_found = sale->world->state.sold[sale->ledger].is_there;
    model_say(sale, "looks the order up: %s", *is_found ? "it is sold" : "not there");
    return model_answer(sale, OUTCOME_OK, is_found, sizeof *is_found);
}

/* ---- transactions */

enum outcome model_begin_transaction(struct sale *base, enum isolation isolation) {
    struct model_sale *sale = model_of(base);
    struct model_txn *txn = txn_of(sale);

    assert(!is_in_transaction(sale));
    memset(txn, 0, sizeof *txn);
    order_of(sale)->has_deadlocked = 0;
    txn->state = isolation == SERIALIZABLE ? TXN_SERIALIZABLE : TXN_READ_COMMITTED;
    txn->idle_ms = sale->world->state.now_ms + IDLE_MS;
    return model_answer(sale, OUTCOME_OK, NULL, 0);
}

static enum outcome sell_writes(struct model_sale *sale) {
    const struct model_txn *txn = txn_of(sale);

    (void)model_sell_unit(sale, txn->wrote - 1, &txn->write);
    if (txn->wrote_second != 0)
        (void)model_sell_unit(sale, txn->wrote_second - 1,
                              &sale->world->state.seconds[sale->index].write);
    return OUTCOME_SOLD;
}

enum outcome model_commit(struct sale *base) {
    struct model_sale *sale = model_of(base);
    struct model_txn *txn = txn_of(sale);
    const int second = txn->wrote_second, unit = txn->write.unit;
    enum outcome outcome;

    assert(is_in_transaction(sale));
    if (!model_arrives(sale, STEP_SELLS)) {
        database_end(sale->world, sale->index, TXN_NONE);
        return OUTCOME_UNKNOWN;
    }
    outcome = begin_step(sale);
    if (outcome == OUTCOME_OK && txn->wrote != 0) {
        cycles_doom(sale);
        outcome = sell_writes(sale);
    }
    database_end(sale->world, sale->index,
                 outcome == OUTCOME_SOLD && is_serial(txn) ? TXN_COMMITTED : TXN_NONE);
    if (outcome == OUTCOME_SOLD && second != 0)
        model_say(sale, "commits: units %d and %d are sold",
                  (int)sale->world->state.sold[sale->ledger].unit,
                  (int)sale->world->state.seconds[sale->ledger].sold.unit);
    else if (outcome == OUTCOME_SOLD)
        model_say(sale, "commits: unit %d is sold", unit);
    else
        model_say(sale, "commits: %s", outcome_text(outcome));
    return model_answer(sale, model_may_lose(sale, outcome), NULL, 0);
}

static bool has_row(struct model_sale *sale) {
    for (int i = 0; i < sale->sale.options->shards; i++)
        if (sale->world->state.rows[i].holder == sale->index)
            return true;
    return false;
}

/* A transaction that holds nothing ends without a step, because no other order can see it. */
void model_rollback(struct sale *base) {
    struct model_sale *sale = model_of(base);

    assert(is_in_transaction(sale));
    if (has_row(sale) || is_serial(txn_of(sale))) {
        model_step(sale, STEP_LOOKS);
        model_say(sale, "rolls back");
    }
    database_end(sale->world, sale->index, TXN_NONE);
    (void)model_answer(sale, OUTCOME_OK, NULL, 0);
}
