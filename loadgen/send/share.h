/* The records of a round that several processes, the workers, send. Each worker writes the records
 * of its own requests into shared memory. The process that judges the round counts all records.
 *
 * All counts and histograms come from the records, so they equal those of a single process. No
 * histogram is ever merged. */
#ifndef LOADGEN_SHARE_H
#define LOADGEN_SHARE_H

#include "plan.h"
#include "record.h"

#include <stdatomic.h>

#define SHARE_WORKERS 64 /* most workers */

/* The part that one worker writes. */
struct share_part {
    atomic_size_t begun;
    /* Head of the list of ended requests, the last one first: its number + 1, or 0. `links` has the
     * next ones. */
    atomic_uint_least32_t ended;
    atomic_size_t late_launches;
    size_t
        instance_count; /* a worker writes it and the names before it ends a record that uses them */
    char instances[RECORD_INSTANCES][RECORD_INSTANCE_TEXT];
};

struct share {
    int fd; /* of the shared memory */
    size_t workers;
    size_t length; /* of the shared memory; the records come first in it */
    struct share_part *parts;
    uint32_t *links; /* for each record: number + 1 of the one that ended before it in its worker */
    struct product *products;
    struct share_part *own;       /* a worker's own part, else NULL */
    uint32_t seen[SHARE_WORKERS]; /* counted part of each list */
};

/* Makes a recorder for `count` requests for `items` products by `workers`. NULL with errno. */
struct recorder *share_make(size_t count, size_t items, size_t workers, const char *directory);
/* Makes the recorder of worker 0 .. `workers` - 1 over the memory of `fd`, and owns `fd`. Returns
 * NULL without memory; then `fd` is closed. The recorder only counts begun and ended requests. */
struct recorder *share_join(int fd, size_t count, size_t items, size_t workers, size_t worker);

/* Begins the record of arrival `number`, which is due; call it before the request is sent. The
 * record gets a new key, or the key of the repeated arrival. The recorder may be of a single
 * process. */
struct record *share_begin(struct recorder *recorder, const struct plan *plan, size_t number,
                           bool is_keyless);

/* Counts the requests that workers have ended since the last call. */
void share_collect(struct recorder *recorder);
/* Call it when all workers have ended or died. Counts the other requests, up to the last one that
 * any worker began: a request that was begun but not ended becomes UNKNOWN, given up at `now_ns`
 * since the start; one that was not begun becomes UNSENT. Returns 0, or -1 without memory. */
__attribute__((warn_unused_result)) int share_settle(struct recorder *recorder,
                                                     const struct plan *plan, bool is_keyless,
                                                     int64_t now_ns);

#endif
