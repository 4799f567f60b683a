/* What the page shows, as one JSON object that every reader gets whole when it has changed: whoever
 * reads slowly misses what was in between, and nothing is kept for it.
 *
 * {"doing":"run"|"explore"|null,"title","is_stopping","live":{...}|null,"rounds":[{...}],
 *  "ended":null|{"kind","title","exit_code","signal","was_stopped","folder":"..."|null,"said"}}
 * `live` and `rounds` are lines of --json-progress: the last of the round that runs, and the last
 * of each that has ended. */
#ifndef LOADGEN_BOARD_H
#define LOADGEN_BOARD_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct board {
    json_t *shown;
    uint64_t version; /* 1 and more, once something was shown */
};

/* How a program ended. */
struct board_end {
    int64_t exit_code;
    int signal;
    bool was_stopped;
    const char *folder; /* of its results, or NULL */
    const char *said;   /* the end of its standard error */
};

/* Each shows something else from then on. Without memory the reader misses some of it. */
void board_clear(struct board *board);
void board_begin(struct board *board, const char *kind, const char *title);
void board_stopping(struct board *board);
/* A line of --json-progress; what is none is not shown. */
void board_progress(struct board *board, const char *line, size_t length);
void board_end(struct board *board, const struct board_end *end);
void board_free(struct board *board);

/* It as a server-sent event; free() it. NULL without memory. */
__attribute__((warn_unused_result)) char *board_event(const struct board *board, size_t *length);

#endif
