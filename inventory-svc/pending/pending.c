/* The queue of sales to be written, the fiber that writes them, and the fiber that looks for notes
 * of others. */
#include "pending.h"

#include "clock.h"
#include "fiber.h"
#include "metrics.h"
#include "segment_redis.h"
#include "text_copy.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#define QUEUE_MOST    16384 /* further sales wait in Redis */
#define LINGER_MS     10    /* so one statement brings many */
#define LOOK_EVERY_MS 1000
#define OLD_MS        2000 /* of a note that its own instance should have brought by then */
#define NOTES_MOST    100  /* to read at once */

/* ---- Sales to be written */

/* A fiber that waits until its sale is written; on its stack. */
struct waiting {
    struct fiber_event written;
    enum outcome outcome;
    int64_t deadline_ms;
};

struct entry {
    TAILQ_ENTRY(entry) others;
    char tag[TAG_BYTES];
    int shard;
    struct segment_sale sale;
    struct waiting *waiting; /* or NULL */
    struct made_note *note;  /* or NULL */
};
TAILQ_HEAD(entries, entry);

/* A batch: the first sale of the queue, and all others of its row. */
struct batch {
    char tag[TAG_BYTES];
    int shard;
    int64_t deadline_ms;
    size_t count;
    struct segment_sale sales[SEGMENT_SALES_MAX];
    struct waiting *waiting[SEGMENT_SALES_MAX];
    struct made_note *notes[SEGMENT_SALES_MAX];
    struct segment_note done[SEGMENT_SALES_MAX];
};

struct pending {
    struct pg_pool *pool;
    struct segment_server server;
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

static struct segment_keys keys_of(const struct pending *pending, const char *tag,
                                   struct why *why) {
    return (struct segment_keys){.server = pending->server, .tag = tag, .why = why};
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

/* Remove it from the queue. Its note, if there is one, is the caller's. */
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
        if (at->waiting != NULL)
            continue;
        made_note_keep(at->note);
        pending_drop(pending, at);
    }
}

static void take_entry(struct pending *pending, struct entry *entry) {
    struct batch *batch = &pending->batch;

    batch->sales[batch->count] = entry->sale;
    batch->notes[batch->count] = entry->note;
    batch->waiting[batch->count++] = entry->waiting;
    if (entry->waiting != NULL && entry->waiting->deadline_ms < batch->deadline_ms)
        batch->deadline_ms = entry->waiting->deadline_ms;
    pending_drop(pending, entry);
}

