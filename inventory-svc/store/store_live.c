/* The live store: stock and ledger, batches, transactions, and a sale's time. Locks, raw keys and
 * the lab's events are in lock_live.c.
 *
 * An unanswered write that the ledger does not have may still land, because its statement may still
 * be running. So the next sale does not get the lock before the statement's deadline plus LAND_MS.
 * After that deadline the server does not begin the statement. The server compares the deadline
 * with its own clock, which the sale read together with the stock.
 *
 * A write under a lease first takes a connection and prepares the statement on it. Both may wait.
 * Only then it checks the lease, so nothing lies between that check and the sending. The write does
 * not begin if the sale's own time would end before the server's definite answer. */
#include "store_live_internal.h"

#include "backoff.h"
#include "batcher.h"
#include "buffer.h"
#include "clock.h"
#include "fiber.h"
#include "log.h"
#include "made_note.h"
#include "number.h"
#include "pg_array.h"
#include "reservation_sql.h"
#include "stock_sql.h"
#include "text_copy.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STATEMENTS_MS    3000 /* for all statements of a sale together */
#define LAST_LOOK_MS     500  /* for a look at the ledger after a sale's deadline */
#define LOOK_UP_MS       1000 /* with the lock held: others wait for it, and then for its TTL */
#define NONE_RETURNED_MS 100
#define PAUSE_LEAST_MS   2
#define PAUSE_MOST_MS    32
#define BATCH_MOST       256
#define BATCH_LIMIT      4096 /* most sales that may wait for a row */
#define BATCH_TRIES      2

int64_t live_due_ms(const struct live_sale *live) {
    return number_min(statement_deadline_ms(), live->deadline_ms);
}

/* A write's connection. A transaction keeps its own. */
static void live_give_back_conn(struct live_sale *live) {
    if (live->conn == NULL || live->is_transaction)
        return;
    pg_give_back(live->conn);
    live->conn = NULL;
}

/* ---- Failpoints */

static enum outcome pass_one(struct sale *sale, enum fail_point point, size_t which) {
    struct live_sale *live = live_of(sale);
    struct failpoint *failpoint = &live->product->spec.failpoints[which];
    enum fail_action action =
        failpoint_pass(failpoint, live->store->instance, point, &live->has_passed[which]);
    int64_t begun_ns;

    if (action == FAIL_NOTHING)
        return OUTCOME_OK;
    begun_ns = clock_now_ns();
    log_warn("failpoint", "order=%s product=%s point=%s action=%s", live->order_id,
             live->product->id, fail_points[point], fail_actions[action].text);
    live_tell_firing(live, point, action, failpoint->ms);
    failpoint_act(failpoint, action, live->store->loop);
    live->write_begun_ns += clock_now_ns() - begun_ns;
    if (action == FAIL_DROP_REPLY)
        live->is_reply_dropped = true;
    if (action != FAIL_ERROR)
        return OUTCOME_OK;
    live_give_back_conn(live); /* no write follows */
    (void)why_set(live->why, "failpoint %s: error", fail_points[point]);
    return OUTCOME_FAILED;
}

/* OK, or FAILED when one of the product's failpoints makes this sale fail here. */
static enum outcome store_live_pass(struct sale *sale, enum fail_point point) {
    enum outcome outcome = OUTCOME_OK;

    for (size_t i = 0; i < SPEC_FAILPOINTS; i++)
        if (pass_one(sale, point, i) != OUTCOME_OK)
            outcome = OUTCOME_FAILED;
    return outcome;
}

/* ---- Stock and ledger */

enum outcome live_sale_confirm(struct live_sale *live, bool *is_found, struct reservation *found) {
    char order_ids[UUID_TEXT + 4];
    size_t count;
    enum outcome outcome;

    (void)snprintf(order_ids, sizeof order_ids, "[\"%s\"]", live->order_id);
    live->cost.postgres++;
    outcome = reservation_sql_confirm(
        live->store->pool, order_ids,
        number_min(statement_deadline_ms(), live->deadline_ms + LAST_LOOK_MS), 1, found, &count,
        live->why);
    *is_found = count > 0;
    return outcome;
}

