/* Stock that Redis sells: the scripts and commands, and the reading of their replies; the queue of
 * sales to be written, the fiber that writes them, and the fiber that looks for sales of others. */
#include "pending.h"

#include "clock.h"
#include "fiber.h"
#include "log.h"
#include "metrics.h"
#include "redis.h"
#include "reservation.h"
#include "text_copy.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#define QUEUE_MOST    16384 /* further sales wait in Redis */
#define LINGER_MS     10    /* so one statement brings many */
#define LOOK_EVERY_MS 1000
#define OLD_MS        2000 /* of a note that its own instance should have brought by then */
#define REDIS_MS      1000 /* of a command */
#define KEY_BYTES     (UUID_TEXT + 24)
#define PRODUCTS      "sale:prewarmed"

extern const struct redis_script pending_open_data_set, pending_load_row, pending_take_unit,
    pending_read_notes, pending_forget_notes, pending_count_stock;

/* A command that a fiber waits for; on its stack. `take` reads the reply and returns 0, or -1
 * without memory or for a reply of an unexpected form. */
struct asking {
    struct redis_call call;
    int (*take)(const redisReply *reply, void *data);
    void *data;
    int taken;
    struct fiber_event answered;
};

static void segment_redis_on_answered(struct redis_call *call, const redisReply *reply) {
    struct asking *asking = call->data;

    if (call->status == REDIS_IS_OK && asking->take != NULL)
        asking->taken = asking->take(reply, asking->data);
    fiber_event_set(&asking->answered);
}

static enum outcome segment_ask(const struct segment_keys *keys, struct asking *asking) {
    static struct log_limit failures;
    char quoted[2 * sizeof asking->call.message];
    enum redis_status status;
    unsigned left_out;

    asking->answered = (struct fiber_event)FIBER_EVENT_INIT;
    asking->call.data = asking;
    asking->call.sends = keys->sends;
    asking->call.deadline_ms =
        keys->deadline_ms != 0 ? keys->deadline_ms : clock_now_ms() + REDIS_MS;
    redis_call_start(keys->redis, &asking->call, segment_redis_on_answered);
    fiber_event_wait(&asking->answered);
    status = asking->call.status;
    if (status == REDIS_IS_OK && asking->taken == 0)
        return OUTCOME_OK;
    if (log_limit_pass(&failures, clock_now_ms(), &left_out))
        log_warn("stock in Redis failed", "command=%s product=%s left_out=%u why=%s",
                 asking->call.argv[0], keys->product_id, left_out,
                 log_quote(quoted, sizeof quoted, asking->call.message));
    (void)why_set(keys->why, "Redis %s",
                  status == REDIS_IS_OK         ? "sent an answer that cannot be read"
                  : status == REDIS_IS_UNKNOWN  ? "did not answer"
                  : status == REDIS_IS_REJECTED ? "refused a command"
                                                : "cannot be reached");
    return OUTCOME_BUSY;
}

/* Run a script on the product's keys. Its arguments are in place, after the first four. */
static enum outcome segment_run(const struct segment_keys *keys, const struct redis_script *script,
                                struct asking *asking) {
    char key[KEY_BYTES];
    enum outcome outcome;

    assert(asking->call.argc >= 4 && asking->call.argc <= REDIS_ARGS_MAX);
    (void)snprintf(key, sizeof key, "sale:{%s}:stock", keys->product_id);
    asking->call.script = script;
    asking->call.argv[2] = "1";
    asking->call.argv[3] = key;
    outcome = segment_ask(keys, asking);
    if (asking->call.is_whole && keys->retries != NULL)
        ++*keys->retries;
    return outcome;
}

/* ---- The commands of a sale */

static int take_data_set(const redisReply *reply, void *data) {
    struct data_set *set = data;

    return reply->type == REDIS_REPLY_STRING &&
                   sscanf(reply->str, "%d %40s", &set->last, set->token) == 2
               ? 0
               : -1;
}

enum outcome segment_redis_open(const struct segment_keys *keys, struct data_set *set) {
    struct asking asking = {
        .call = {.argc = 5, .argv = {[4] = set->token}}, .take = take_data_set, .data = set};

    return segment_run(keys, &pending_open_data_set, &asking);
}

enum outcome segment_redis_load(const struct segment_keys *keys, const struct data_set *set,
                                const struct stock_row *row) {
    const struct number last = number_of(set->last), shard = number_of(row->shard),
                        first = number_of(row->first_unit), units = number_of(row->available);
    struct asking asking = {
        .call = {.argc = 9,
                 .argv = {[4] = set->token, last.text, shard.text, first.text, units.text}}};

    return segment_run(keys, &pending_load_row, &asking);
}

