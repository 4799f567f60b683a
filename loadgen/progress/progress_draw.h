/* What the view of a round shows, as text: a few lines for a terminal, one line for anything else,
 * or a line of JSON for programs.
 *
 * Pure: it knows nothing of terminals but their width, and moves no cursor. */
#ifndef LOADGEN_PROGRESS_DRAW_H
#define LOADGEN_PROGRESS_DRAW_H

#include "record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum progress_phase {
    PROGRESS_SENDING,
    PROGRESS_WAITING, /* for the last answers: all is sent that will be */
    PROGRESS_JUDGING, /* the ledger becomes quiet, is read and judged */
};

enum progress_tone { PROGRESS_OPEN, PROGRESS_GOOD, PROGRESS_BAD };

/* A round at one moment. */
struct progress_snapshot {
    const char *name;       /* the strategy */
    size_t round, rounds;   /* the first is 1 */
    size_t repeat, repeats; /* the first is 1 */
    enum progress_phase phase;
    int64_t elapsed_ns, span_ns; /* since the round's start; of its schedule */
    size_t in_flight;
    double offered, achieved; /* requests due and answers, per second, lately */
    int64_t p99_ns;           /* of the response time so far; -1: no answer yet */
    size_t outcomes[RECORD_OUTCOME_COUNT];
    size_t sold;             /* units that customers were promised */
    int64_t stock;           /* of all products; -1: not known */
    int64_t left;            /* as the target last said; -1: not known */
    bool has_holder;         /* the target names who holds the lock */
    const char *holder;      /* NULL: nobody, when it was last asked */
    const char *verdict;     /* what was judged of it; NULL: it has not ended */
    enum progress_tone tone; /* of that */
    bool is_left_down;       /* at its end: servers are down, and no round follows */
};

struct progress_style {
    unsigned columns, rows; /* of the terminal; 0: not known */
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

/* Each line is narrower than the terminal, and all of them are fewer than its rows. Of a round that
 * has ended it is one line, which stays: what was judged of it, and its figures. */
void progress_draw(const struct progress_snapshot *snapshot, const struct progress_style *style,
                   struct progress_frame *frame);

/* One line, without its \n, for files and plain terminals; returns `text`. */
const char *progress_line(const struct progress_snapshot *snapshot, char *text, size_t size);

/* {"strategy","round","rounds","phase","elapsed_ms","span_ms","sold","stock","left","in_flight",
 * "offered","achieved","p99_ms","outcomes":{...},"holder","verdict","is_left_down"}, null for what
 * is not known; `holder` only where the target names one, `verdict` and whether the run ends for
 * servers that are down only at the end. With its \n; free() it. NULL without memory. */
__attribute__((warn_unused_result)) char *progress_json(const struct progress_snapshot *snapshot);

#endif
