/* A progress bar on stderr while a round runs, when stderr is a terminal; nothing otherwise. */
#ifndef LOADGEN_PROGRESS_H
#define LOADGEN_PROGRESS_H

#include "record.h"

#include <stdbool.h>
#include <uv.h>

struct progress {
    uv_timer_t timer;
    bool is_shown;
    const char *name;
    size_t total;
    const struct recorder *recorder; /* NULL between rounds */
};

/* `progress` lives until the loop has run the close callbacks. */
void progress_init(struct progress *progress, uv_loop_t *loop, bool is_wanted);
void progress_start(struct progress *progress, const char *name, size_t total,
                    const struct recorder *recorder);
/* Wipe the bar, until the next start. */
void progress_stop(struct progress *progress);
void progress_close(struct progress *progress);

#endif