static uint64_t row_bit(int shard) {
    return (uint64_t)1 << (unsigned)shard % 64;
}

static bool live_saw_empty(struct sale *sale, int shard) {
    return sale->options->shards > 1 && (live_of(sale)->product->seen_empty & row_bit(shard)) != 0;
}

static void store_live_note_empty(struct product *product, const struct stock_row *row) {
    if (row->available <= 0)
        product->seen_empty |= row_bit(row->shard);
    else
        product->seen_empty &= ~row_bit(row->shard);
}

static enum outcome live_read_stock(struct sale *sale, int shard, struct stock_row *row) {
    struct live_sale *live = live_of(sale);
    const struct stock_read read = {.on = live->conn,
                                    .product_id = live->product->id,
                                    .shard = shard,
                                    .returns_to_count = sale->options->returns_to_count,
                                    .deadline_ms = live_due_ms(live)};
    enum outcome outcome;
    int64_t server_us;

    live->cost.postgres++;
    outcome = stock_sql_read(live->store->pool, &read, row, &server_us, live->why);
    if (outcome != OUTCOME_OK)
        return outcome;
    live->server_ahead_us = server_us - clock_now_ms() * 1000; /* at least so much */
    lock_saw_fence(&live->lock, row->fence);
    store_live_note_empty(live->product, row);
    return OUTCOME_OK;
}

/* An unanswered write keeps its own message, which is more precise. */
static enum outcome live_find_sale(struct sale *sale, bool *is_found) {
    struct live_sale *live = live_of(sale);
    const bool is_unknown = live->lands_until_ms != 0;
    int64_t due_ms = clock_now_ms() + (is_unknown ? LOOK_UP_MS : STATEMENT_MS);
    struct why ignored;
    struct reservation found;

    live->cost.postgres++;
    return reservation_sql_find(live->store->pool, live->order_id,
                                number_min(due_ms, live->deadline_ms + LAST_LOOK_MS), is_found,
                                &found, is_unknown ? &ignored : live->why);
}

struct reservation *live_begin_sold(struct live_sale *live, int shard) {
    struct reservation *sold = &live->sold;

    *sold = (struct reservation){.shard = shard};
    text_copy(sold->order_id, sizeof sold->order_id, live->order_id);
    text_copy(sold->product_id, sizeof sold->product_id, live->product->id);
    text_copy(sold->instance, sizeof sold->instance, live->store->instance);
    text_copy(sold->price, sizeof sold->price, live->product->row.price);
    return sold;
}

static enum outcome live_note_sold(struct live_sale *live) {
    const struct reservation *sold = &live->sold;

    live->cost.commit_ns = clock_now_ns() - live->write_begun_ns;
    live->cost.shard = live->sale.shard = sold->shard;
    live->sale.unit = sold->unit;
    live->sale.remaining = sold->remaining;
    live->sale.fence = sold->fence;
    live->is_first_sold = true;
    return OUTCOME_SOLD;
}

enum outcome live_end_sold(struct live_sale *live, enum outcome outcome, int64_t due_ms) {
    if (live->is_transaction)
        return outcome == OUTCOME_UNKNOWN ? OUTCOME_BUSY : outcome;
    if (outcome == OUTCOME_UNKNOWN)
        live->lands_until_ms = due_ms + LAND_MS;
    return outcome == OUTCOME_SOLD ? live_note_sold(live) : outcome;
}

static enum outcome live_hold_conn(struct live_sale *live, int64_t deadline_ms) {
    assert(live->conn == NULL);
    live->conn = pg_hold(live->store->pool, deadline_ms);
    if (live->conn != NULL)
        return OUTCOME_OK;
    (void)why_set(live->why, "waited too long for a connection to the database");
    return OUTCOME_BUSY;
}

static enum outcome prepare_fenced_write(struct live_sale *live, enum guard guard) {
    int64_t ready_ms = number_min(live_due_ms(live), live->deadline_ms - SERVER_MS);
    enum outcome outcome = live->is_transaction ? OUTCOME_OK : live_hold_conn(live, ready_ms);