struct taking {
    struct loaded_unit *taken;
    bool is_over;
};

static int take_unit(const redisReply *reply, void *data) {
    struct taking *taking = data;
    struct loaded_unit *taken = taking->taken;
    int is_half_sold = 0;
    char word[8];

    *taken = (struct loaded_unit){.is_again = false};
    if (reply->type != REDIS_REPLY_STRING)
        return -1;
    taking->is_over = strcmp(reply->str, "over") == 0;
    if (taking->is_over || strcmp(reply->str, "empty") == 0)
        return 0;
    if (sscanf(reply->str, "%7s %d %" SCNd64 " %" SCNd64 " %d", word, &taken->seen.shard,
               &taken->seen.first_unit, &taken->seen.available, &is_half_sold) < 4 ||
        taken->seen.available < 1)
        return -1;
    taken->is_again = strcmp(word, "again") == 0;
    taken->is_half_sold = !taken->is_again && is_half_sold == 1;
    return taken->is_again || strcmp(word, "sold") == 0 ? 0 : -1;
}

enum outcome segment_redis_take(const struct segment_keys *keys, const char *order_id,
                                const char *instance, struct loaded_unit *taken) {
    struct taking taking = {.taken = taken};
    struct asking asking = {.call = {.argc = 6, .argv = {[4] = order_id, instance}},
                            .take = take_unit,
                            .data = &taking};
    enum outcome outcome = segment_run(keys, &pending_take_unit, &asking);

    if (outcome == OUTCOME_OK)
        return taking.is_over ? OUTCOME_SOLD_OUT : OUTCOME_OK;
    return asking.call.status == REDIS_IS_OK || asking.call.status == REDIS_IS_UNKNOWN
               ? OUTCOME_UNKNOWN
               : outcome;
}

/* ---- Notes */

/* A note: one sale of one row, which one instance made. */
struct note {
    struct segment_sale sale;
    int shard;
    char instance[INSTANCE_BYTES];
};

struct notes {
    size_t count;
    bool is_finished; /* nothing is noted or for sale, and nothing will be */
    struct note notes[SEGMENT_SALES_MAX];
};

/* Read "<shard> <first unit> <units before> <instance>". False, with a line in the log, when the
 * text is not a note; then the ledger gets nothing of it. */
static bool segment_redis_read_note(struct note *note, const char *text) {
    static struct log_limit limit;
    char quoted[2 * KEY_BYTES];
    int64_t first = 0, before = 0;
    unsigned left_out;
    int used = 0;

    if (sscanf(text, "%d %" SCNd64 " %" SCNd64 " %n", &note->shard, &first, &before, &used) == 3 &&
        text[used] != '\0' && note->shard >= 0 && first >= 1 && before >= 1 &&
        before <= INT64_MAX - first) {
        note->sale.unit = first + before - 1;
        text_copy(note->instance, INSTANCE_BYTES, text + used);
        return true;
    }
    if (log_limit_pass(&limit, clock_now_ms(), &left_out))
        log_warn("a note in Redis cannot be read", "order=%s left_out=%u note=%s",
                 note->sale.order_id, left_out, log_quote(quoted, sizeof quoted, text));
    return false;
}

/* [is finished, order, note, order, note ...] */
static int take_notes(const redisReply *reply, void *data) {
    struct notes *notes = data;

    notes->is_finished = reply->elements > 0 && reply->element[0]->integer != 0;
    for (size_t i = 1; i + 1 < reply->elements && notes->count < SEGMENT_SALES_MAX; i += 2) {
        struct note *note = &notes->notes[notes->count];

        text_copy(note->sale.order_id, UUID_TEXT, reply->element[i]->str);
        notes->count += segment_redis_read_note(note, reply->element[i + 1]->str);
    }
    return 0;
}

/* The oldest notes of a product that are `age_ms` old, or older. */
static enum outcome segment_redis_read(const struct segment_keys *keys, int64_t age_ms,
                                       struct notes *notes) {
    const struct number age = number_of(age_ms), most = number_of(SEGMENT_SALES_MAX);
    struct asking asking = {.call = {.argc = 6, .argv = {[4] = age.text, most.text}},
                            .take = take_notes,
                            .data = notes};

    notes->count = 0;
    return segment_run(keys, &pending_read_notes, &asking);
}

