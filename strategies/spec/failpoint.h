/* Failpoints: failing on purpose at a named moment of the Nth sale, so that a failure reproduces.
 *
 * Armed by a product's strategy spec: `fail=[<instance>/]<point>:<action>[=<duration>][@N]`, such
 * as `fail=after-read:pause=4s@100`. Each product counts the sales of this instance that pass its
 * point. Without @N each of them fails. Other instances than <instance> ignore it. */
#ifndef STRATEGIES_FAILPOINT_H
#define STRATEGIES_FAILPOINT_H

#include "store.h"
#include "why.h"

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

/* The text of an action, and whether it takes a duration. After an error at after-write the outcome
 * is UNKNOWN. After an error at before-unlock the lock is not given back, unless it ends with its
 * sale. */
#define FAIL_ACTIONS(X)                                                                            \
    X(NOTHING, "", false)                                                                          \
    X(PAUSE, "pause", true)            /* the whole process stands still */                        \
    X(DELAY, "delay", true)            /* this sale alone waits */                                 \
    X(CRASH, "crash", false)           /* the process kills itself with SIGKILL */                 \
    X(ERROR, "error", false)           /* the step fails */                                        \
    X(DROP_REPLY, "drop-reply", false) /* the sale goes on; its connection is cut */

enum fail_action {
#define X(name, text, has_duration) FAIL_##name,
    FAIL_ACTIONS(X)
#undef X
};

#define FAIL_INSTANCE 64
struct failpoint {
    char instance[FAIL_INSTANCE]; /* "": every instance */
    enum fail_point point;
    enum fail_action action; /* FAIL_NOTHING: not armed */
    int64_t ms;              /* of pause and delay */
    int64_t nth;             /* 0: each sale */
    int64_t passed;          /* sales so far */
};

#define FAIL_BYTES 128 /* of the text of fail=, with the NUL */

/* Read the text of fail=; "" is a failpoint that does nothing. 0; or -1, and `why` names the
 * mistake and lists the points and actions. */
__attribute__((warn_unused_result)) int failpoint_parse(const char *text,
                                                        struct failpoint *failpoint,
                                                        struct why *why);

/* A sale of this instance is at `point`: count it, unless `*has_passed` says that it came by
 * before. Returns the action that the sale must take now. */
enum fail_action failpoint_pass(struct failpoint *failpoint, const char *instance,
                                enum fail_point point, bool *has_passed);

/* Do PAUSE, DELAY (in a fiber) or CRASH. The caller does the other actions. */
void failpoint_act(const struct failpoint *failpoint, enum fail_action action, uv_loop_t *loop);

/* By enum fail_point, and by enum fail_action. */
extern const char *const fail_points[];
extern const struct fail_action_row {
    const char *text;
    bool has_duration;
} fail_actions[];

#endif
