/* One run of the histories of several processes that share one plan.
 *
 * A plan is the history of one round without requests: its settings, its strategy, its products. A
 * part is the same history with the requests of one process: number i of n, from 1. All counts and
 * histograms of the run come from the requests, so they equal those of one process. No histogram is
 * ever merged.
 *
 * The parts of --parts have one clock. Parts of several hosts have clocks of their own: each asks
 * the ledger's database for its time, and the merged moments are intervals on that clock
 * (offsets.h, record.h).
 *
 * A part may be lost: its process died, or its history is missing or cut. Then the run proves
 * nothing, and says which part it lacks. Each request of a lost part may have been sent: it counts
 * as UNKNOWN, without a key, so it may have any order that no other request claims. */
#ifndef LOADGEN_PARTS_H
#define LOADGEN_PARTS_H

#include "history.h"
#include "plan.h"

#include <stdio.h>

struct part {
    const char *path;
    struct history *history; /* one round; NULL: it is lost */
    struct why why;          /* why it is lost, if somebody knows */
};

/* The caller zeroes it. */
struct parts {
    size_t count; /* of the plan; 0: not known yet */
    struct part *items;
    bool is_one_clock; /* they have one monotonic clock */
    struct why unread; /* the first path that has no whole part; or "" */
};

/* Writes the run line and one round: a plan, or a part of one. Returns 0, or -1 with errno. */
__attribute__((warn_unused_result)) int parts_write(FILE *to, const struct options *options,
                                                    int64_t started_us, const struct round *round);
/* The same to a new file. Returns 0; or -1 with the reason in `why`. */
__attribute__((warn_unused_result)) int parts_write_file(const char *path,
                                                         const struct options *options,
                                                         int64_t started_us,
                                                         const struct round *round,
                                                         struct why *why);
/* Reads a plan. Returns 0; or -1 with the reason in `why`. Call history_free() either way. */
__attribute__((warn_unused_result)) int parts_read_plan(struct history *plan, const char *path,
                                                        struct why *why);

/* Makes room for all parts, if their number is known before the first one is read. Returns 0, or -1
 * without memory. */
__attribute__((warn_unused_result)) int parts_expect(struct parts *parts, size_t count);
/* Reads PATH/history.ndjson; `path` must live on. If the file is missing or cut, the part is lost:
 * that is no error. Returns 0; or -1 with the reason in `why`: it is no part, it is of another plan,
 * or it is there already. */
__attribute__((warn_unused_result)) int parts_add(struct parts *parts, const char *path,
                                                  struct why *why);
/* The first part that is there, or NULL. */
struct part *parts_first(const struct parts *parts);
/* Adds all requests to the recorder of `round`, which has room for the plan and none yet; sets the
 * times of the round, and its doubts about lost parts and clocks that stepped. started_us is by the
 * database's clock, if there are several clocks. Returns 0; or -1 with the reason in `why`. */
__attribute__((warn_unused_result)) int parts_merge(const struct parts *parts,
                                                    const struct plan *plan, struct round *round,
                                                    struct why *why);
void parts_free(struct parts *parts);

#endif
