/* Shows on stderr how a round goes: a view redrawn four times a second on a terminal, or a plain
 * line a second.
 *
 * It never waits for the terminal, and asks the target at most four times a second, so that it
 * delays no request. */
#ifndef LOADGEN_LIVE_H
#define LOADGEN_LIVE_H

#include "live_stock.h"
#include "record.h"
#include "screen.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

enum live_mode { LIVE_QUIET, LIVE_PLAIN, LIVE_VIEW };

/* What is shown; it must live until live_stop(). */
struct live_round {
    const char *name;       /* the strategy */
    size_t round, rounds;   /* the first is 1 */
    size_t repeat, repeats; /* the first is 1 */
    size_t requests;        /* that are to be sent */
    int64_t span_ns;        /* of their schedule */
    int64_t stock;          /* of all products; -1: not known */
    const struct recorder *recorder;
    struct http_client *client; /* of the target */
    const char *product_id;     /* to ask for; NULL: do not ask */
};

struct live_sample {
    int64_t at_ns;
    size_t due, answered;
};
#define LIVE_SAMPLES 5

struct live {
    enum live_mode mode;
    bool is_running, is_stopped, is_judging;
    uv_timer_t timer;
    struct live_round round;
    struct live_style style;
    struct live_stock stock;
    struct live_sample samples[LIVE_SAMPLES]; /* the oldest first */
    size_t sample_count;
    struct screen screen;
};

/* `is_plain`: lines even on a terminal. `live` lives until the loop has run the close callbacks. */
void live_init(struct live *live, uv_loop_t *loop, bool is_wanted, bool is_plain);
void live_start(struct live *live, const struct live_round *round);
/* No more will be sent, though the plan has more: what takes time now is the last answers. */
void live_stopping(struct live *live);
/* All is sent and answered: what takes time now is the ledger. */
void live_judging(struct live *live);
/* Wipe the view, until the next start. May be called when it is not running. */
void live_stop(struct live *live);
/* Write whole lines to stderr, above the view. */
void live_say(struct live *live, const char *text);
void live_close(struct live *live);

#endif
