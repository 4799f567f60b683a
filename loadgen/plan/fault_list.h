/* The faults to inject: each SPEC of --fault is one of
 *
 *     redis:kill@2s                     a fault of a server: scripts/stack does it at this moment
 *     inventory-1:pause=2s@1s           after the start of the load of each round
 *     after-read:pause=4s@100           a failpoint: it becomes fail= in the spec of each product,
 *     inventory-1/after-read:crash      and the server checks it
 *
 * Verbs: kill, restart, start, pause=<duration>; for redis also failover and cut. */
#ifndef LOADGEN_FAULT_LIST_H
#define LOADGEN_FAULT_LIST_H

#include "why.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FAULT_LIST_MAX 16
#define FAULT_TEXT     96

#define FAULT_VERBS(X)                                                                             \
    X(KILL, "kill")         /* SIGKILL */                                                          \
    X(RESTART, "restart")   /* an orderly stop and a start */                                      \
    X(START, "start")       /* after a kill */                                                     \
    X(PAUSE, "pause")       /* SIGSTOP, and later SIGCONT */                                       \
    X(FAILOVER, "failover") /* its replica takes its place */                                      \
    X(CUT, "cut")           /* its replica gets no more updates */                                 \
    X(RESHARD, "reshard")   /* its slots with keys move to another master */

enum fault_verb {
#define X(id, name) FAULT_##id,
    FAULT_VERBS(X)
#undef X
};
const char *fault_verb_name(enum fault_verb verb);

/* A fault of a server. */
struct fault {
    char text[FAULT_TEXT]; /* as the user wrote it */
    char server[16];       /* "redis", "inventory-1" */
    enum fault_verb verb;
    int64_t at_ns;   /* from the start of the load */
    int64_t span_ns; /* length of a pause; else 0 */
};

struct fault_list {
    size_t count;
    struct fault items[FAULT_LIST_MAX];
    size_t failpoint_count;
    char failpoints[FAULT_LIST_MAX][FAULT_TEXT];
};

/* Reads SPECs, separated by line breaks or commas; "" is none. A moment must be before `demand_ns`.
 * Returns 0; or -1 with the reason and the possible forms in `why`. */
__attribute__((warn_unused_result)) int fault_list_parse(const char *text, int64_t demand_ns,
                                                         struct fault_list *list, struct why *why);

/* Whether a service of the stack may be dead or stopped after a round. */
bool fault_list_needs_mending(const struct fault_list *list);

#endif