    return outcome == OUTCOME_OK
               ? stock_sql_prepare_write(live->store->pool, live->conn, guard, ready_ms, live->why)
               : outcome;
}

static enum outcome live_check_write(struct sale *sale, enum guard guard,
                                     const struct store_lock *under) {
    struct live_sale *live = live_of(sale);
    enum outcome outcome = OUTCOME_OK;

    live->write_begun_ns = clock_now_ns();
    if (under != NULL && lock_fence(under) != 0)
        outcome = prepare_fenced_write(live, guard);
    if (outcome == OUTCOME_OK && under != NULL)
        outcome = lock_check(under);
    if (outcome != OUTCOME_OK)
        live_give_back_conn(live);
    return outcome;
}

static enum outcome live_write_stock(struct sale *sale, const struct stock_row *seen,
                                     enum guard guard, const struct store_lock *under) {
    struct live_sale *live = live_of(sale);
    const bool is_second = live->first_of_cart != 0 && live->first_of_cart != 1 + seen->shard;
    const struct reservation before = live->sold;
    struct reservation *sold = live_begin_sold(live, seen->shard);
    int64_t due_ms = live_due_ms(live);
    const struct stock_write write = {.on = live->conn,
                                      .guard = guard,
                                      .is_second = is_second,
                                      .seen = seen,
                                      .not_after_us = due_ms * 1000 + live->server_ahead_us,
                                      .deadline_ms = due_ms};
    enum outcome outcome;

    sold->unit = seen->unit;
    sold->remaining = seen->available - 1;
    sold->fence = under != NULL ? lock_fence(under) : seen->token;
    live->cost.postgres++;
    outcome = stock_sql_write(live->store->pool, &write, sold, live->why);
    if (is_second)
        *sold = before; /* the sale's own unit is the cart's first */
    else if (outcome == OUTCOME_SOLD && sale->options->is_cart)
        live->first_of_cart = 1 + seen->shard;
    live_give_back_conn(live);
    return live_end_sold(live, outcome, due_ms);
}

static enum outcome live_take_stock(struct sale *sale, int shard) {
    struct live_sale *live = live_of(sale);
    struct reservation *sold = live_begin_sold(live, shard);
    int64_t due_ms = live_due_ms(live);

    assert(!live->is_transaction);
    live->write_begun_ns = clock_now_ns();
    live->cost.postgres++;
    return live_end_sold(live, stock_sql_take(live->store->pool, sold, due_ms, live->why), due_ms);
}

/* After it finds none, this instance does not look again for 100 ms, because every request comes
 * here once the stock is sold out. So it refuses a unit that came back through another instance for
 * at most so long. */
static enum outcome live_take_returned(struct sale *sale) {
    struct live_sale *live = live_of(sale);
    struct product *product = live->product;
    int64_t begun_ms = clock_now_ms(), due_ms = live_due_ms(live);
    struct reservation *sold;
    enum outcome outcome;

    if (begun_ms < product->none_returned_until_ms)
        return OUTCOME_SOLD_OUT;
    sold = live_begin_sold(live, 0);
    live->write_begun_ns = clock_now_ns();
    live->cost.postgres++;
    outcome = stock_sql_take_returned(live->store->pool, sold, due_ms, live->why);
    if (outcome == OUTCOME_SOLD_OUT)
        product->none_returned_until_ms = begun_ms + NONE_RETURNED_MS;
    return live_end_sold(live, outcome, due_ms);
}

/* ---- Batches: one statement sells to all waiting sales of a row, in the fiber of the first.
 *
 * It sells to all or to none:
 *
 *     the ledger has one of the orders     all are refused; a second statement looks for each order
 *                                          in the ledger first, which costs a third more
 *     the ledger gets one during that      all are refused, and each sale goes alone
 *     the server does not answer           all are unknown, and each looks itself up
 *     the ledger took fewer than sold      the same */

/* A sale in a batch, on its fiber's stack. */
struct member {
    struct batcher_call call; /* first: the batcher gives it back */
    struct live_sale *live;
    int shard;
    int64_t asked_ns;
    int64_t due_ms;       /* of the statement */
    enum outcome outcome; /* OK: none of its own, it must go alone */
};

