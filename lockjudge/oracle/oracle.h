/* The oracle: what a history proves about the lock. Pure, so it is tested with histories as data.
 *
 * Each rule follows from moments that are certain (tenure.h). A stall of the machine can hide a
 * finding, and never makes one. */
#ifndef LOCKJUDGE_ORACLE_H
#define LOCKJUDGE_ORACLE_H

#include "history.h"

/* The words of a report, and their meanings. */
#define ORACLE_WORDS(X)                                                                            \
    X(TWIN_UNAWARE, "TWIN-UNAWARE", "two workers believed at one moment that they held the lock")  \
    X(STALE_WRITE, "STALE-WRITE", "a write of the older holder landed after one of the newer")     \
    X(FENCE_FALLS, "FENCE-FALLS", "a later grant has no greater fence")                            \
    X(NO_FENCE, "NO-FENCE", "no fence could stop the stale write")                                 \
    X(FREES_ANOTHERS, "FREES-ANOTHERS", "a release freed the lock of another holder")              \
    X(STUCK, "STUCK", "the lock was not free at its TTL and a slack after its last holder")        \
    X(LATE_TOLD, "LATE-TOLD", "the older holder was told after the next grant")                    \
    X(NO_RENEWAL, "NO-RENEWAL", "a holder that worked for longer than the TTL lost the lock")      \
    X(STARVED, "STARVED", "a waiter was passed over again and again")                              \
    X(ERROR_AS_BUSY, "ERROR-AS-BUSY", "the worker said busy when no server answered")              \
    X(LOST_UNDER_LOAD, "LOST-UNDER-LOAD", "a lease was lost when its client asked for many others")

enum oracle_word {
#define X(name, text, meaning) ORACLE_##name,
    ORACLE_WORDS(X)
#undef X
        ORACLE_WORD_COUNT
};

/* What one row of the table says: its key for machines, and its words. Never one "pass".
 * The last two are for the caller. */
#define ORACLE_VERDICTS(X)                                                                         \
    X(SAFE, "safe", "safe")                    /* no two holders were found */                     \
    X(FENCED, "fenced", "safe with the fence") /* a stale write came; the fence refused it */      \
    X(TOLD, "told",                                                                                \
      "two holders, told") /* the older holder knew when it was asked, or was told */              \
    X(UNTOLD, "untold",                                                                            \
      "two holders, untold")                /* the older holder went on to believe that it held */ \
    X(UNJUDGED, "not-judged", "not judged") /* the machine stalled, or a worker is broken */       \
    X(UNASKED, "not-asked", "not asked")    /* it needs a server or an ability that is not there */

enum oracle_verdict {
#define X(name, key, text) ORACLE_##name,
    ORACLE_VERDICTS(X)
#undef X
        ORACLE_VERDICT_COUNT
};

#define ORACLE_PASSED_OVER 50 /* a waiter that so many grants pass over is starved */

/* The worst case of a word, and how many there are. `count` 0: none. */
struct oracle_finding {
    size_t count;
    uint32_t worker, other;     /* the older or waiting worker; the newer one, or HISTORY_NOBODY */
    int64_t older_ns, newer_ns; /* when they got the lock; or the item that shows it */
    int64_t length_ns;          /* TWIN-UNAWARE, LATE-TOLD, STUCK, STARVED: how long */
    uint64_t number;            /* STARVED: grants; FENCE-FALLS: the later fence */
    bool is_hit;                /* the fault hit `worker` */
    bool is_told;               /* TWIN-UNAWARE: the older one was told; STALE-WRITE: it knew */
};

struct oracle {
    struct oracle_finding findings[ORACLE_WORD_COUNT];
    enum oracle_verdict verdict;
    /* The longest stall of the judge, or of a worker that lost a lease under load. */
    int64_t stalled_ns;
    size_t grants, writes, refused;
    size_t untold;    /* twins whose older holder was never told */
    size_t unguarded; /* stale writes that no fence stopped */
};

const char *oracle_word_text(enum oracle_word word);
const char *oracle_word_meaning(enum oracle_word word);
const char *oracle_verdict_key(enum oracle_verdict verdict);
const char *oracle_verdict_text(enum oracle_verdict verdict);

/* Judge. `slack_ms`: how long after the TTL a lock may still be taken before it is STUCK. 0, or -1
 * without memory. */
__attribute__((warn_unused_result)) int oracle_judge(const struct history *history,
                                                     int64_t slack_ms, struct oracle *oracle);

#endif
