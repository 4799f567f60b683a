/* The members of a history's lines, as tables: what the writer puts into a line, the reader holds
 * against the same table. */
#ifndef LOADGEN_HISTORY_FIELDS_H
#define LOADGEN_HISTORY_FIELDS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HISTORY_VERSION 1
#define HISTORY_COST    8 /* numbers of a request's cost, in the order of struct record_cost */

enum history_type {
    HISTORY_STRING, /* char[size], cut where it is too long */
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

struct history;
/* Read the first line, which says what follows from the settings, too. NULL, or what is wrong. */
const char *history_read_run(const json_t *json, struct history *history,
                             char wrong[HISTORY_WRONG]);

#endif
