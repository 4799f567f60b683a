/* The records of all requests of one round, and their histograms.
 *
 * Times are nanoseconds from the start of the round. The sent time is taken before the first byte
 * is written, and the received time after the last byte is read. So if one request was answered
 * before another was sent, the servers did them in that order.
 *
 * One monotonic clock measures all requests of one process. With the clocks of several machines a
 * moment is an interval: sent_ns is its early end, received_ns its late end, and each has a slack up
 * to the reading of the clock. Rules compare ends alone, so they claim no order that the clocks do
 * not prove. Latencies come from one clock, by its readings. */
#ifndef JUDGE_RECORD_H
#define JUDGE_RECORD_H

#include "cost.h"
#include "histogram.h"
#include "texts.h"
#include "uuid.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

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
} __attribute__((packed)); /* a byte: there are millions of records */
const char *record_outcome_name(enum record_outcome outcome); /* "sold_out" */
const char *record_outcome_text(enum record_outcome outcome);

#define RECORD_ID 129 /* an id of a shop: up to 128 printable characters, and the NUL */

/* An id in the room of a UUID. record_set_id() writes it, record_id() reads it. Records of several
 * processes have UUIDs alone: the room of a longer text has its address. */
struct record_id {
    char room[UUID_TEXT];
};

/* Whether a text is an id: 1 to 128 characters of ASCII, without spaces, quotes and backslashes. */
bool record_is_id(const char *text);

/* The first byte of a room that has the address of its text. No id begins with it. */
#define RECORD_FAR '\1'

/* The text of an id; "": none. A short one is in the record, so a copy of a record has another
 * address. */
static inline const char *record_id(const struct record_id *id) {
    const char *text;

    if (id->room[0] != RECORD_FAR)
        return id->room;
    memcpy(&text, id->room + 1, sizeof text);
    return text;
}

/* Copies an id. `texts` owns it if it is longer than a UUID, and may be NULL for a UUID or "".
 * Returns 0, or -1 without memory; then the id is "". */
int record_set_id(struct record_id *id, struct texts *texts, const char *text);

struct record {
    int64_t planned_ns;
    int64_t sent_ns;     /* 0: not sent */
    int64_t received_ns; /* or when loadgen gave up; 0: not yet */
    int64_t unit;        /* in the reply; -1: none */
    /* In the reply: NULL: none; record_same: the key; or a text that outlives the record. */
    const char *order_id;
    uint32_t number;                          /* its place in the plan */
    uint32_t item;                            /* the product's number in the round */
    int32_t sent_slack_us, received_slack_us; /* 0: of one clock */
    struct record_cost cost;
    int16_t status;   /* HTTP status; 0: no reply */
    int16_t instance; /* index in recorder->instances; -1: not told */
    enum record_outcome outcome;
    bool is_repeat; /* its key was sent before (--dup-rate) */
    /* The Idempotency-Key, which must become the order's id. Without one (--keyless) the order
     * id in the reply; and if that has none, zeros and then `number`, which is no order's id. */
    struct record_id key;
};
_Static_assert(sizeof(struct record) == 128, "a record has two lines of the cache");

/* For `order_id`: the reply names the order by the key of its request. */
extern const char record_same[];

#define RECORD_STATUSES      600 /* HTTP's, and 0: no reply */
#define RECORD_INSTANCES     32
#define RECORD_INSTANCE_TEXT 32

struct recorder {
    size_t count; /* requests that were due so far */
    size_t size;
    size_t planned;            /* requests that will be due if the round is not stopped */
    struct record *records;    /* `count` of `size`, by their numbers or in the order of adding */
    struct texts texts;        /* of the long ids of `records` */
    bool is_mapped;            /* `records` is memory over a file */
    size_t ended;              /* ended requests: if it is `count`, records may be read */
    int64_t start_ns;          /* the round's start on the monotonic clock */
    struct histogram latency;  /* from planned to received, ns; lost replies are samples */
    struct histogram service;  /* from sent to received, ns */
    struct histogram lateness; /* from planned to sent, ns */
    struct histogram wait, commit;     /* from the replies, ns */
    struct histogram hold;             /* of the lock, by requests that sold a unit, ns */
    int64_t unsold_hold_ns;            /* by other requests, summed */
    size_t unsold_holds;               /* the number of these */
    uint64_t postgres, redis, retries; /* summed over `costed` replies */
    size_t costed;                     /* replies that told their cost */
    size_t locks[RECORD_LOCK_COUNT];   /* of `costed`, by the lock that they asked for */
    uint32_t shards;                   /* the highest shard that sold, plus one */
    size_t late_launches;              /* requests that had to wait for --max-in-flight */
    size_t by_outcome[RECORD_OUTCOME_COUNT];
    size_t by_status[RECORD_STATUSES];
    size_t repeats;    /* ended requests that repeat a key */
    size_t sold_again; /* SOLD replies to repeats */
    size_t answered;   /* replies that arrived */
    size_t overtaken;  /* overtaken_most(), set when the round is judged */
    int64_t last_ns;   /* time of the last reply */
    int64_t sold_ns;   /* time of the last reply that sold a unit */
    size_t instance_count;
    char instances[RECORD_INSTANCES][RECORD_INSTANCE_TEXT]; /* they sold units; named in replies */
};