static void pending_gather(struct pending *pending) {
    struct batch *batch = &pending->batch;
    struct entry *at = TAILQ_FIRST(&pending->queue), *next;

    memcpy(batch->tag, at->tag, TAG_BYTES);
    batch->shard = at->shard;
    batch->deadline_ms = statement_deadline_ms();
    batch->count = 0;
    for (; at != NULL && batch->count < SEGMENT_SALES_MAX; at = next) {
        next = TAILQ_NEXT(at, others);
        if (at->shard == batch->shard && strcmp(at->tag, batch->tag) == 0)
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

/* End the notes of the batch. Returns how many are `done`. */
static size_t pending_end_notes(struct batch *batch) {
    size_t done = 0;

    for (size_t i = 0; i < batch->count; i++)
        done += made_note_end(batch->notes[i], batch->done[done].id);
    return done;
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
    const struct segment_forget forget = {.notes = batch->done,
                                          .note_count = pending_end_notes(batch),
                                          .sales = batch->sales,
                                          .sale_count = batch->count};
    struct why why;
    const struct segment_keys keys = keys_of(pending, batch->tag, &why);

    metric_add(&written, (double)batch->count);
    if (can_tell_first)
        pending_tell(batch, OUTCOME_OK);
    (void)segment_redis_forget(&keys, &forget);
    if (!can_tell_first)
        pending_tell(batch, OUTCOME_OK);
}

/* A tag begins with the product's id. */
static enum outcome pending_bring_sales(struct pending *pending, const char *tag, int shard,
                                        const char *instance, struct segment_sale *sales,
                                        size_t count, int64_t deadline_ms, struct why *why) {
    char product_id[UUID_TEXT];

    (void)snprintf(product_id, sizeof product_id, "%.36s", tag);
    return segment_sql_write(pending->pool, product_id, shard, instance, sales, count, deadline_ms,
                             why);
}

static void write_batch(struct pending *pending) {
    struct batch *batch = &pending->batch;
    struct why why;
    enum outcome outcome =
        pending_bring_sales(pending, batch->tag, batch->shard, pending->instance, batch->sales,
                            batch->count, batch->deadline_ms, &why);

    if (outcome == OUTCOME_OK) {
        pending_end_batch(pending, batch);
    } else {
        for (size_t i = 0; i < batch->count; i++)
            made_note_keep(batch->notes[i]);
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
    if (entry == NULL) {
        made_note_keep(sale->note);
        return -1;
    }
    *entry = (struct entry){
        .shard = sale->shard, .sale.unit = sale->unit, .waiting = waiting, .note = sale->note};
    text_copy(entry->tag, TAG_BYTES, sale->tag);
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

/* How many of the first notes are of one row and one instance? Those go together, with `sales`. */
static size_t run_of(const struct segment_note *notes, size_t count, size_t *sales) {
    size_t run = 1;

    for (*sales = notes->count; run < count && notes[run].shard == notes->shard &&
                                *sales + notes[run].count <= SEGMENT_SALES_MAX &&
                                strcmp(notes[run].instance, notes->instance) == 0;
         run++)
        *sales += notes[run].count;
    return run;
}

/* Bring the sales of notes of one row and one instance; `run` notes go then. */
static enum outcome bring_run(struct pending *pending, const struct segment_keys *keys,
                              const struct segment_note *first, size_t run, size_t sales) {
    const struct segment_forget forget = {
        .notes = first, .note_count = run, .sales = first->sales, .sale_count = sales};
    enum outcome outcome =
        pending_bring_sales(pending, keys->tag, first->shard, first->instance, first->sales, sales,
                            statement_deadline_ms(), keys->why);

    if (outcome == OUTCOME_OK)
        outcome = segment_redis_forget(keys, &forget);
    if (outcome == OUTCOME_OK)
        metric_add(&taken_over, (double)sales);
    return outcome;
}

static enum outcome pending_bring_notes(struct pending *pending, const struct segment_keys *keys,
                                        const struct segment_notes *notes) {
    enum outcome outcome = OUTCOME_OK;

    for (size_t at = 0, run, sales; at < notes->count && outcome == OUTCOME_OK; at += run) {
        run = run_of(&notes->notes[at], notes->count - at, &sales);
        outcome = bring_run(pending, keys, &notes->notes[at], run, sales);
    }
    return outcome;
}

static void pending_look_at(struct pending *pending, const struct segment_keys *keys) {
    struct segment_notes notes;
    enum outcome outcome;

    do {
        outcome = segment_redis_read(keys, OLD_MS, NOTES_MOST, &notes);
        if (outcome == OUTCOME_OK)
            outcome = pending_bring_notes(pending, keys, &notes);
        free(notes.notes);
        free(notes.sales);
    } while (outcome == OUTCOME_OK && notes.count == NOTES_MOST && !pending->is_closing);
    if (outcome == OUTCOME_OK && notes.is_finished)
        (void)segment_redis_retire(keys);
}

static void pending_look(void *arg) {
    struct pending *pending = arg;
    struct why why;
    struct segment_keys keys = keys_of(pending, "", &why);
    struct segment_parts list;

    (void)segment_redis_parts(&keys, &list);
    for (size_t i = 0; i < list.count && !pending->is_closing; i++) {
        keys.tag = list.tags[i];
        pending_look_at(pending, &keys);
    }
    free(list.tags);
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
    struct segment_parts list;
    enum outcome outcome = segment_redis_parts(&keys, &list);

    for (size_t i = 0; i < list.count && outcome == OUTCOME_OK; i++) {
        struct segment_notes notes;

        keys.tag = list.tags[i];
        outcome = segment_redis_find(&keys, order_id, &notes);
        if (outcome == OUTCOME_OK)
            outcome = pending_bring_notes(pending, &keys, &notes);
        free(notes.notes);
        free(notes.sales);
    }
    free(list.tags);
    return outcome;
}

/* ---- Opening and closing */

struct pending *pending_open(uv_loop_t *loop, struct pg_pool *pool,
                             const struct segment_server *server, const char *instance) {
    struct pending *pending = calloc(1, sizeof *pending);

    if (pending == NULL)
        return NULL;
    *pending =
        (struct pending){.pool = pool, .server = *server, .instance = instance, .open_timers = 2};
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