/* Without a note, `instance` stays empty. */
static int take_note(const redisReply *reply, void *data) {
    return reply->type == REDIS_REPLY_STRING && !segment_redis_read_note(data, reply->str) ? -1 : 0;
}

/* Find the note of note->sale.order_id, old or young, even if the sale may have been brought
 * before. `instance` is empty if there is none. */
static enum outcome segment_redis_find(const struct segment_keys *keys, struct note *note) {
    char key[KEY_BYTES];
    struct asking asking = {.call = {.argc = 3, .argv = {"HGET", key, note->sale.order_id}},
                            .take = take_note,
                            .data = note};

    note->instance[0] = '\0';
    (void)snprintf(key, sizeof key, "sale:{%s}:stock:orders", keys->product_id);
    return segment_ask(keys, &asking);
}

/* The text "<order> <order> .../<order> ...": before the "/" the orders to keep. */
static char *segment_redis_list_orders(const struct segment_sale *sales, size_t count) {
    char *text = malloc(count * UUID_TEXT + 2), *at = text;

    for (size_t i = 0; i < count && text != NULL; i++)
        if (sales[i].outcome == OUTCOME_SOLD)
            at += sprintf(at, "%s ", sales[i].order_id);
    if (text != NULL)
        at = stpcpy(at, "/");
    for (size_t i = 0; i < count && text != NULL; i++)
        if (sales[i].outcome != OUTCOME_SOLD)
            at += sprintf(at, "%s ", sales[i].order_id);
    assert(text == NULL || (size_t)(at - text) < count * UUID_TEXT + 2);
    return text;
}

/* The ledger has these sales now. An order that is not SOLD there is forgotten, so that it can buy
 * again. */
static enum outcome segment_redis_forget(const struct segment_keys *keys,
                                         const struct segment_sale *sales, size_t count) {
    char *orders = segment_redis_list_orders(sales, count);
    struct asking asking = {.call = {.argc = 5, .argv = {[4] = orders}}};
    enum outcome outcome = OUTCOME_BUSY;

    if (orders != NULL)
        outcome = segment_run(keys, &pending_forget_notes, &asking);
    free(orders);
    return outcome;
}

/* ---- For all instances */

static int take_count(const redisReply *reply, void *data) {
    int64_t *count = data;

    if (reply->elements != 2)
        return -1;
    count[0] = reply->element[0]->integer;
    count[1] = reply->element[1]->integer;
    return 0;
}

enum outcome segment_redis_count(const struct segment_keys *keys, int64_t *unsold, int64_t *noted) {
    int64_t count[2] = {0, 0};
    struct asking asking = {.call = {.argc = 4}, .take = take_count, .data = count};
    enum outcome outcome = segment_run(keys, &pending_count_stock, &asking);

    *unsold = count[0];
    *noted = count[1];
    return outcome;
}

/* Add the product to the set of products that may have notes, or remove it. */
static enum outcome segment_redis_list(const struct segment_keys *keys, const char *command) {
    struct asking asking = {.call = {.argc = 3, .argv = {command, PRODUCTS, keys->product_id}}};

    return segment_ask(keys, &asking);
}

enum outcome segment_redis_announce(const struct segment_keys *keys) {
    return segment_redis_list(keys, "SADD");
}

struct product_list {
    char (*ids)[UUID_TEXT]; /* the caller frees it */
    size_t count;
};

static int take_products(const redisReply *reply, void *data) {
    struct product_list *list = data;

    list->ids = calloc(reply->elements + 1, UUID_TEXT);
    for (size_t i = 0; i < reply->elements && list->ids != NULL; i++)
        text_copy(list->ids[list->count++], UUID_TEXT, reply->element[i]->str);
    return list->ids != NULL ? 0 : -1;
}

/* The products that may have notes. keys->product_id is not used. */
static enum outcome segment_redis_products(const struct segment_keys *keys,
                                           struct product_list *list) {
    struct asking asking = {
        .call = {.argc = 2, .argv = {"SMEMBERS", PRODUCTS}}, .take = take_products, .data = list};

    *list = (struct product_list){NULL, 0};
    return segment_ask(keys, &asking);
}

/* ---- Sales to be written */

/* A fiber that waits until its sale is written; on its stack. */
struct waiting {
    struct fiber_event written;
    enum outcome outcome;
    int64_t deadline_ms;
};

