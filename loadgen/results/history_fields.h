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
#define HISTORY_PARTS   64 /* most parts of a plan */

enum history_type {
    HISTORY_STRING, /* char[size]: one printable line, cut if it is too long */
    HISTORY_ID,     /* char[RECORD_ID]: 1 to 128 characters from ! to ~, neither " nor \ */
    HISTORY_KEY,    /* struct record_id: the same; a long one is in the line's `texts` */
    HISTORY_UUID,   /* char[UUID_TEXT] */
    HISTORY_ANSWER, /* `order_id` of a record: an id; NULL if it is left out */
    HISTORY_OWNED,  /* const char *: an id in the line's `texts`; NULL if it is left out */
    HISTORY_NAME,   /* const char *: of few, in the line's `ledger`; NULL: "" */
    HISTORY_MOMENT, /* int64_t: a time by the ledger's clock; 0: "" */
    HISTORY_NUMBER, /* of 2, 4 or 8 bytes */
    HISTORY_WORD,   /* a number, written as the word at this place of `words` */
    HISTORY_FLAG,   /* bool */
    HISTORY_JSON    /* json_t *, a new reference: an array or an object; NULL: left out */
};

/* A member of a structure. */
struct history_field {
    const char *key;
    size_t key_length;
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
    json_t *shop; /* NULL: none */
};
struct history_round {
    struct round round; /* only members that are known at its start */
    int64_t requests, planned, late_launches;
    int64_t start_ns; /* of a part of --parts, on the monotonic clock of its machine */
    json_t *instances, *products;
};
struct history_product {
    int64_t item;
    struct ledger ledger; /* only its numbers */
};

/* ---- the history of a load that another program sent (docs/history.md) */

#define LOAD_VERSION 1
#define LOAD_NAME    64
/* A number that an optional member leaves open. */
#define LOAD_UNTOLD LEDGER_UNTOLD

struct load_head {
    int64_t version, started_us;
    char name[LOAD_NAME];
};
struct load_product {
    int64_t item, initial, available, returned;
    bool can_return;
};
struct load_request {
    int64_t item, planned_ns, sent_ns, received_ns, status, outcome;
    char key[RECORD_ID], order_id[RECORD_ID];
    bool is_repeat;
};
/* A line of the type sale, or of the type order. */
struct load_sale {
    int64_t quantity, unit, remaining, reserved;
    int64_t at_us;
    char order_id[LEDGER_ID], key[LEDGER_ID], instance[LEDGER_INSTANCE];
};

struct load_line {
    const char *type;
    const struct history_field *fields;
};
enum load_lines {
    LOAD_HEAD,
    LOAD_PRODUCT,
    LOAD_REQUEST,
    LOAD_SALE,
    LOAD_ORDER,
    LOAD_WRITE, /* struct ledger_write */
    LOAD_LINES
};
extern const struct load_line load_lines[LOAD_LINES];

static inline bool history_field_is_text(const struct history_field *field) {
    return field->type <= HISTORY_UUID; /* an empty text has a NUL in front */
}

extern const struct history_field history_run[], history_round[], history_product[];
extern const struct history_field history_end[];     /* struct round */
extern const struct history_field history_request[]; /* struct record */
extern const struct history_field history_event[];   /* struct event */
extern const struct history_field history_clock[];   /* struct clock_sample */
extern const struct history_field history_doubt[];   /* struct why */

/* A sale in its line. */
struct history_sale {
    struct ledger_sale sale;
    struct ledger_extra extra;
};

/* The rows of a ledger, a line each. The fields of a sale are those of struct history_sale. */
struct history_rows {
    const char *type;
    const struct history_field *fields;
    size_t size;         /* of a row */
    size_t array, count; /* offsets in struct ledger */
};
#define HISTORY_ROWS 5
extern const struct history_rows history_rows[HISTORY_ROWS];

#endif
