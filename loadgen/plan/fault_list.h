/* What is to fail on purpose: --fault, each SPEC of which is one of
 *
 *     redis:kill@2s                     a server, done by scripts/stack at a moment that counts
 *     inventory-1:pause=2s@1s           from the start of the load of each round
 *     after-read:pause=4s@100           a failpoint, which becomes fail= in the spec of each
 *     inventory-1/after-read:crash      product; what it means is the server's to say
 *
 * Verbs: kill, restart, start, pause=<duration>; of redis failover and cut, too. */
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
    X(RESTART, "restart")   /* in good order */                                                    \
    X(START, "start")       /* what was killed */                                                  \
    X(PAUSE, "pause")       /* SIGSTOP, and SIGCONT after a while */                               \
    X(FAILOVER, "failover") /* its replica takes its place */                                      \
    X(CUT, "cut")           /* its replica hears no more of it */

enum fault_verb {
#define X(id, name) FAULT_##id,
    FAULT_VERBS(X)
#undef X
};
const char *fault_verb_name(enum fault_verb verb);

/* Of a server. */
struct fault {
    char text[FAULT_TEXT]; /* as given */
    char server[16];       /* "redis", "inventory-1" */
    enum fault_verb verb;
    int64_t at_ns;   /* from the start of the load */
    int64_t span_ns; /* of a pause; else 0 */
};

struct fault_list {
    size_t count;
    struct fault items[FAULT_LIST_MAX];
    size_t failpoint_count;
    char failpoints[FAULT_LIST_MAX][FAULT_TEXT];
};

/* SPECs one a line, or with commas between them; "" is none. A moment is to be before `demand_ns`.
 * 0; or -1, and `why` says what is wrong and what there is. */
__attribute__((warn_unused_result)) int fault_list_parse(const char *text, int64_t demand_ns,
                                                         struct fault_list *list, struct why *why);

/* Whether a service of the stack may be dead or standing after a round. */
bool fault_list_needs_mending(const struct fault_list *list);

#endif
