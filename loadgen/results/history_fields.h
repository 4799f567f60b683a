/* The members of a history's lines, as tables: what the writer puts into a line, the reader holds
 * against the same table. */
#ifndef LOADGEN_HISTORY_FIELDS_H
#define LOADGEN_HISTORY_FIELDS_H

#include "event.h"
#include "record.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HISTORY_VERSION 1
#define HISTORY_COST    9 /* numbers of a request's cost, in the order of struct record_cost */
#define HISTORY_COST_1  8 /* without `kept_us`, when that is not told */

enum history_type {
    HISTORY_STRING, /* char[size], cut where it is too long */
    HISTORY_MOMENT, /* char[LEDGER_TIME], by the ledger's clock; or "" */
    HISTORY_UUID,   /* char[UUID_TEXT] */
    HISTORY_NUMBER, /* of 2, 4 or 8 bytes, unsigned when it may be above the signed type's */
    HISTORY_FLAG
};

/* A member of a structure. */
struct history_field {
    const char *key;
    enum history_type type;
    size_t offset, size;
    int64_t low, high; /* of a number */
    bool is_optional;  /* left out when it is `usual`, a false flag or an empty text */
    int64_t usual;
};

/* Each ends with a NULL key. */
extern const struct history_field history_round_begin[];  /* struct round, */
extern const struct history_field history_round_counts[]; /* struct history_counts */
extern const struct history_field history_round_end[];    /* and struct round again */
extern const struct history_field history_request[];      /* struct record, but outcome and cost */
extern const struct history_field history_event[];        /* struct event, but kind and result */
extern const struct history_field history_product[];      /* struct ledger, its numbers */

/* What a round's first line says of its recorder. */
struct history_counts {
    int64_t requests, planned, late_launches;
};

/* The rows of a ledger, a line each. */
struct history_rows {
    const char *type;
    const struct history_field *fields;
    size_t size;         /* of a row */
    size_t array, count; /* where struct ledger has them */
};
#define HISTORY_ROWS 4
extern const struct history_rows history_rows[HISTORY_ROWS];

/* Add each field of the structure `from` to the object, as json_text_set() does. */
void history_put(json_t **line, const struct history_field *fields, const void *from);

#define HISTORY_WRONG 256
/* Read each field from the object into the structure `to`. NULL, or what is wrong, in `wrong`. */
__attribute__((warn_unused_result)) const char *history_get(const json_t *json,
                                                            const struct history_field *fields,
                                                            void *to, char wrong[HISTORY_WRONG]);

/* The parts of history_put(): a number or a flag, and whether an optional field is left out. */
int64_t history_number(const struct history_field *field, const char *at);
bool history_is_usual(const struct history_field *field, const char *at);
/* The parts of history_get(): 0, or -1 when it is out of range. */
int history_set_number(const struct history_field *field, int64_t value, void *at);
void history_set_usual(const struct history_field *field, void *at);
bool history_is_moment(const char *text);

/* What a request has besides its fields. 0, or -1 when there is no such outcome or cost. */
int history_set_outcome(const char *name, enum record_outcome *outcome);
int history_set_cost(const int64_t parts[HISTORY_COST], struct record_cost *cost);

/* Read a line, with its newline and a NUL, that stands just as the writer puts it. False when it
 * does not, or holds anything unusual or out of range: then ask the JSON's reader; what is at
 * `record` or `row` is no matter. */
bool history_scan_request(const char *line, struct record *record);
bool history_scan_row(const char *line, const struct history_rows *rows, void *row);

#define HISTORY_LINE 2048
/* Print a line of what is printable, with its newline. Its length. */
size_t history_print_request(char line[HISTORY_LINE], const struct record *record);
size_t history_print_row(char line[HISTORY_LINE], const struct history_rows *rows, const void *row);

struct history;
/* Read the first line, which says what follows from the settings, too. NULL, or what is wrong. */
const char *history_read_run(const json_t *json, struct history *history,
                             char wrong[HISTORY_WRONG]);

#endif
