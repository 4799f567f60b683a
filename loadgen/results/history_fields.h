/* The members of a history's lines, as tables for the writer and the reader (history_line.h). */
#ifndef LOADGEN_HISTORY_FIELDS_H
#define LOADGEN_HISTORY_FIELDS_H

#include "history_line.h"
#include "ledger.h"
#include "round.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#define HISTORY_VERSION 2

/* Lines that are no structure elsewhere. The JSON in them belongs to the line's maker. */
struct history_run {
    int64_t version, started_us;
    json_t *settings, *strategies, *stages;
};
struct history_round {
    struct round round; /* what is known when it begins */
    int64_t requests, planned, late_launches;
    json_t *instances, *products;
};
struct history_product {
    int64_t item;
    struct ledger ledger; /* its numbers */
};

extern const struct history_field history_run[], history_round[], history_product[];
extern const struct history_field history_end[];     /* struct round */
extern const struct history_field history_request[]; /* struct record */
extern const struct history_field history_event[];   /* struct event */

/* The rows of a ledger, a line each. */
struct history_rows {
    const char *type;
    const struct history_field *fields;
    size_t size;         /* of a row */
    size_t array, count; /* where struct ledger has them */
};
#define HISTORY_ROWS 4
extern const struct history_rows history_rows[HISTORY_ROWS];

#endif
