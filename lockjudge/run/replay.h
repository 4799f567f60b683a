/* An earlier run, read from its --json: what it asked, to ask the same again. */
#ifndef LOCKJUDGE_REPLAY_H
#define LOCKJUDGE_REPLAY_H

#include "why.h"

#include <stdint.h>

struct replay {
    char **command; /* of the worker, NULL at its end */
    char *faults;   /* the names of its rows, with commas */
    int64_t ttl_ms, slack_ms, workers, trials, seed;
};

/* 0; or -1 with the reason, and there is nothing to free. */
__attribute__((warn_unused_result)) int replay_read(const char *path, struct replay *replay,
                                                    struct why *why);
void replay_free(struct replay *replay);

#endif
