/* Shows on stderr how a round goes: a view redrawn four times a second on a terminal, a plain line
 * a second, or for programs a line of JSON four times a second. A line with its verdict stays of
 * each round.
 *
 * It never waits for the terminal, and asks the target at most four times a second, so that it
 * delays no request. */
#ifndef LOADGEN_PROGRESS_H
#define LOADGEN_PROGRESS_H

#include "http_client.h"
#include "progress_draw.h"
#include "record.h"
#include "screen.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

enum progress_mode { PROGRESS_QUIET, PROGRESS_PLAIN, PROGRESS_VIEW, PROGRESS_JSON };

struct progress_sample {
    int64_t at_ns;
    size_t due, answered;
};
#define PROGRESS_SAMPLES 5

struct progress {
    enum progress_mode mode;
    bool is_running;
    uv_timer_t timer;
    struct progress_snapshot round; /* what does not change while it runs, its phase, and what the
                                   target says */
    const struct recorder *recorder;
    struct progress_style style;
    struct progress_sample samples[PROGRESS_SAMPLES]; /* the oldest first */
    size_t sample_count;
    struct http_client *client; /* asks the target */
    struct http_call call;
    bool is_asking;  /* `call` is in use */
    bool is_current; /* and asks for the product of this round */
    char path[64];   /* "" for none to ask for */
    char holder[64]; /* that the target named */
    struct screen screen;
};

/* A view that is wanted becomes plain lines where there is no terminal. `progress` lives until the
 * loop has run the close callbacks. */
void progress_init(struct progress *progress, uv_loop_t *loop, enum progress_mode wanted);
/* `round` has the names, numbers and lengths of a snapshot; the rest is looked for in `recorder`,
 * and by asking `client` for the product (NULL: do not ask). `recorder` and the name must live
 * until progress_stop(), `client` must close before `progress` goes; all else is copied. */
void progress_start(struct progress *progress, const struct progress_snapshot *round,
                    const struct recorder *recorder, struct http_client *client,
                    const char *product_id);
/* WAITING begins by itself with the last request of the plan. Phases do not go back. */
void progress_phase(struct progress *progress, enum progress_phase phase);
/* Wipe the view, until the next start. May be called when it is not running. */
void progress_stop(struct progress *progress);
/* The same, and a line stays of the round, which was judged so. */
void progress_end(struct progress *progress, const char *verdict, enum progress_tone tone);
/* Write whole lines to stderr, above the view. */
void progress_say(struct progress *progress, const char *text);
void progress_close(struct progress *progress);

#endif
