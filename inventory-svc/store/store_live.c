/* The store as it is in service: a sale's time, its failpoints, its pauses; the other operations
 * are in files of their own. */
#include "store_live_internal.h"

#include "backoff.h"
#include "clock.h"
#include "fiber.h"
#include "log.h"
#include "reservation_sql.h"

#include <assert.h>
#include <stdio.h>

#define STATEMENTS_MS  3000 /* of a sale, for all its statements together */
#define PAUSE_LEAST_MS 2
#define PAUSE_MOST_MS  32

int64_t live_due_ms(const struct live_sale *live) {
    return earlier(statement_deadline_ms(), live->deadline_ms);
}

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
    (void)snprintf(sale->message, MESSAGE_BYTES, "failpoint %s: error", fail_points[point]);
    return OUTCOME_FAILED;
}

/* OK, or FAILED when one of the product's failpoints makes this sale fail here. */
static enum outcome pass(struct sale *sale, enum fail_point point) {
    enum outcome outcome = OUTCOME_OK;

    for (size_t i = 0; i < SPEC_FAILPOINTS; i++) {
        enum outcome one = pass_one(sale, point, i);

        outcome = one == OUTCOME_OK ? outcome : one;
    }
    return outcome;
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

static uint32_t dice(void) {
    uint32_t thrown = 0;

    (void)uv_random(NULL, NULL, &thrown, sizeof thrown, 0, NULL);
    return thrown;
}

static int deal(struct sale *sale) {
    unsigned next =
        sale->options->deal == DEAL_EVEN ? live_of(sale)->product->next_shard++ : dice();

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

static enum outcome pause_before_retry(struct sale *sale) {
    struct live_sale *live = live_of(sale);
    uint64_t ms = 1 + backoff_ms(sale->pauses, PAUSE_LEAST_MS, PAUSE_MOST_MS);

    if (clock_now_ms() + (int64_t)ms > live->lock_deadline_ms) {
        live_note_refusals(live);
        live_key_given_up(live);
        (void)snprintf(sale->message, MESSAGE_BYTES, "gave up after %u attempts", sale->pauses + 1);
        return OUTCOME_BUSY;
    }
    live->cost.retries++;
    fiber_sleep(live->store->loop, ms);
    return OUTCOME_OK;
}

static void work(struct sale *sale) {
    if (sale->options->work_ms > 0)
        fiber_sleep(live_of(sale)->store->loop, (uint64_t)sale->options->work_ms);
}

void live_sale_init(struct live_sale *live, struct store *store, struct product *product,
                    const char *order_id, int64_t begun_ms) {
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
                                         .rollback = live_rollback,
                                         .hand_out = live_hand_out,
                                         .write_pending = live_write_pending,
                                         .lock = live_lock,
                                         .unlock = live_unlock,
                                         .kv = live_kv,
                                         .deal = deal,
                                         .saw_empty = live_saw_empty,
                                         .random_token = random_token,
                                         .pause = pause_before_retry,
                                         .work = work,
                                         .pass = pass};
    const struct sale_options *options = &product->spec.options;

    *live = (struct live_sale){
        .sale = {.ops = &ops,
                 .options = options,
                 .order_id = order_id,
                 .instance = store->instance},
        .store = store,
        .product = product,
        .order_id = order_id,
        .lock_deadline_ms = begun_ms + options->wait_ms,
        .deadline_ms = begun_ms + options->wait_ms + options->work_ms + STATEMENTS_MS,
    };
    sale_cost_init(&live->cost);
}