#define EACH_MEMBER(member, batch)                                                                 \
    struct member *member = (void *)TAILQ_FIRST(batch);                                            \
    member != NULL;                                                                                \
    member = (void *)TAILQ_NEXT(&member->call, entry)

/* Begin all. Returns the statement's deadline, so that no sale ends before it. */
static int64_t batch_begin_all(const struct batcher_calls *batch) {
    int64_t now_ns = clock_now_ns(), due_ms = INT64_MAX;

    for (EACH_MEMBER(member, batch)) {
        struct live_sale *live = member->live;

        (void)live_begin_sold(live, member->shard);
        live->write_begun_ns = now_ns;
        live->cost.wait_ns = now_ns - member->asked_ns;
        due_ms = number_min(due_ms, live_due_ms(live));
    }
    for (EACH_MEMBER(member, batch))
        member->due_ms = due_ms;
    return due_ms;
}

static bool batch_list_orders(const struct batcher_calls *batch, unsigned count,
                              struct buffer *ids) {
    bool is_well = pg_array_begin(ids, PG_UUID, count);

    for (EACH_MEMBER(member, batch))
        is_well = is_well && pg_array_uuid(ids, member->live->order_id);
    return is_well;
}

static void end_alike(const struct batcher_calls *batch, enum outcome outcome,
                      const struct why *why) {
    for (EACH_MEMBER(member, batch)) {
        member->outcome = outcome;
        *member->live->why = *why;
    }
}

/* The order was not new. Either the ledger has it, or an earlier member of the batch had it. */
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
    const char *places = sale->places; /* "{1,2,5}": one character stands before each */
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

static void batch_sell_to_all(void *data, const struct batcher_calls *batch, unsigned count) {
    struct buffer order_ids = {0};
    struct why why = {"out of memory"};
    const struct member *leader = (const void *)TAILQ_FIRST(batch);
    struct batch_sale sale = {.product_id = leader->live->product->id,
                              .instance = leader->live->store->instance,
                              .shard = leader->shard,
                              .order_ids = &order_ids,
                              .deadline_ms = batch_begin_all(batch)};
    enum outcome outcome =
        batch_list_orders(batch, count, &order_ids) ? OUTCOME_REPEATED : OUTCOME_BUSY;

    (void)data;
    assert(count <= BATCH_MOST);
    for (int tries = 0; tries < BATCH_TRIES && outcome == OUTCOME_REPEATED; tries++) {
        for (EACH_MEMBER(member, batch))
            member->live->cost.postgres++;
        sale.has_repeats = tries > 0;
        outcome = stock_sql_take_batch(leader->live->store->pool, &sale, &why);
        if (outcome == OUTCOME_OK && !end_each(batch, &sale)) {
            outcome = OUTCOME_UNKNOWN;
            (void)why_set(&why, "the ledger did not take every sale of a batch");
        }
        pg_query_clear(&sale.query);
    }
    buffer_free(&order_ids);
    if (outcome != OUTCOME_OK)
        end_alike(batch, outcome == OUTCOME_REPEATED ? OUTCOME_OK : outcome, &why);
}

/* NULL without memory. */
static struct batcher *batcher_of(struct product *product, int shard) {
    int rows = product->spec.options.shards;

    assert(shard >= 0 && shard < rows);
    if (product->batchers == NULL) {
        product->batchers = calloc((size_t)rows, sizeof *product->batchers);
        for (int i = 0; i < rows && product->batchers != NULL; i++) {
            product->batchers[i] = (struct batcher){
                .lanes = 1, .most = BATCH_MOST, .limit = BATCH_LIMIT, .run = batch_sell_to_all};
            batcher_init(&product->batchers[i]);
        }
    }
    return product->batchers != NULL ? &product->batchers[shard] : NULL;
}

static enum outcome batch_refuse(struct member *member, const char *why) {
    struct live_sale *live = member->live;

    live->cost.wait_ns = clock_now_ns() - member->asked_ns;
    (void)why_set(live->why, "%s", why);
    return OUTCOME_BUSY;
}

