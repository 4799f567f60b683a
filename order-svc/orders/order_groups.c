/* Records orders in groups, with one batcher. */
#include "order_groups.h"

#include "metrics.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define GROUP_MOST  256
#define ENOUGH_MOST 16 /* with so many in a statement, the commit is a small part of the cost */
#define GATHER_MS   2

static struct metric statements = {.name = "order_record_statements_total",
                                   .help = "Statements to record orders",
                                   .type = METRIC_COUNTER};
static struct metric orders = {
    .name = "order_records_total", .help = "Orders in these statements", .type = METRIC_COUNTER};

/* A waiting order; on its fiber's stack. */
struct recording {
    struct batcher_call call; /* the first member, so that one pointer serves as the other */
    struct order_insert insert;
};

/* Insert all. If the server refuses that, insert each half by itself. */
static void insert_all(struct order_groups *groups, struct order_insert *const *inserts,
                       unsigned count, int64_t deadline_ms) {
    char message[PG_MESSAGE_BYTES];
    enum pg_status status =
        order_insert_all(groups->pool, inserts, count, deadline_ms, &groups->text, message);

    metric_add(&statements, 1);
    if (status == PG_REJECTED && count > 1) {
        insert_all(groups, inserts, count / 2, deadline_ms);
        insert_all(groups, inserts + count / 2, count - count / 2, deadline_ms);
        return;
    }
    for (unsigned i = 0; i < count; i++) {
        inserts[i]->status = status;
        if (status != PG_OK)
            memcpy(inserts[i]->message, message, PG_MESSAGE_BYTES);
    }
}

static void order_groups_run(void *data, const struct batcher_calls *batch, unsigned count) {
    struct order_insert *inserts[GROUP_MOST];
    struct batcher_call *call;
    unsigned i = 0;

    assert(count > 0 && count <= GROUP_MOST);
    TAILQ_FOREACH (call, batch, entry)
        inserts[i++] = &((struct recording *)call)->insert;
    assert(i == count);
    metric_add(&orders, count);
    insert_all(data, inserts, count, TAILQ_LAST(batch, batcher_calls)->deadline_ms);
}

void order_groups_init(struct order_groups *groups, uv_loop_t *loop, struct pg_pool *pool) {
    *groups = (struct order_groups){.pool = pool,
                                    .batcher = {.lanes = 1,
                                                .most = GROUP_MOST,
                                                .limit = UINT_MAX, /* each is a request in flight */
                                                .gather_ms = GATHER_MS,
                                                .loop = loop,
                                                .run = order_groups_run,
                                                .data = groups}};
    batcher_init(&groups->batcher);
    metric_register(&statements);
    metric_register(&orders);
}

void order_groups_free(struct order_groups *groups) {
    assert(groups->batcher.running == 0 && groups->in_flight == 0);
    buffer_free(&groups->text);
}

enum pg_status order_groups_insert(struct order_groups *groups, const struct order *order,
                                   bool is_new, int64_t deadline_ms, bool *is_repeat,
                                   char message[PG_MESSAGE_BYTES]) {
    struct recording recording = {.insert = {.order = order, .is_new = is_new, .message = message}};
    unsigned half = groups->in_flight / 2;

    groups->batcher.enough = half < ENOUGH_MOST ? half : ENOUGH_MOST;
    if (!batcher_await(&groups->batcher, &recording.call, deadline_ms)) {
        (void)snprintf(message, PG_MESSAGE_BYTES, "other orders were recorded until the deadline");
        return PG_NOT_SENT;
    }
    *is_repeat = recording.insert.is_repeat;
    return recording.insert.status;
}
