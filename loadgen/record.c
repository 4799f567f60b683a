/* Keeps what happened to each request, and reads the reply of a sale. */
#include "record.h"

#include "http_client.h"

#include <jansson.h>
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

struct recorder *recorder_make(size_t count) {
    struct recorder *recorder = calloc(1, sizeof *recorder);

    if (recorder == NULL)
        return NULL;
    recorder->size = count;
    recorder->records = calloc(count ? count : 1, sizeof *recorder->records);
    if (recorder->records == NULL) {
        free(recorder);
        return NULL;
    }
    return recorder;
}

void recorder_forget(struct recorder *recorder) {
    free(recorder->records);
    recorder->records = NULL;
}

void recorder_free(struct recorder *recorder) {
    if (recorder == NULL)
        return;
    recorder_forget(recorder);
    free(recorder);
}

struct record *recorder_next(struct recorder *recorder, int64_t planned_ns) {
    struct record *record = &recorder->records[recorder->count++];

    record->planned_ns = planned_ns;
    record->unit = -1;
    record->outcome = RECORD_UNSENT;
    uuid_v7(record->key);
    return record;
}

static enum record_outcome outcome_of_status(int status) {
    if (status >= 200 && status < 300)
        return RECORD_SOLD;
    switch (status) {
    case 409:
        return RECORD_SOLD_OUT;
    case 503:
        return RECORD_BUSY;
    case 504:
        return RECORD_UNKNOWN;
    default:
        return status >= 500 ? RECORD_FAILED : RECORD_REFUSED;
    }
}

/* A reply that says yes and cannot be read leaves the unit at -1: the ledger then contradicts it.
 */
static void read_sale(struct record *record, const struct http_call *call) {
    json_t *reply = json_loadb(call->reply, call->reply_length, 0, NULL);
    const json_t *unit = json_object_get(reply, "unit");
    const char *order_id = json_string_value(json_object_get(reply, "order_id"));

    if (json_is_integer(unit))
        record->unit = json_integer_value(unit);
    if (uuid_parse(order_id, record->order_id) != 0)
        memcpy(record->order_id, record->key, sizeof record->order_id);
    json_decref(reply);
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

static void record_times(struct recorder *recorder, struct record *record,
                         const struct http_call *call) {
    record->received_ns = call->received_ns - recorder->start_ns;
    if (call->outcome == HTTP_CALL_NOT_SENT)
        return;
    record->sent_ns = call->sent_ns - recorder->start_ns;
    histogram_record(&recorder->lateness, record->sent_ns - record->planned_ns);
    histogram_record(&recorder->latency, record->received_ns - record->planned_ns);
    histogram_record(&recorder->service, record->received_ns - record->sent_ns);
}

void recorder_end(struct recorder *recorder, struct record *record, const struct http_call *call) {
    record->outcome = outcome_of(call);
    recorder->by_outcome[record->outcome]++;
    record_times(recorder, record, call);
    if (call->outcome != HTTP_CALL_ANSWERED)
        return;
    record->status = call->status;
    recorder->answered++;
    if (record->received_ns > recorder->last_ns)
        recorder->last_ns = record->received_ns;
    if (record->outcome == RECORD_SOLD)
        read_sale(record, call);
}

void recorder_unsent(struct recorder *recorder, struct record *record) {
    record->outcome = RECORD_UNSENT;
    recorder->by_outcome[RECORD_UNSENT]++;
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
