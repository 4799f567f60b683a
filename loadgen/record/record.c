/* Keeps what happened to each request, and reads the reply of a sale. */
#include "record.h"

#include "http_client.h"
#include "reply.h"
#include "spool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *record_outcome_name(enum record_outcome outcome) {
    static const char *const names[] = {
#define X(name, word, text) #word,
        RECORD_OUTCOMES(X)
#undef X
    };
    return names[outcome];
}

const char *record_outcome_text(enum record_outcome outcome) {
    static const char *const texts[] = {
#define X(name, word, text) text,
        RECORD_OUTCOMES(X)
#undef X
    };
    return texts[outcome];
}

static struct recorder *make_empty(size_t count) {
    struct recorder *recorder = calloc(1, sizeof *recorder);

    if (recorder != NULL)
        recorder->size = recorder->planned = count;
    return recorder;
}

struct recorder *recorder_make(size_t count) {
    struct recorder *recorder = make_empty(count);

    if (recorder == NULL)
        return NULL;
    recorder->room = calloc(count ? count : 1, sizeof *recorder->room);
    if (recorder->room == NULL) {
        free(recorder);
        return NULL;
    }
    return recorder;
}

struct recorder *recorder_make_long(size_t count, const char *directory) {
    struct recorder *recorder;
    int rc;

    if (count <= RECORD_MEMORY)
        return recorder_make(count);
    recorder = make_empty(count);
    if (recorder == NULL)
        return NULL;
    rc = spool_open(&recorder->spool, directory);
    if (rc != 0) {
        free(recorder);
        errno = -rc;
        return NULL;
    }
    return recorder;
}

void recorder_forget(struct recorder *recorder) {
    free(recorder->room);
    spool_close(recorder->spool);
    recorder->room = NULL;
    recorder->spool = NULL;
    recorder->records = NULL;
}

void recorder_free(struct recorder *recorder) {
    if (recorder == NULL)
        return;
    recorder_forget(recorder);
    free(recorder);
}

int16_t recorder_instance(struct recorder *recorder, const char *name) {
    for (size_t i = 0; i < recorder->instance_count; i++)
        if (strncmp(recorder->instances[i], name, RECORD_INSTANCE_TEXT - 1) == 0)
            return (int16_t)i;
    if (recorder->instance_count == RECORD_INSTANCES || name[0] == '\0')
        return -1;
    snprintf(recorder->instances[recorder->instance_count], RECORD_INSTANCE_TEXT, "%s", name);
    return (int16_t)recorder->instance_count++;
}

void recorder_begin(struct recorder *recorder, struct record *record, int64_t planned_ns,
                    const char *key) {
    *record = (struct record){.planned_ns = planned_ns,
                              .number = (uint32_t)recorder->count++,
                              .unit = -1,
                              .instance = -1,
                              .outcome = RECORD_UNSENT,
                              .is_repeat = key != NULL};
    cost_init(&record->cost);
    if (key != NULL)
        memcpy(record->key, key, sizeof record->key);
    else
        uuid_v7(record->key);
}

static void add_time(struct histogram *histogram, int32_t us) {
    if (us >= 0)
        histogram_record(histogram, (int64_t)us * 1000);
}

static uint64_t count_of(int16_t value) {
    return value > 0 ? (uint64_t)value : 0;
}

static void add_cost(struct recorder *recorder, const struct record_cost *cost) {
    if (cost->postgres < 0) /* nothing was told */
        return;
    recorder->costed++;
    recorder->postgres += count_of(cost->postgres);
    recorder->redis += count_of(cost->redis);
    recorder->retries += count_of(cost->retries);
    add_time(&recorder->wait, cost->wait_us);
    add_time(&recorder->hold, cost->hold_us);
    add_time(&recorder->commit, cost->commit_us);
    if (cost->lock >= 0 && cost->lock < RECORD_LOCK_COUNT)
        recorder->locks[cost->lock]++;
    if (cost->shard >= 0 && (uint32_t)cost->shard >= recorder->shards)
        recorder->shards = (uint32_t)cost->shard + 1;
}

