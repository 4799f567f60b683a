/* A tenure: the time from one grant of the lock to a worker to its end. It says only what is
 * certain, whatever stalled:
 *
 *      asked        got              believed          ended
 *        |-----------|===================|- - - - - - - -|
 *      acquire      held          a check, sent,      release sent, lost, or dead
 *      sent         read          answered held
 *
 * From `got` to `believed` the worker believed all the time that it held the lock. For a child that
 * a holder forked, `asked` is the moment of the fork, and `got` that of its first `held`. */
#ifndef LOCKJUDGE_TENURE_H
#define LOCKJUDGE_TENURE_H

#include "history.h"

struct tenure {
    uint32_t worker;
    uint64_t fence;
    unsigned era; /* how often the server forgot its locks before `got` */
    int64_t ttl_ms;
    int64_t asked_ns, got_ns;
    int64_t believed_ns;         /* got_ns if no check was answered with held */
    int64_t ended_ns;            /* HISTORY_OPEN: it has not */
    int64_t told_ns;             /* when the worker learned that it was lost; HISTORY_OPEN: never */
    int64_t freed_ns;            /* when its release was answered; HISTORY_OPEN: never */
    int64_t released_ns;         /* when its release was sent; HISTORY_OPEN: never */
    int64_t answered_ns;         /* when that was answered, in any words; HISTORY_OPEN: never */
    enum history_result release; /* the answer: RELEASED, LOST, ERROR, or NONE */
    int64_t wrote_ns;            /* its first write; HISTORY_OPEN: none */
};

struct tenures {
    struct tenure *rows; /* in the order of `got` */
    size_t count;
};

/* All tenures of a history. 0, or -1 without memory. */
__attribute__((warn_unused_result)) int tenures_find(struct tenures *tenures,
                                                     const struct history *history);
void tenures_free(struct tenures *tenures);

/* The tenure of this worker that was the last to begin by `at_ns`, or NULL. */
const struct tenure *tenures_of(const struct tenures *tenures, uint32_t worker, int64_t at_ns);

/* Did `older` begin before `newer`? The fences of one era decide where the moments leave it open. */
bool tenure_is_older(const struct tenure *older, const struct tenure *newer);

#endif