struct entry {
    TAILQ_ENTRY(entry) others;
    char product_id[UUID_TEXT];
    int shard;
    struct segment_sale sale;
    struct waiting *waiting; /* or NULL */
};
TAILQ_HEAD(entries, entry);

/* A batch: the first sale of the queue, and all others of its row. */
struct batch {
    char product_id[UUID_TEXT];
    int shard;
    int64_t deadline_ms;
    size_t count;
    struct segment_sale sales[SEGMENT_SALES_MAX];
    struct waiting *waiting[SEGMENT_SALES_MAX];
};

struct pending {
    struct pg_pool *pool;
    struct redis *redis;
    const char *instance;
    struct entries queue;
    size_t queued, awaited; /* sales in the queue; those with a waiting fiber */
    struct batch batch;     /* being written */
    bool is_writing, is_looking, is_closing;
    uv_timer_t linger, look;
    unsigned open_timers;
    void (*on_closed)(void *data);
    void *data;
};

static struct metric written = {"inventory_pending_written_total",
                                "Sales that Redis made, brought to the ledger by their instance",
                                .type = METRIC_COUNTER};
static struct metric taken_over = {"inventory_pending_taken_over_total",
                                   "Sales that Redis made, brought to the ledger from their notes",
                                   .type = METRIC_COUNTER};

static struct segment_keys keys_of(const struct pending *pending, const char *product_id,
                                   struct why *why) {
    return (struct segment_keys){.redis = pending->redis, .product_id = product_id, .why = why};
}

/* ---- Closing */

static void pending_on_timer_closed(uv_handle_t *handle) {
    struct pending *pending = handle->data;
    void (*on_closed)(void *data) = pending->on_closed;
    void *data = pending->data;

    assert(pending->open_timers > 0);
    if (--pending->open_timers > 0)
        return;
    assert(TAILQ_EMPTY(&pending->queue) && pending->queued == 0 && pending->awaited == 0);
    free(pending);
    on_closed(data);
}

static void pending_maybe_closed(struct pending *pending) {
    if (!pending->is_closing || pending->is_writing || pending->is_looking ||
        uv_is_closing((uv_handle_t *)&pending->look))
        return;
    uv_close((uv_handle_t *)&pending->linger, pending_on_timer_closed);
    uv_close((uv_handle_t *)&pending->look, pending_on_timer_closed);
}

/* ---- Sales that were added here */

static void pending_drop(struct pending *pending, struct entry *entry) {
    assert(pending->queued > 0 && pending->awaited <= pending->queued);
    TAILQ_REMOVE(&pending->queue, entry, others);
    pending->queued--;
    pending->awaited -= entry->waiting != NULL;
    free(entry);
}

/* Redis has notes of all of them, and another instance may look there. */
static void drop_unawaited(struct pending *pending) {
    struct entry *at = TAILQ_FIRST(&pending->queue), *next;

    for (; at != NULL; at = next) {
        next = TAILQ_NEXT(at, others);
        if (at->waiting == NULL)
            pending_drop(pending, at);
    }
}

static void take_entry(struct pending *pending, struct entry *entry) {
    struct batch *batch = &pending->batch;

    batch->sales[batch->count] = entry->sale;
    batch->waiting[batch->count++] = entry->waiting;
    if (entry->waiting != NULL && entry->waiting->deadline_ms < batch->deadline_ms)
        batch->deadline_ms = entry->waiting->deadline_ms;
    pending_drop(pending, entry);
}

static void pending_gather(struct pending *pending) {
    struct batch *batch = &pending->batch;
    struct entry *at = TAILQ_FIRST(&pending->queue), *next;

    memcpy(batch->product_id, at->product_id, UUID_TEXT);
    batch->shard = at->shard;
    batch->deadline_ms = statement_deadline_ms();
    batch->count = 0;
    for (; at != NULL && batch->count < SEGMENT_SALES_MAX; at = next) {
        next = TAILQ_NEXT(at, others);
        if (at->shard == batch->shard && strcmp(at->product_id, batch->product_id) == 0)
            take_entry(pending, at);
    }
    assert(batch->count > 0); /* at least the first of the queue */
}

static void pending_tell(struct batch *batch, enum outcome outcome) {
    for (size_t i = 0; i < batch->count; i++) {
        struct waiting *waiting = batch->waiting[i];

        if (waiting == NULL)
            continue;
        waiting->outcome = outcome == OUTCOME_OK ? batch->sales[i].outcome : outcome;
        fiber_event_set(&waiting->written);
    }
}