/* For up to `count` requests. NULL: out of memory. */
struct recorder *recorder_make(size_t count);

/* A recorder for more records (8 MB) keeps them on disk. */
#define RECORD_MEMORY 65536

/* The same for a round that may be long: the kernel can write its records to an unnamed file in
 * `directory` (NULL: $TMPDIR, or /tmp), and read them again. The room on disk is reserved here.
 * NULL: errno is set, for example ENOSPC, or EFBIG if SIGXFSZ is ignored. */
struct recorder *recorder_make_long(size_t count, const char *directory);
/* The same for an earlier run. All of its records are read at once, so memory is faster than a file:
 * only more than 4 million (512 MB) go to disk, if it has room. NULL: out of memory. */
struct recorder *recorder_make_past(size_t count, const char *directory);
void recorder_free(struct recorder *recorder);
/* Free the records, and keep the histograms and counts for the reports. */
void recorder_forget(struct recorder *recorder);

/* The request of this number in the plan is due. Returns its record, which is UNSENT until it ends.
 * `key` is the key that it repeats; NULL: it gets a fresh one. */
struct record *recorder_begin(struct recorder *recorder, size_t number, int64_t planned_ns,
                              const struct record_id *key);

/* The readings of the clock. */
static inline int64_t record_sent_read(const struct record *record) {
    return record->sent_ns + (int64_t)record->sent_slack_us * 1000;
}
static inline int64_t record_received_read(const struct record *record) {
    return record->received_ns - (int64_t)record->received_slack_us * 1000;
}
/* Both moments are known to this, up and down. */
static inline int32_t record_slack_us(const struct record *record) {
    return record->sent_slack_us > record->received_slack_us ? record->sent_slack_us
                                                             : record->received_slack_us;
}
static inline int64_t record_slack_ns(const struct record *record) {
    return INT64_C(1000) * record_slack_us(record);
}

static inline const char *record_key(const struct record *record) {
    return record_id(&record->key);
}
/* The order that the reply names; "": none. */
static inline const char *record_order_id(const struct record *record) {
    if (record->order_id == record_same)
        return record_key(record);
    return record->order_id != NULL ? record->order_id : "";
}
/* The order that the reply names, or else the key. */
static inline const char *record_order(const struct record *record) {
    return record->order_id != NULL ? record_order_id(record) : record_key(record);
}
/* Copies the order of the reply into `texts`, if it is neither "" nor the key. Returns 0, or -1
 * without memory; then the reply names none. */
int record_set_order_id(struct record *record, struct texts *texts, const char *text);

/* Mark a request that is sent without a key. */
void record_leave_nameless(struct record *record);
/* Whether it was sent without a key and no reply named its order: it may have any order. */
bool record_is_nameless(const struct record *record);

/* The request of `record` ended: count it. Call it once for each record. Each count follows from
 * the record alone. */
void recorder_end(struct recorder *recorder, const struct record *record);

/* Move the records of the requests that ended to the front, if only some numbers were begun. */
void recorder_compact(struct recorder *recorder);

/* Count a record from the history of an earlier run, and keep a copy. */
void recorder_add(struct recorder *recorder, const struct record *record);

/* The index of the instance of this name, which is added if it is new. The name is made printable
 * (utf8.h) and cut to fit. -1: no name, or too many instances. */
int16_t recorder_instance(struct recorder *recorder, const char *name);

/* The part of sent requests that left at most `late_ns` after their planned time, 0..1. */
double recorder_punctual(const struct recorder *recorder, int64_t late_ns);
/* Answers a second, from the start of the round to its last answer. */
double recorder_rate(const struct recorder *recorder);

#endif
