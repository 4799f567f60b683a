/* What happened to each request of one round, and the histograms of it.
 *
 * Times are nanoseconds from the start of the round, on the monotonic clock of this process. The
 * sent time is taken before the first byte is written and the received time after the last byte is
 * read, so that an order of two events here is an order of what happened on the servers. */
#ifndef LOADGEN_RECORD_H
#define LOADGEN_RECORD_H

#include "histogram.h"
#include "plan.h"

#include "uuid.h"
#include <stddef.h>
#include <stdint.h>

#define RECORD_OUTCOMES(X)                                                                         \
    X(SOLD, sold, "told: yours")                                                                   \
    X(SOLD_OUT, sold_out, "told: sold out")                                                        \
    X(BUSY, busy, "told: too busy, nothing was sold")                                              \
    X(UNKNOWN, unknown, "not told: the reply is missing, or says that it is not known")            \
    X(REFUSED, refused, "told: a bad request")                                                     \
    X(FAILED, failed, "told: an error of the server")                                              \
    X(UNREACHED, unreached, "not sent: no connection to the target")                               \
    X(UNSENT, unsent, "not sent: this load generator ran out of connections")

enum record_outcome {
#define X(name, word, text) RECORD_##name,
    RECORD_OUTCOMES(X)
#undef X
        RECORD_OUTCOME_COUNT
};
const char *record_outcome_name(enum record_outcome outcome); /* "sold_out" */
const char *record_outcome_text(enum record_outcome outcome);

struct record {
    int64_t planned_ns;
    int64_t sent_ns;     /* 0: never sent */
    int64_t received_ns; /* or given up; 0: not yet */
    int64_t unit;        /* that the reply names, -1 for none */
    enum record_outcome outcome;
    int status;               /* HTTP status, 0 for none */
    char key[UUID_TEXT];      /* the Idempotency-Key sent, which is to be the order id */
    char order_id[UUID_TEXT]; /* the order that the reply names, else "" */
};

struct recorder {
    size_t count; /* of records made so far: the requests that were due */
    size_t size;
    struct record *records;
    int64_t start_ns;          /* the round's start on the monotonic clock */
    struct histogram latency;  /* from planned to received, ns; lost replies are samples */
    struct histogram service;  /* from sent to received, ns */
    struct histogram lateness; /* from planned to sent, ns */
    size_t by_outcome[RECORD_OUTCOME_COUNT];
    size_t answered; /* replies that arrived */
    int64_t last_ns; /* the last reply's time */
};

/* Room for `count` requests, or NULL without memory. */
struct recorder *recorder_make(size_t count);
void recorder_free(struct recorder *recorder);
/* Free the records and keep the histograms and counts, which reports print. */
void recorder_forget(struct recorder *recorder);

/* The next request of the plan is due: its record, with a fresh key, UNSENT until an end is told.
 */
struct record *recorder_next(struct recorder *recorder, int64_t planned_ns);

struct http_call;
/* The call of `record` has ended. */
void recorder_end(struct recorder *recorder, struct record *record, const struct http_call *call);
/* It was never started. */
void recorder_unsent(struct recorder *recorder, struct record *record);

/* The part of requests sent no more than `late_ns` after their planned time, 0..1. */
double recorder_punctual(const struct recorder *recorder, int64_t late_ns);

#endif
