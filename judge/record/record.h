/* What happened to each request of one round, and the histograms of it.
 *
 * Times are nanoseconds from the start of the round, on the monotonic clock of this process. The
 * sent time is taken before the first byte is written and the received time after the last byte is
 * read, so that an order of two events here is an order of what happened on the servers. */
#ifndef JUDGE_RECORD_H
#define JUDGE_RECORD_H

#include "cost.h"
#include "histogram.h"
#include "uuid.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RECORD_OUTCOMES(X)                                                                         \
    X(SOLD, sold, "told: yours")                                                                   \
    X(SOLD_OUT, sold_out, "told: sold out")                                                        \
    X(BUSY, busy, "told: too busy, nothing was sold")                                              \
    X(UNKNOWN, unknown, "not told: no reply arrived, or the reply says unknown")                   \
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
    uint32_t number;     /* of its arrival in the plan */
    uint32_t item;       /* which product of the round it asks for */
    enum record_outcome outcome;
    int16_t status;   /* HTTP status, 0 for none */
    int16_t instance; /* index in recorder->instances, -1 for none told */
    bool is_repeat;   /* its key was sent before (--dup-rate) */
    struct record_cost cost;
    /* The Idempotency-Key sent, which is to be the order id. Without one (--keyless) the order id
     * that the reply names; and when there is none, all zeros and then the number: of no order. */
    char key[UUID_TEXT];
    char order_id[UUID_TEXT]; /* the order that the reply names, else "" */
};

#define RECORD_STATUSES      600 /* HTTP's, and 0 for none */
#define RECORD_INSTANCES     32
#define RECORD_INSTANCE_TEXT 32

struct recorder {
    size_t count; /* of requests that were due so far */
    size_t size;
    size_t planned;         /* that will be due, unless the round is stopped before its end */
    struct record *records; /* `count` of `size`: by their numbers, or in the order added */
    bool is_mapped;         /* they are memory over a file */
    struct share *share;    /* of the processes that send them, or NULL; and then (share.h): */
    void (*free_share)(struct recorder *recorder);
    void (*note_ended)(struct recorder *recorder, const struct record *record);
    size_t ended;                  /* of those that have begun: when all have, they may be read */
    int64_t start_ns;              /* the round's start on the monotonic clock */
    struct histogram latency;      /* from planned to received, ns; lost replies are samples */
    struct histogram service;      /* from sent to received, ns */
    struct histogram lateness;     /* from planned to sent, ns */
    struct histogram wait, commit; /* as the replies told, ns */
    struct histogram hold;         /* of the lock, by those that sold a unit, ns */
    int64_t unsold_hold_ns;        /* by the others, summed */
    size_t unsold_holds;           /* of so many */
    uint64_t postgres, redis, retries; /* summed over `costed` replies */
    size_t costed;                     /* replies that told their cost */
    size_t locks[RECORD_LOCK_COUNT];   /* of these, by the lock that they asked for */
    uint32_t shards;                   /* the highest shard that sold, and one */
    size_t late_launches;              /* due while --max-in-flight was reached */
    size_t by_outcome[RECORD_OUTCOME_COUNT];
    size_t by_status[RECORD_STATUSES];
    size_t repeats;    /* of those ended, of a key that was sent before */
    size_t sold_again; /* of those SOLD, told to a repeat of a key */
    size_t answered;   /* replies that arrived */
    size_t overtaken;  /* overtaken_most(), once the round is judged */
    int64_t last_ns;   /* the last reply's time */
    int64_t sold_ns;   /* that of the last which sold a unit */
    size_t instance_count;
    char instances[RECORD_INSTANCES][RECORD_INSTANCE_TEXT]; /* that sold, as replies name them */
};

/* For up to `count` requests, or NULL without memory. */
struct recorder *recorder_make(size_t count);

/* More records than these are kept on disk: some 10 MB. */
#define RECORD_MEMORY 65536

/* The same, of a round that may be long: its records are in memory that the kernel can write to a
 * nameless file in `directory` (NULL: $TMPDIR, or /tmp), and take back. The room for them on disk
 * is reserved here. NULL with errno, such as ENOSPC, or EFBIG where SIGXFSZ is ignored. */
struct recorder *recorder_make_long(size_t count, const char *directory);
void recorder_free(struct recorder *recorder);
/* Free the records and keep the histograms and counts, which reports print. */
void recorder_forget(struct recorder *recorder);

/* The request of this number in the plan is due: its record, UNSENT until an end is told. `key` is
 * that of the request which it repeats, or NULL for a fresh one. */
struct record *recorder_begin(struct recorder *recorder, size_t number, int64_t planned_ns,
                              const char *key);
/* Count one that has ended; all that is counted follows from it alone. */
void recorder_count(struct recorder *recorder, const struct record *record);

/* It is to be sent without a key. */
void record_leave_nameless(struct record *record);
/* It was sent without a key, and no reply named its order: of all orders it may have any. */
bool record_is_nameless(const struct record *record);

/* The request of `record` has ended as the record says: count it, or tell the process that counts.
 * Each record ends once. */
void recorder_end(struct recorder *recorder, const struct record *record);

/* One that ended in an earlier run, as its history tells: count it and keep a copy. */
void recorder_add(struct recorder *recorder, const struct record *record);

/* The index of an instance of this name, printable (utf8.h) and cut to fit, new or known; -1 when
 * there are too many. */
int16_t recorder_instance(struct recorder *recorder, const char *name);

/* The part of requests sent no more than `late_ns` after their planned time, 0..1. */
double recorder_punctual(const struct recorder *recorder, int64_t late_ns);
/* Answers per second, from the start to the last of them. */
double recorder_rate(const struct recorder *recorder);

#endif
