/* Shows the progress of a round on stderr: a view on a terminal, redrawn four times a second; a
 * plain line a second; or a line of JSON four times a second, for programs. Each round leaves a
 * line with its verdict.
 *
 * It delays no request: it never waits for the terminal, and asks the target at most four times a
 * second. */
#ifndef LOADGEN_PROGRESS_H
#define LOADGEN_PROGRESS_H

#include "http_client.h"
#include "progress_draw.h"
#include "record.h"
#include "screen.h"
#include "tally.h"

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
    struct progress_snapshot round; /* constants of the round, its phase, and the target's
                                       answers */
    const struct recorder *recorder;
    struct tally *tally; /* lines of JSON have the times that it lacks; NULL: they have none */
    struct progress_style style;
    struct progress_sample samples[PROGRESS_SAMPLES]; /* the oldest first */
    size_t sample_count;
    struct http_client *client; /* asks the target */
    struct http_call call;
    bool is_asking;  /* `call` is in use */
    bool is_current; /* it asks for the product of this round */
    char path[64];   /* of the product; "": do not ask */
    char holder[64]; /* from the target */
    struct screen screen;
};

/* Without a terminal a wanted view becomes plain lines. `progress` must live until the loop has run
 * the close callbacks. */
void progress_init(struct progress *progress, uv_loop_t *loop, enum progress_mode wanted);
/* `round` has the constants of a snapshot: names, numbers and lengths. The rest comes from
 * `recorder` and, by `client`, from the target's product (product_id NULL: do not ask). `recorder`
 * and the name must live until progress_stop(). `client` must close before `progress` is freed. The
 * rest is copied. */
void progress_start(struct progress *progress, const struct progress_snapshot *round,
                    const struct recorder *recorder, struct http_client *client,
                    const char *product_id);
/* WAITING starts by itself after SENDING, at the last request of the plan. A phase never goes
 * back: a round with a shop starts with PREPARING, any other with SENDING. */
void progress_phase(struct progress *progress, enum progress_phase phase);
/* So many of round->customers are prepared. */
void progress_prepared(struct progress *progress, size_t prepared);
/* Wipes the view until the next start. May be called when it does not run. */
void progress_stop(struct progress *progress);
/* The same, and leaves a line with the verdict of the round. */
void progress_end(struct progress *progress, const char *verdict, enum progress_tone tone);
/* Writes whole lines to stderr, above the view. */
void progress_say(struct progress *progress, const char *text);
void progress_close(struct progress *progress);

#endif
