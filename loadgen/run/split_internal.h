/* Shared by split.c and split_send.c. */
#ifndef LOADGEN_SPLIT_INTERNAL_H
#define LOADGEN_SPLIT_INTERNAL_H

#include "fiber.h"
#include "parts.h"
#include "split.h"

struct split {
    const struct options *given; /* of this call */
    struct options options;      /* of the plan, and the rest of this call */
    struct history plan;         /* of `send` */
    struct parts parts;          /* of `merge` */

    /* Of `send`. */
    char file[FOLDER_PATH];  /* the history that it writes; "": to stdout, for a run */
    char database[4096];     /* of that run */
    bool asks_clock;         /* false: it has the clock of that run */
    bool is_listening;       /* `in` is open */
    uv_pipe_t in;            /* stdin: the word of that run */
    char word[64];           /* so far */
    int64_t start_ns;        /* 0: not told */
    struct fiber_event told; /* the start, or that none will come */
    struct tally *tally;     /* its progress tells its times to that run; or NULL */
    bool is_sent;            /* it takes no further sample of the database's clock */
    struct fiber_event sampled;
};

/* Sets run->options to the settings of the plan, and lays out its round, without its requests. */
int split_take_plan(struct run *run, const struct history *plan);
int split_open_send(struct run *run);

#endif
