/* A fault, the moments at which it can strike, and the place where it strikes.
 *
 * The trial calls prepare(), starts its workers, chooses the moment by its seed, calls begin(), lets
 * the other workers go on for a while, and calls end(). When all workers have ended it calls
 * restore(). All of these run in a fiber, and may wait. */
#ifndef LOCKJUDGE_FAULT_H
#define LOCKJUDGE_FAULT_H

#include "why.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

struct history_item;
struct proxy;
struct servers;
struct worker;

/* The moment, and the clause that tells it in a report. */
#define FAULT_MOMENTS(X)                                                                           \
    X(NONE, "none", "")                                                                            \
    X(HELD, "held", "after it got the lock")                                                       \
    X(WRITE, "write", "after it had checked, before its write")                                    \
    X(RELEASE, "release", "before its release took effect")                                        \
    X(WAIT, "wait", "while it waited for the lock")                                                \
    X(REPLY, "reply", "before the server's reply reached it")

enum fault_moment {
#define X(name, word, clause) FAULT_AT_##name,
    FAULT_MOMENTS(X)
#undef X
        FAULT_MOMENT_COUNT
};

/* The needs of a fault. If one is not there, the row says "not asked". */
#define FAULT_NEEDS_PROXY  1U /* `proxy` of the site: the victim reaches its server through it */
#define FAULT_NEEDS_SERVER 2U /* `servers` of the site, which can do `verb` */

/* The place where a fault strikes. */
struct fault_site {
    uv_loop_t *loop;
    struct worker *victim; /* NULL in prepare() and in restore() */
    int64_t ttl_ms;
    const char *lock_name;
    enum fault_moment moment;
    struct proxy *proxy;     /* of the victim, like it; or NULL */
    struct servers *servers; /* or NULL */
    unsigned victim_number, workers;
    /* Set by prepare(): NAME=VALUE, for the environment of the victim; NULL: none. They live until
     * restore(). */
    char *const *variables;
    void (*note)(void *note_data, const struct history_item *item); /* into the history */
    void *note_data;
    void *kept; /* for the functions of one fault; NULL before the first of them */
};

#define FAULT_UNASKED 1 /* of prepare(), begin() and end(): it cannot be asked, for this reason */

struct fault {
    const char *name;  /* of the row, with the moment: stop-held */
    const char *about; /* for people: "stopped for longer than the TTL" */
    unsigned moments;  /* 1U << FAULT_AT_..., one row each */
    unsigned needs;    /* FAULT_NEEDS_... */
    unsigned caps;     /* LINE_CAP_...: abilities of the worker without which it is not asked */
    const char *verb;  /* of the servers; or NULL */
    unsigned flags;    /* HISTORY_STOPS, ... (history.h): what it does */
    /* In percent of the TTL: it lasts for the least, and then until another worker has the lock and
     * has written, or for the most, and half a second if that is longer than the TTL. */
    unsigned least_pct, most_pct;
    bool is_slow; /* the acquire that it hits takes long, and succeeds if no other worker asks */
    /* 0; or -1 or FAULT_UNASKED with the reason: the fault did not strike, and end() is not called. */
    int (*begin)(struct fault_site *site, struct why *why);
    /* Undo it. Called once after begin(), also when the trial ends early. NULL: nothing to undo,
     * and the fault has no length. */
    int (*end)(struct fault_site *site, struct why *why);
    /* Before the workers of a trial start. 0; or -1 or FAULT_UNASKED with the reason: the trial is
     * over. NULL: the fault needs none. */
    int (*prepare)(struct fault_site *site, struct why *why);
    /* Undo what prepare() and begin() did, so that the next trial finds what this one found. Called
     * once after each prepare(), also if that failed, the fault never struck, the trial was spoilt,
     * or the user ended the run. NULL: nothing to undo. */
    int (*restore)(struct fault_site *site, struct why *why);
};

/* A fault at one of its moments: a row, or half of a pair. */
struct fault_case {
    const struct fault *fault; /* NULL: none */
    enum fault_moment moment;
};

#define FAULT_PAIR 2

#endif
