/* Histories made by hand, each with the words that the oracle must find in it, and no others. They
 * are its unit test, and `lockjudge self-test`: an oracle that misses a planted fault, or accuses a
 * lock that is right, must not judge. */
#ifndef LOCKJUDGE_PLANTED_H
#define LOCKJUDGE_PLANTED_H

#include "history.h"
#include "oracle.h"

struct planted {
    const char *name; /* a sentence */
    const char *text; /* see planted_read() */
    unsigned words;   /* 1U << ORACLE_..., all that must be found */
    enum oracle_verdict verdict;
};

#define PLANTED_TTL_MS   2000
#define PLANTED_SLACK_MS 1000

const struct planted *planted_at(size_t index); /* NULL behind the last */

/* Make the history of a text of lines `WORKER FROM..TO WHAT [RESULT] [FENCE]`, in ms, for example
 *
 *     1 0..5 acquire held 7
 *     2 10..500 acquire busy
 *     1 20..2500 fault stops
 *     1 30 write landed 7
 *
 * The number of a fault is the length of its first and of its last part: see history.h.
 * Lines may end with a semicolon. 0, or -1: a line has a mistake, or memory is short. */
__attribute__((warn_unused_result)) int planted_read(const char *text, struct history *history);

/* Judge it. 0 if exactly its words and its verdict come out; 1 if others do; -1 without memory. */
__attribute__((warn_unused_result)) int planted_judge(const struct planted *planted,
                                                      struct oracle *oracle);

#endif
