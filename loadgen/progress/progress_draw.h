/* The view of a round as text: a few lines for a terminal, one line for a file, or a line of JSON
 * for programs.
 *
 * Pure: it knows only the size of a terminal, and moves no cursor. */
#ifndef LOADGEN_PROGRESS_DRAW_H
#define LOADGEN_PROGRESS_DRAW_H

#include "record.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum progress_phase {
    PROGRESS_PREPARING, /* the customers of a shop, before the first order */
    PROGRESS_SENDING,
    PROGRESS_WAITING, /* for the last answers: every request is sent */
    PROGRESS_JUDGING, /* waiting for a quiet ledger, reading and judging it */
};

enum progress_tone { PROGRESS_OPEN, PROGRESS_GOOD, PROGRESS_BAD };

/* A round at one moment. */
struct progress_snapshot {
    const char *name;       /* the strategy */
    size_t round, rounds;   /* the first is 1 */
    size_t repeat, repeats; /* the first is 1 */
    enum progress_phase phase;
    size_t prepared, customers;  /* of a shop; 0 customers: no shop */
    int64_t elapsed_ns, span_ns; /* since the round's start; of its schedule */
    size_t in_flight;
    double offered, achieved; /* due requests and answers per second, in the last second */
    int64_t p99_ns;           /* of the response time so far; -1: no answer yet */
    size_t outcomes[RECORD_OUTCOME_COUNT];
    size_t sold;             /* units that customers were promised */
    int64_t stock;           /* of all products; -1: unknown */
    int64_t left;            /* from the target's last answer; -1: unknown */
    bool has_holder;         /* the target names the holder of the lock */
    const char *holder;      /* NULL: free at the last answer */
    const char *verdict;     /* NULL: the round has not ended */
    enum progress_tone tone; /* of the verdict */
    bool is_left_down;       /* the round left servers down, and no round follows */
};

struct progress_style {
    unsigned columns, rows; /* of the terminal; 0: unknown */
    bool is_coloured;
    bool is_utf8;
};

#define PROGRESS_LINES 5
#define PROGRESS_TEXT  4096

struct progress_frame {
    size_t lines;
    unsigned width[PROGRESS_LINES]; /* columns of each line */
    size_t length;
    char
        text[PROGRESS_TEXT]; /* lines with \n between them; colours are its only escape sequences */
};

/* Each line is narrower than the terminal, and there are fewer lines than its rows. An ended round
 * gives one line, with its verdict and figures. */
void progress_draw(const struct progress_snapshot *snapshot, const struct progress_style *style,
                   struct progress_frame *frame);

/* One line without \n, for files and plain terminals. Returns `text`. */
const char *progress_line(const struct progress_snapshot *snapshot, char *text, size_t size);

/* {"strategy","round","rounds","phase","elapsed_ms","span_ms","sold","stock","left","in_flight",
 * "offered","achieved","p99_ms","outcomes":{...},"prepared","customers","holder","verdict",
 * "is_left_down"}, with null for an unknown value. It has `prepared` and `customers` only for a
 * shop, `holder` only if the target names one, and the last two only at the end of the round. Takes
 * the reference of `times` as a last member (tally.h); NULL: it has none. With a \n at its end. The
 * caller frees it. NULL without memory. */
__attribute__((warn_unused_result)) char *progress_json(const struct progress_snapshot *snapshot,
                                                        json_t *times);

#endif
