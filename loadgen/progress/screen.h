/* The last lines of a terminal, redrawn in place without ever waiting for it: a terminal that was
 * stopped with Ctrl-S, or is slow, misses frames.
 *
 * The cursor stands at the end of the lines and is hidden only within a frame, so a program that is
 * killed leaves it visible. */
#ifndef LOADGEN_SCREEN_H
#define LOADGEN_SCREEN_H

#include "progress_draw.h"

#include <stdbool.h>
#include <stddef.h>

#define SCREEN_BYTES (2 * PROGRESS_TEXT)

struct screen {
    int fd;       /* ours to close, unless it is that of stderr */
    size_t lines; /* drawn; 0 when something else has written, and the next is below that */
    unsigned width[PROGRESS_LINES]; /* of these */
    size_t length, written;
    char bytes[SCREEN_BYTES]; /* that the terminal is yet to take */
};

/* On what stderr is. Lines may be said to anything; frames are for a terminal. */
void screen_open(struct screen *screen);
/* 0 for what is not known. */
void screen_size(const struct screen *screen, unsigned *columns, unsigned *rows);
/* False: it has not taken what came before, or another job has it, so that a frame would be lost.
 */
bool screen_is_ready(struct screen *screen);

/* Replace the lines by those of `frame`; only when it is ready. */
void screen_show(struct screen *screen, const struct progress_frame *frame);
/* Take the lines away, and say `text`, whole lines, in their place. May be called when it is not
 * ready: then as much as there is room for. */
void screen_say(struct screen *screen, const char *text);
/* Wait, at most `timeout_ms`, until the terminal has taken all; what it did not take is dropped. */
void screen_flush(struct screen *screen, int timeout_ms);
void screen_close(struct screen *screen);

#endif
