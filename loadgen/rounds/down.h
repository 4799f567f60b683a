/* The servers that failed in earlier rounds and are not known to be up again. */
#ifndef LOADGEN_DOWN_H
#define LOADGEN_DOWN_H

#include "round.h"

#include <stdbool.h>
#include <stddef.h>

/* Zeroed: nothing is down. */
struct down {
    size_t count;
    char names[RECORD_INSTANCES][RECORD_INSTANCE_TEXT]; /* instances that sold or crashed */
    bool is_down[RECORD_INSTANCES];
    bool is_server_down; /* another server, without which nothing is sold */
};

/* Each instance that is known is down, or a server without which nothing is sold. */
bool down_is_all(const struct down *down);

/* Judge the next round of a run, and note what is down after it. 0, or -1 without memory. */
__attribute__((warn_unused_result)) int down_judge(struct down *down, struct round *round);

#endif
