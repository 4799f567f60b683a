/* Redraws the last lines of a terminal in place, and never waits for the terminal: a slow one, or
 * one that was stopped with Ctrl-S, misses frames.
 *
 * The cursor stands at the end of the lines. It is hidden only within a frame, so a killed program
 * leaves it visible. */
#ifndef LOADGEN_SCREEN_H
#define LOADGEN_SCREEN_H

#include "progress_draw.h"

#include <stdbool.h>
#include <stddef.h>

#define SCREEN_BYTES (2 * PROGRESS_TEXT)

struct screen {
    int fd;       /* we close it, unless it is stderr */
    size_t lines; /* drawn lines; 0: another program wrote, and the next frame goes below that */
    unsigned width[PROGRESS_LINES]; /* of these lines */
    size_t length, written;
    char bytes[SCREEN_BYTES]; /* not yet written to the terminal */
};

/* Opens it for stderr. screen_say() works with any file; frames need a terminal. */
void screen_open(struct screen *screen);
/* Sets the size of the terminal; 0: unknown. */
void screen_size(const struct screen *screen, unsigned *columns, unsigned *rows);
/* Returns false if a frame would be lost: the terminal has not taken the last one, or another job
 * has the terminal. */
bool screen_is_ready(struct screen *screen);

/* Replaces the lines by `frame`. Only if screen_is_ready(). */
void screen_show(struct screen *screen, const struct progress_frame *frame);
/* Removes the lines, and writes `text`, whole lines, in their place. If it is not ready, `text` is
 * queued, as far as there is room. */
void screen_say(struct screen *screen, const char *text);
/* Waits at most `timeout_ms` until the terminal has taken all bytes; drops the rest. */
void screen_flush(struct screen *screen, int timeout_ms);
void screen_close(struct screen *screen);

#endif