/* Everything counted follows from the record alone, so that a history can be counted again. */
static void count(struct recorder *recorder, const struct record *record) {
    recorder->by_outcome[record->outcome]++;
    recorder->sold_again += record->is_repeat && record->outcome == RECORD_SOLD;
    if (record->sent_ns != 0) {
        histogram_record(&recorder->lateness, record->sent_ns - record->planned_ns);
        histogram_record(&recorder->latency, record->received_ns - record->planned_ns);
        histogram_record(&recorder->service, record->received_ns - record->sent_ns);
    }
    if (record->status == 0)
        return;
    recorder->answered++;
    if (record->received_ns > recorder->last_ns)
        recorder->last_ns = record->received_ns;
    add_cost(recorder, &record->cost);
}

/* All that have begun have ended when the round is sealed: then there are no gaps. */
static void keep(struct recorder *recorder, const struct record *record, size_t place) {
    count(recorder, record);
    if (recorder->spool != NULL)
        spool_write(recorder->spool, record, sizeof *record);
    else
        recorder->room[place] = *record;
    recorder->ended++;
}

void recorder_add(struct recorder *recorder, const struct record *record) {
    recorder->count++;
    keep(recorder, record, recorder->ended);
}

int recorder_seal(struct recorder *recorder) {
    const void *records = recorder->room;
    int rc = recorder->spool != NULL ? spool_seal(recorder->spool, &records) : 0;

    recorder->records = records;
    errno = -rc;
    return rc == 0 ? 0 : -1;
}

static enum record_outcome outcome_of_status(int status) {
    if (status >= 200 && status < 300)
        return RECORD_SOLD;
    switch (status) {
    case 409:
        return RECORD_SOLD_OUT;
    case 503:
        return RECORD_BUSY;
    case 500:
        return RECORD_FAILED;
    default: /* another 5xx, 504 among them, is of something in between: it may have been sold */
        return status > 500 ? RECORD_UNKNOWN : RECORD_REFUSED;
    }
}

/* A reply that says yes and cannot be read leaves the unit at -1: the ledger then contradicts it.
 */
static void read_sale(struct recorder *recorder, struct record *record,
                      const struct http_call *call) {
    struct reply reply;

    reply_read(call->reply, call->reply_length, &reply);
    record->unit = reply.unit;
    if (reply.instance[0] != '\0')
        record->instance = recorder_instance(recorder, reply.instance);
    if (uuid_parse(reply.order_id, record->order_id) != 0)
        memcpy(record->order_id, record->key, sizeof record->order_id);
}

static enum record_outcome outcome_of(const struct http_call *call) {
    switch (call->outcome) {
    case HTTP_CALL_ANSWERED:
        return outcome_of_status(call->status);
    case HTTP_CALL_NOT_SENT:
        return RECORD_UNREACHED;
    case HTTP_CALL_UNKNOWN:
        break;
    }
    return RECORD_UNKNOWN;
}

static void record_times(const struct recorder *recorder, struct record *record,
                         const struct http_call *call) {
    record->received_ns = call->received_ns - recorder->start_ns;
    if (call->outcome != HTTP_CALL_NOT_SENT)
        record->sent_ns = call->sent_ns - recorder->start_ns;
}

static void read_answer(struct recorder *recorder, struct record *record,
                        const struct http_call *call) {
    record->status = (int16_t)call->status;
    cost_parse(call->header, &record->cost);
    if (record->outcome == RECORD_SOLD)
        read_sale(recorder, record, call);
}

void recorder_end(struct recorder *recorder, struct record *record, const struct http_call *call) {
    record->outcome = outcome_of(call);
    record_times(recorder, record, call);
    if (call->outcome == HTTP_CALL_ANSWERED)
        read_answer(recorder, record, call);
    keep(recorder, record, record->number);
}

void recorder_unsent(struct recorder *recorder, struct record *record) {
    record->outcome = RECORD_UNSENT;
    keep(recorder, record, record->number);
}

double recorder_rate(const struct recorder *recorder) {
    return recorder->last_ns > 0 ? (double)recorder->answered * 1e9 / (double)recorder->last_ns : 0;
}

double recorder_punctual(const struct recorder *recorder, int64_t late_ns) {
    const struct histogram *lateness = &recorder->lateness;
    uint64_t kept = 0;

    if (lateness->count == 0)
        return 0;
    for (size_t i = 0; i <= histogram_bucket(late_ns); i++)
        kept += lateness->buckets[i];
    return (double)kept / (double)lateness->count;
}