static enum outcome live_take_in_batch(struct sale *sale, int shard) {
    struct live_sale *live = live_of(sale);
    struct member member = {.live = live, .shard = shard, .asked_ns = clock_now_ns()};
    int64_t wait_until_ms = clock_now_ms() + sale->options->wait_ms;
    struct batcher *batcher;

    assert(!live->is_transaction);
    if (shard < 0 || shard >= sale->options->shards)
        return OUTCOME_SOLD_OUT; /* there is no such row */
    batcher = batcher_of(live->product, shard);
    if (batcher == NULL)
        return batch_refuse(&member, "out of memory");
    if (!batcher_await(batcher, &member.call, number_min(wait_until_ms, live->deadline_ms)))
        return batch_refuse(&member, member.call.is_late
                                         ? "no batch took it in time"
                                         : "too many sales of this product wait for a batch");
    if (member.outcome == OUTCOME_OK)
        return live_take_stock(sale, shard);
    return live_end_sold(live, member.outcome, member.due_ms);
}

/* ---- Transactions: a connection of the pool, held from begin to commit or rollback. All steps of
 * the sale on the stock run on it.
 *
 * An unanswered step before the COMMIT has sold nothing: the connection is closed, and the server
 * rolls back. An unanswered COMMIT may still land. The server reads it at the latest IDLE_MS after
 * the write, when it would end an idle transaction. Then it needs COMMIT_MS. */

static enum outcome live_begin(struct sale *sale, enum isolation isolation) {
    struct live_sale *live = live_of(sale);
    const int64_t wait_ms = live->lock_deadline_ms, usual_ms = live_due_ms(live);
    enum outcome outcome;

    /* Sales that wait for the row also keep connections from others, so both waits are one. */
    outcome = live_hold_conn(live, wait_ms > usual_ms ? wait_ms : usual_ms);
    if (outcome != OUTCOME_OK)
        return outcome;
    live->cost.postgres++;
    outcome = transaction_sql_begin(live->store->pool, live->conn, isolation, live_due_ms(live),
                                    live->why);
    live->is_transaction = outcome == OUTCOME_OK;
    if (outcome != OUTCOME_OK)
        live_give_back_conn(live);
    return outcome;
}

/* A read that waited for the row sees the places of returned units as they were before its wait. So
 * a statement of its own looks for the last unit. */
static enum outcome live_read_for_update(struct sale *sale, int shard, enum row_wait wait,
                                         struct stock_row *row) {
    struct live_sale *live = live_of(sale);
    const struct row_wanted wanted = {
        .product_id = live->product->id,
        .shard = shard,
        .first = shard == ANY_SHARD ? sale->ops->deal(sale) : 0,
        .shards = sale->options->shards,
        .wait = wait,
        .wait_ms = number_min(live->lock_deadline_ms - clock_now_ms(), SERVER_MS)};
    enum outcome outcome;
    int64_t server_us;

    assert(live->is_transaction);
    live->cost.postgres++;
    outcome = transaction_sql_read(live->store->pool, live->conn, &wanted, row, &server_us,
                                   live_due_ms(live), live->why);
    if (outcome != OUTCOME_OK)
        return outcome;
    live->server_ahead_us = server_us - clock_now_ms() * 1000;
    return sale->options->returns_to_count ? live_read_stock(sale, row->shard, row) : OUTCOME_OK;
}

/* Other sales get the connection once the server has rolled back. */
static void live_end(struct sale *sale) {
    struct live_sale *live = live_of(sale);

    assert(live->is_transaction && live->conn != NULL);
    live->is_transaction = false;
    if (!live->is_first_sold)
        live->first_of_cart = 0;
    live_give_back_conn(live);
}

static enum outcome live_commit(struct sale *sale) {
    struct live_sale *live = live_of(sale);
    int64_t due_ms = live_due_ms(live);
    const int64_t lands_until_ms = clock_now_ms() + IDLE_MS + COMMIT_MS;
    enum outcome outcome;