static bool is_all_sold(const struct batch *batch) {
    for (size_t i = 0; i < batch->count; i++)
        if (batch->sales[i].outcome != OUTCOME_SOLD)
            return false;
    return true;
}

/* After a no, the customer may ask again at once. By then Redis must have forgotten the order. */
static void pending_end_batch(struct pending *pending, struct batch *batch) {
    const bool can_tell_first = is_all_sold(batch);
    struct why why;
    const struct segment_keys keys = keys_of(pending, batch->product_id, &why);

    metric_add(&written, (double)batch->count);
    if (can_tell_first)
        pending_tell(batch, OUTCOME_OK);
    (void)segment_redis_forget(&keys, batch->sales, batch->count);
    if (!can_tell_first)
        pending_tell(batch, OUTCOME_OK);
}

static void write_batch(struct pending *pending) {
    struct batch *batch = &pending->batch;
    struct why why;
    enum outcome outcome =
        segment_sql_write(pending->pool, batch->product_id, batch->shard, pending->instance,
                          batch->sales, batch->count, batch->deadline_ms, &why);

    if (outcome == OUTCOME_OK) {
        pending_end_batch(pending, batch);
    } else {
        drop_unawaited(pending);
        pending_tell(batch, OUTCOME_UNKNOWN);
    }
}

static void on_lingered(uv_timer_t *timer);

static void write_queue(void *arg) {
    struct pending *pending = arg;

    do {
        pending_gather(pending);
        write_batch(pending);
    } while (pending->awaited > 0 || (pending->is_closing && !TAILQ_EMPTY(&pending->queue)));
    pending->is_writing = false;
    if (!TAILQ_EMPTY(&pending->queue))
        (void)uv_timer_start(&pending->linger, on_lingered, LINGER_MS, 0);
    pending_maybe_closed(pending);
}

static void on_lingered(uv_timer_t *timer) {
    struct pending *pending = timer->data;

    if (pending->is_writing || TAILQ_EMPTY(&pending->queue))
        return;
    pending->is_writing = true;
    if (fiber_start(write_queue, pending) == 0)
        return;
    pending->is_writing = false; /* no memory: try again later */
    (void)uv_timer_start(timer, on_lingered, LINGER_MS, 0);
}

static int pending_queue_up(struct pending *pending, const struct pending_sale *sale,
                            struct waiting *waiting) {
    struct entry *entry = pending->queued < QUEUE_MOST ? malloc(sizeof *entry) : NULL;
    const uint64_t linger_ms = waiting != NULL ? 0 : LINGER_MS;

    assert(!pending->is_closing);
    if (entry == NULL)
        return -1;
    *entry = (struct entry){.shard = sale->shard, .sale.unit = sale->unit, .waiting = waiting};
    text_copy(entry->product_id, UUID_TEXT, sale->product_id);
    text_copy(entry->sale.order_id, UUID_TEXT, sale->order_id);
    TAILQ_INSERT_TAIL(&pending->queue, entry, others);
    pending->queued++;
    pending->awaited += waiting != NULL;
    if (!pending->is_writing && (waiting != NULL || !uv_is_active((uv_handle_t *)&pending->linger)))
        (void)uv_timer_start(&pending->linger, on_lingered, linger_ms, 0);
    return 0;
}

void pending_add(struct pending *pending, const struct pending_sale *sale) {
    (void)pending_queue_up(pending, sale, NULL);
}

enum outcome pending_write(struct pending *pending, const struct pending_sale *sale,
                           int64_t deadline_ms, struct why *why) {
    struct waiting waiting = {
        .written = FIBER_EVENT_INIT, .outcome = OUTCOME_UNKNOWN, .deadline_ms = deadline_ms};

    if (pending_queue_up(pending, sale, &waiting) == 0)
        fiber_event_wait(&waiting.written);
    if (waiting.outcome == OUTCOME_UNKNOWN)
        (void)why_set(why, "the unit is taken, but the ledger could not be written yet");
    return waiting.outcome;
}

/* ---- Sales that are noted in Redis */

/* How many of the first notes are of one row and one instance? Those go together. */
static size_t run_of(const struct note *notes, size_t count) {
    size_t run = 1;

    while (run < count && notes[run].shard == notes->shard &&
           strcmp(notes[run].instance, notes->instance) == 0)
        run++;
    return run;
}

