/* The members of a history's lines. A line is a JSON object with a "type"; a table has its other
 * members. The writer follows the order of the table; the reader accepts any order. */
#ifndef LOADGEN_HISTORY_FIELDS_H
#define LOADGEN_HISTORY_FIELDS_H

#include "ledger.h"
#include "round.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HISTORY_VERSION 2

enum history_type {
    HISTORY_STRING, /* char[size]: one printable line, cut if it is too long */
    HISTORY_MOMENT, /* char[size]: a time by the ledger's clock, or "" */
    HISTORY_UUID,   /* char[UUID_TEXT] */
    HISTORY_NUMBER, /* of 2, 4 or 8 bytes */
    HISTORY_WORD,   /* a number, written as the word at this place of `words` */
    HISTORY_FLAG,   /* bool */
    HISTORY_JSON    /* json_t *, a new reference: an array or an object */
};

/* A member of a structure. */
struct history_field {
    const char *key;
    enum history_type type;
    size_t offset, size;
    int64_t low, high; /* of a number */
    bool is_optional;  /* left out if it is `usual`, a false flag or an empty text */
    int64_t usual;
    const char *const *words; /* from 0 to `high` */
};

/* Lines that have no structure elsewhere. The creator of a line owns its JSON. */
struct history_run {
    int64_t version, started_us;
    json_t *settings, *strategies, *stages;
};
struct history_round {
    struct round round; /* only members that are known at its start */
    int64_t requests, planned, late_launches;
    json_t *instances, *products;
};
struct history_product {
    int64_t item;
    struct ledger ledger; /* only its numbers */
};

static inline bool history_field_is_text(const struct history_field *field) {
    return field->type <= HISTORY_UUID;
}

extern const struct history_field history_run[], history_round[], history_product[];
extern const struct history_field history_end[];     /* struct round */
extern const struct history_field history_request[]; /* struct record */
extern const struct history_field history_event[];   /* struct event */

/* The rows of a ledger, a line each. */
struct history_rows {
    const char *type;
    const struct history_field *fields;
    size_t size;         /* of a row */
    size_t array, count; /* offsets in struct ledger */
};
#define HISTORY_ROWS 4
extern const struct history_rows history_rows[HISTORY_ROWS];

#endif