    assert(live->is_transaction);
    live->cost.postgres++;
    outcome = transaction_sql_commit(live->store->pool, live->conn, due_ms, live->why);
    if (outcome == OUTCOME_OK)
        outcome = live_note_sold(live);
    live_end(sale);
    if (outcome == OUTCOME_UNKNOWN)
        live->lands_until_ms = lands_until_ms;
    return outcome;
}

/* ---- The rest */

static int store_live_deal(struct sale *sale) {
    unsigned next = 0;

    if (sale->options->deal == DEAL_EVEN)
        next = live_of(sale)->product->next_shard++;
    else
        (void)uv_random(NULL, NULL, &next, sizeof next, 0, NULL);
    return (int)(next % (unsigned)sale->options->shards);
}

static void random_token(struct sale *sale, char token[TOKEN_TEXT]) {
    unsigned char bytes[(TOKEN_TEXT - 1) / 2] = {0};
    int err = uv_random(NULL, NULL, bytes, sizeof bytes, 0, NULL);

    (void)sale;
    assert(err == 0);
    (void)err;
    for (size_t i = 0; i < sizeof bytes; i++)
        (void)snprintf(token + 2 * i, 3, "%02x", bytes[i]);
}

static enum outcome store_live_pause_before_retry(struct sale *sale) {
    struct live_sale *live = live_of(sale);
    uint64_t ms = 1 + backoff_ms(sale->pauses, PAUSE_LEAST_MS, PAUSE_MOST_MS);

    if (clock_now_ms() + (int64_t)ms > live->lock_deadline_ms) {
        live_give_up(live);
        (void)why_set(live->why, "gave up after %u attempts", sale->pauses + 1);
        return OUTCOME_BUSY;
    }
    live->cost.retries++;
    fiber_sleep(live->store->loop, ms);
    return OUTCOME_OK;
}

static bool store_live_work(struct sale *sale, int64_t most_ms) {
    struct live_sale *live = live_of(sale);
    const int64_t ms = number_min(most_ms, sale->options->work_ms - live->worked_ms);

    if (ms > 0)
        fiber_sleep(live->store->loop, (uint64_t)ms);
    live->worked_ms = live->worked_ms + ms < sale->options->work_ms ? live->worked_ms + ms : 0;
    return live->worked_ms > 0;
}

void live_sale_init(struct live_sale *live, struct store *store, struct product *product,
                    const char *order_id, int64_t begun_ms, struct why *why) {
    static const struct store_ops ops = {.read_stock = live_read_stock,
                                         .read_for_update = live_read_for_update,
                                         .check_write = live_check_write,
                                         .write_stock = live_write_stock,
                                         .take_stock = live_take_stock,
                                         .take_in_batch = live_take_in_batch,
                                         .take_returned = live_take_returned,
                                         .find_sale = live_find_sale,
                                         .begin = live_begin,
                                         .commit = live_commit,
                                         .rollback = live_end,
                                         .open_data_set = live_open_data_set,
                                         .hand_out = live_hand_out,
                                         .load_row = live_load_row,
                                         .take_loaded = live_take_loaded,
                                         .write_pending = live_write_pending,
                                         .lock = live_lock,
                                         .unlock = live_unlock,
                                         .kv = live_kv,
                                         .deal = store_live_deal,
                                         .saw_empty = live_saw_empty,
                                         .random_token = random_token,
                                         .pause = store_live_pause_before_retry,
                                         .work = store_live_work,
                                         .trace = live_trace,
                                         .pass = store_live_pass};
    const struct sale_options *options = &product->spec.options;

    why->text[0] = '\0';
    *live = (struct live_sale){
        .sale = {.ops = &ops,
                 .options = options,
                 .order_id = order_id,
                 .instance = store->instance,
                 .message = why->text},
        .store = store,
        .product = product,
        .why = why,
        .order_id = order_id,
        .lock_deadline_ms = begun_ms + options->wait_ms,
        .deadline_ms = begun_ms + options->wait_ms + options->work_ms + STATEMENTS_MS,
        .cost = SALE_COST_INIT,
    };
}

void live_sale_end(struct live_sale *live) {
    made_note_keep(live->note);
    live->note = NULL;
}
