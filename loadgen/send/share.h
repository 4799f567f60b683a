/* The records of a round that several processes send: each, a worker, writes those of its own
 * requests into memory that all share, and the process that judges the round counts them.
 *
 * As all that is counted follows from the records, the counts and histograms are those that one
 * process would have: no histogram is ever merged. */
#ifndef LOADGEN_SHARE_H
#define LOADGEN_SHARE_H

#include "plan.h"
#include "record.h"

#include <stdatomic.h>

#define SHARE_WORKERS 64 /* the most */

/* What one worker writes. */
struct share_part {
    atomic_size_t begun;
    /* A list, the last first, of the requests that ended: number + 1, 0 for none. It leads on in
     * the links. */
    atomic_uint_least32_t ended;
    atomic_size_t late_launches;
    size_t instance_count; /* this and the names are written before a record that uses them ends */
    char instances[RECORD_INSTANCES][RECORD_INSTANCE_TEXT];
};

struct share {
    int fd; /* of the memory */
    size_t workers;
    size_t length; /* of all of it, which begins with the records */
    struct share_part *parts;
    uint32_t *links; /* of each record: the one that ended before it in the same worker, + 1 */
    struct product *products;
    struct share_part *own;       /* of a worker */
    uint32_t seen[SHARE_WORKERS]; /* of each list, as far as it was counted */
};

/* For `count` requests for `items` products by `workers`. NULL with errno. */
struct recorder *share_make(size_t count, size_t items, size_t workers, const char *directory);
/* The recorder of worker 0 .. `workers` - 1, over the memory of that fd, which is closed with it,
 * or now on NULL, without memory. It counts nothing but how many have begun and ended. */
struct recorder *share_join(int fd, size_t count, size_t items, size_t workers, size_t worker);

/* The arrival of this number is due: begin its record, with a key of its own or that of the one
 * which it repeats, before it is sent. The recorder may be one of a single process. */
struct record *share_begin(struct recorder *recorder, const struct plan *plan, size_t number,
                           bool is_keyless);

/* Count what the workers have ended since the last time. */
void share_collect(struct recorder *recorder);
/* The workers are at their end, or dead: count the rest, and what no worker came to, up to the last
 * request that any began. What had begun and not ended is UNKNOWN, given up at `now_ns` since the
 * start; what had not is UNSENT. 0, or -1 without memory. */
__attribute__((warn_unused_result)) int share_settle(struct recorder *recorder,
                                                     const struct plan *plan, bool is_keyless,
                                                     int64_t now_ns);

#endif
