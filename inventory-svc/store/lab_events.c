/* Notes events, and writes them in the background.
 *
 * A row's time is this machine's at the moment of the note, plus the lead of the database's clock.
 * That lead is measured every few seconds. It counts as 0 when it is smaller than the error of the
 * measurement: on one machine both are the same clock, and then the order of two instances' rows is
 * as exact as that clock. */
#include "lab_events.h"

#include "clock.h"
#include "fiber.h"
#include "lab_sql.h"
#include "log.h"
#include "text_copy.h"

#include <assert.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#define WRITE_MS   1000
#define BATCH      256   /* rows of a statement */
#define QUEUE_MAX  50000 /* rows that wait, 25 MB */
#define SAMPLES    5
#define SAMPLED_MS 10000
#define TEXT_BYTES 64

struct row {
    STAILQ_ENTRY(row) entry;
    struct fiber_event *written; /* set once it is written; or NULL */
    bool *is_ok;
    int64_t seq, wall_us, took_us, lasts_ms;
    char product_id[37], order_id[37];
    char kind[12], result[8];
    char name[TEXT_BYTES], detail[TEXT_BYTES], token[TEXT_BYTES], key[LAB_KEY];
};

STAILQ_HEAD(rows, row);

struct lab_events {
    struct pg_pool *pool;
    const char *instance;
    struct rows rows;
    unsigned waiting;
    int64_t seq;
    int64_t ahead_us, sampled_ms; /* the lead of the database's clock, and when it was measured */
    bool is_writing, is_closing;
    struct log_limit drops;
};

int lab_events_open(struct lab_events **events, uv_loop_t *loop, const char *conninfo,
                    const char *instance) {
    const struct pg_pool_options options = {
        .conninfo = conninfo, .name = instance, .settings = STATEMENT_SESSION, .connections = 1};
    int err;

    *events = calloc(1, sizeof **events);
    if (*events == NULL)
        return UV_ENOMEM;
    (*events)->instance = instance;
    STAILQ_INIT(&(*events)->rows);
    err = pg_pool_open(&(*events)->pool, loop, &options);
    if (err == 0)
        return 0;
    free(*events);
    *events = NULL;
    return err;
}

static void lab_events_on_pool_closed(void *data) {
    free(data);
}

void lab_events_close(struct lab_events *events) {
    if (events == NULL)
        return;
    events->is_closing = true;
    if (!events->is_writing)
        pg_pool_close(events->pool, lab_events_on_pool_closed, events);
}

/* ---- writing */

/* Compare our clock with the database's, which it read at some moment between our question and its
 * answer. */
static void sample_clock(struct lab_events *events) {
    struct why why;
    int64_t fastest_us = INT64_MAX;

    if (events->sampled_ms != 0 && clock_now_ms() < events->sampled_ms + SAMPLED_MS)
        return;
    for (int i = 0; i < SAMPLES; i++) {
        const int64_t asked_us = clock_wall_us(), asked_ns = clock_now_ns();
        int64_t server_us, took_us, ahead_us;

        if (lab_sql_clock(events->pool, &server_us, clock_now_ms() + WRITE_MS, &why) != OUTCOME_OK)
            return;
        took_us = (clock_now_ns() - asked_ns) / 1000;
        ahead_us = server_us - asked_us - took_us / 2;
        if (took_us >= fastest_us)
            continue;
        fastest_us = took_us;
        events->ahead_us = llabs(ahead_us) <= took_us / 2 + 1 ? 0 : ahead_us;
    }
    events->sampled_ms = clock_now_ms();
}

static json_t *lab_events_row_json(const struct lab_events *events, const struct row *row) {
    return json_pack("{s:s, s:s, s:I, s:I, s:I, s:s, s:s, s:s, s:I, s:s, s:s, s:s}", "product_id",
                     row->product_id, "order_id", row->order_id, "seq", (json_int_t)row->seq,
                     "at_us", (json_int_t)(row->wall_us + events->ahead_us), "took_us",
                     (json_int_t)row->took_us, "kind", row->kind, "name", row->name, "detail",
                     row->detail, "lasts_ms", (json_int_t)row->lasts_ms, "key", row->key, "token",
                     row->token, "result", row->result);
}

/* The rows as text, which the caller frees; NULL without memory. */
static char *rows_text(const struct lab_events *events, const struct rows *rows) {
    json_t *array = json_array();
    const struct row *row;
    char *text;

    STAILQ_FOREACH (row, rows, entry)
        if (json_array_append_new(array, lab_events_row_json(events, row)) != 0) {
            json_decref(array);
            return NULL;
        }
    text = json_dumps(array, JSON_COMPACT);
    json_decref(array);
    return text;
}

