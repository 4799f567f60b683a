/* The lines of a history, by type: each reader adds what a line says to the history, and returns
 * NULL, or what is wrong with the line. */
#ifndef LOADGEN_HISTORY_READER_H
#define LOADGEN_HISTORY_READER_H

#include "history.h"
#include "history_fields.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct history_reader {
    struct history *history;
    const char *folder;
    bool has_run;
    bool is_in_round;          /* history->rounds[history->count] is being read */
    struct ledger *ledger;     /* of the last product line, or NULL */
    size_t products;           /* product lines in this round */
    char wrong[HISTORY_WRONG]; /* room for what is wrong */
};

const char *history_read_run(struct history_reader *reader, const json_t *json);
const char *history_read_round(struct history_reader *reader, const json_t *json);
const char *history_read_request(struct history_reader *reader, const json_t *json);
const char *history_read_product(struct history_reader *reader, const json_t *json);
const char *history_read_row(struct history_reader *reader, const json_t *json,
                             const struct history_rows *rows);
const char *history_read_end(struct history_reader *reader, const json_t *json);

#endif