static enum outcome bring_run(struct pending *pending, const struct segment_keys *keys,
                              const struct note *first, struct segment_sale *sales, size_t run) {
    enum outcome outcome;

    for (size_t i = 0; i < run; i++)
        sales[i] = first[i].sale;
    outcome = segment_sql_write(pending->pool, keys->product_id, first->shard, first->instance,
                                sales, run, statement_deadline_ms(), keys->why);
    if (outcome == OUTCOME_OK)
        outcome = segment_redis_forget(keys, sales, run);
    if (outcome == OUTCOME_OK)
        metric_add(&taken_over, (double)run);
    return outcome;
}

static enum outcome pending_bring_notes(struct pending *pending, const struct segment_keys *keys,
                                        struct notes *notes, struct segment_sale *sales) {
    enum outcome outcome = OUTCOME_OK;

    for (size_t at = 0, run; at < notes->count && outcome == OUTCOME_OK; at += run) {
        run = run_of(&notes->notes[at], notes->count - at);
        outcome = bring_run(pending, keys, &notes->notes[at], sales, run);
    }
    return outcome;
}

static void pending_look_at(struct pending *pending, const struct segment_keys *keys) {
    struct notes *notes = malloc(sizeof *notes);
    struct segment_sale *sales = calloc(SEGMENT_SALES_MAX, sizeof *sales);
    enum outcome outcome = notes != NULL && sales != NULL ? OUTCOME_OK : OUTCOME_BUSY;

    if (outcome == OUTCOME_OK)
        do {
            outcome = segment_redis_read(keys, OLD_MS, notes);
            if (outcome == OUTCOME_OK)
                outcome = pending_bring_notes(pending, keys, notes, sales);
        } while (outcome == OUTCOME_OK && notes->count == SEGMENT_SALES_MAX &&
                 !pending->is_closing);
    if (outcome == OUTCOME_OK && notes->is_finished)
        (void)segment_redis_list(keys, "SREM");
    free(notes);
    free(sales);
}

static void pending_look(void *arg) {
    struct pending *pending = arg;
    struct why why;
    struct segment_keys keys = keys_of(pending, "", &why);
    struct product_list list;

    (void)segment_redis_products(&keys, &list);
    for (size_t i = 0; i < list.count && !pending->is_closing; i++) {
        keys.product_id = list.ids[i];
        pending_look_at(pending, &keys);
    }
    free(list.ids);
    pending->is_looking = false;
    pending_maybe_closed(pending);
}

static void on_time_to_look(uv_timer_t *timer) {
    struct pending *pending = timer->data;

    if (pending->is_looking)
        return;
    pending->is_looking = true;
    if (fiber_start(pending_look, pending) != 0)
        pending->is_looking = false;
}

enum outcome pending_bring(struct pending *pending, const char *order_id, struct why *why) {
    struct segment_keys keys = keys_of(pending, "", why);
    struct product_list list;
    enum outcome outcome = segment_redis_products(&keys, &list);

    for (size_t i = 0; i < list.count && outcome == OUTCOME_OK; i++) {
        struct segment_sale sale;
        struct note note = {.shard = 0};

        keys.product_id = list.ids[i];
        text_copy(note.sale.order_id, UUID_TEXT, order_id);
        outcome = segment_redis_find(&keys, &note);
        if (outcome == OUTCOME_OK && note.instance[0] != '\0')
            outcome = bring_run(pending, &keys, &note, &sale, 1);
    }
    free(list.ids);
    return outcome;
}

/* ---- Opening and closing */

struct pending *pending_open(uv_loop_t *loop, struct pg_pool *pool, struct redis *redis,
                             const char *instance) {
    struct pending *pending = calloc(1, sizeof *pending);

    if (pending == NULL)
        return NULL;
    *pending =
        (struct pending){.pool = pool, .redis = redis, .instance = instance, .open_timers = 2};
    TAILQ_INIT(&pending->queue);
    metric_register(&written);
    metric_register(&taken_over);
    (void)uv_timer_init(loop, &pending->linger); /* cannot fail */
    (void)uv_timer_init(loop, &pending->look);
    pending->linger.data = pending->look.data = pending;
    (void)uv_timer_start(&pending->look, on_time_to_look, LOOK_EVERY_MS, LOOK_EVERY_MS);
    return pending;
}

void pending_close(struct pending *pending, void (*cb)(void *data), void *data) {
    assert(!pending->is_closing && pending->awaited == 0);
    pending->is_closing = true;
    pending->on_closed = cb;
    pending->data = data;
    on_lingered(&pending->linger);
    if (!pending->is_writing) /* nothing to write, or no memory for it */
        drop_unawaited(pending);
    pending_maybe_closed(pending);
}
