/* Shows on stderr how a round goes: a view redrawn four times a second on a terminal, a plain line
 * a second, or for programs a line of JSON four times a second. A line with its verdict stays of
 * each round.
 *
 * It never waits for the terminal, and asks the target at most four times a second, so that it
 * delays no request. */
#ifndef LOADGEN_LIVE_H
#define LOADGEN_LIVE_H

#include "http_client.h"
#include "live_draw.h"
#include "record.h"
#include "screen.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

enum live_mode { LIVE_QUIET, LIVE_PLAIN, LIVE_VIEW, LIVE_JSON };

struct live_sample {
    int64_t at_ns;
    size_t due, answered;
};
#define LIVE_SAMPLES 5

struct live {
    enum live_mode mode;
    bool is_running;
    uv_timer_t timer;
    struct live_snapshot round; /* what does not change while it runs, its phase, and what the
                                   target says */
    const struct recorder *recorder;
    struct live_style style;
    struct live_sample samples[LIVE_SAMPLES]; /* the oldest first */
    size_t sample_count;
    struct http_client *client; /* asks the target */
    struct http_call call;
    bool is_asking;  /* `call` is in use */
    bool is_current; /* and asks for the product of this round */
    char path[64];   /* "" for none to ask for */
    char holder[64]; /* that the target named */
    struct screen screen;
};

/* A view that is wanted becomes plain lines where there is no terminal. `live` lives until the loop
 * has run the close callbacks. */
void live_init(struct live *live, uv_loop_t *loop, enum live_mode wanted);
/* `round` has the names, numbers and lengths of a snapshot; the rest is looked for in `recorder`,
 * and by asking `client` for the product (NULL: do not ask). `recorder` and the name must live
 * until live_stop(), `client` must close before `live` goes; all else is copied. */
void live_start(struct live *live, const struct live_snapshot *round,
                const struct recorder *recorder, struct http_client *client,
                const char *product_id);
/* WAITING begins by itself with the last request of the plan. Phases do not go back. */
void live_phase(struct live *live, enum live_phase phase);
/* Wipe the view, until the next start. May be called when it is not running. */
void live_stop(struct live *live);
/* The same, and a line stays of the round, which was judged so. */
void live_end(struct live *live, const char *verdict, enum live_tone tone);
/* Write whole lines to stderr, above the view. */
void live_say(struct live *live, const char *text);
void live_close(struct live *live);

#endif