static bool lab_events_write_rows(struct lab_events *events, const struct rows *rows) {
    struct why why = {"out of memory"};
    char *text = rows_text(events, rows);
    enum outcome outcome = OUTCOME_FAILED;

    if (text != NULL)
        outcome =
            lab_sql_add(events->pool, text, events->instance, clock_now_ms() + WRITE_MS, &why);
    free(text);
    if (outcome != OUTCOME_OK)
        log_warn("lab events lost", "first=%lld why=\"%s\"", (long long)STAILQ_FIRST(rows)->seq,
                 why.text);
    return outcome == OUTCOME_OK;
}

static void take_batch(struct lab_events *events, struct rows *batch) {
    STAILQ_INIT(batch);
    for (int i = 0; i < BATCH && !STAILQ_EMPTY(&events->rows); i++) {
        struct row *row = STAILQ_FIRST(&events->rows);

        STAILQ_REMOVE_HEAD(&events->rows, entry);
        STAILQ_INSERT_TAIL(batch, row, entry);
        events->waiting--;
    }
}

/* A fiber that is told runs at once, and may note more. */
static void lab_events_end_batch(struct rows *batch, bool is_ok) {
    while (!STAILQ_EMPTY(batch)) {
        struct row *row = STAILQ_FIRST(batch);
        struct fiber_event *written = row->written;

        STAILQ_REMOVE_HEAD(batch, entry);
        if (row->is_ok != NULL)
            *row->is_ok = is_ok;
        free(row);
        if (written != NULL)
            fiber_event_set(written);
    }
}

/* Once this is closing, a database that does not answer is asked only once. */
static void write_all(void *arg) {
    struct lab_events *events = arg;
    bool is_away = false;

    sample_clock(events);
    while (!STAILQ_EMPTY(&events->rows)) {
        struct rows batch;
        bool is_ok;

        take_batch(events, &batch);
        is_ok = !is_away && lab_events_write_rows(events, &batch);
        is_away = events->is_closing && !is_ok;
        lab_events_end_batch(&batch, is_ok);
    }
    assert(events->is_writing && events->waiting == 0);
    events->is_writing = false;
    if (events->is_closing)
        pg_pool_close(events->pool, lab_events_on_pool_closed, events);
}

/* ---- noting */

static void lab_copy(char *to, size_t size, const char *from) {
    text_copy(to, size, from != NULL ? from : "");
}

static struct row *make_row(struct lab_events *events, const struct lab_event *event) {
    struct row *row = events->waiting < QUEUE_MAX ? calloc(1, sizeof *row) : NULL;

    if (row == NULL)
        return NULL;
    row->seq = ++events->seq;
    row->wall_us = clock_wall_us() - event->ago_ns / 1000;
    row->took_us = event->took_ns / 1000;
    row->lasts_ms = event->lasts_ms;
    lab_copy(row->product_id, sizeof row->product_id, event->product_id);
    lab_copy(row->order_id, sizeof row->order_id, event->order_id);
    lab_copy(row->kind, sizeof row->kind, event->kind);
    lab_copy(row->name, sizeof row->name, event->name);
    lab_copy(row->detail, sizeof row->detail, event->detail);
    lab_copy(row->key, sizeof row->key, event->key);
    lab_copy(row->token, sizeof row->token, event->token);
    lab_copy(row->result, sizeof row->result, event->result);
    return row;
}

static bool lab_events_drop(struct lab_events *events) {
    unsigned left_out;

    if (log_limit_pass(&events->drops, clock_now_ms(), &left_out))
        log_warn("lab event dropped", "waiting=%u not_told=%u", events->waiting, left_out);
    return false;
}

/* The fiber begins with its first row and ends with its last. False when nothing will be written.
 */
static bool lab_events_write_down(struct lab_events *events, const struct lab_event *event,
                                  struct fiber_event *written, bool *is_ok) {
    struct row *row = make_row(events, event);

    if (row == NULL)
        return lab_events_drop(events);
    row->written = written;
    row->is_ok = is_ok;
    STAILQ_INSERT_TAIL(&events->rows, row, entry);
    events->waiting++;
    if (events->is_writing)
        return true;
    events->is_writing = true;
    if (fiber_start(write_all, events) == 0)
        return true;
    events->is_writing = false;
    STAILQ_REMOVE(&events->rows, row, row, entry);
    events->waiting--;
    free(row);
    return lab_events_drop(events);
}

void lab_events_note(struct lab_events *events, const struct lab_event *event) {
    (void)lab_events_write_down(events, event, NULL, NULL);
}

bool lab_events_tell(struct lab_events *events, const struct lab_event *event) {
    struct fiber_event written = FIBER_EVENT_INIT;
    bool is_ok = false;

    if (!lab_events_write_down(events, event, &written, &is_ok))
        return false;
    fiber_event_wait(&written);
    return is_ok;
}
