/* A line of a history: a JSON object with a "type". The line's other members stand in a table: the
 * writer writes them in its order, the reader takes them in any order. */
#ifndef LOADGEN_HISTORY_LINE_H
#define LOADGEN_HISTORY_LINE_H

#include "why.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum history_type {
    HISTORY_STRING, /* char[size]: one printable line, cut where it is too long */
    HISTORY_MOMENT, /* char[size]: a time by the ledger's clock, or "" */
    HISTORY_UUID,   /* char[UUID_TEXT] */
    HISTORY_NUMBER, /* of 2, 4 or 8 bytes */
    HISTORY_WORD,   /* a number, written as the word in its place */
    HISTORY_FLAG,   /* bool */
    HISTORY_JSON    /* json_t *, a new reference: an array or an object */
};

/* A member of a structure. */
struct history_field {
    const char *key;
    enum history_type type;
    size_t offset, size;
    int64_t low, high; /* of a number */
    bool is_optional;  /* left out when it is `usual`, a false flag or an empty text */
    int64_t usual;
    const char *const *words; /* from 0 to `high` */
};

/* Write a line with the fields, up to a NULL key, of the structure `from`. 0, or -1 with errno. */
__attribute__((warn_unused_result)) int history_line_write(FILE *to, const char *type,
                                                           const struct history_field *fields,
                                                           const void *from);

#define HISTORY_MEMBERS 24

/* A line's members as they stand in it: keys without their quotes, values with them. */
struct history_member {
    const char *key, *value;
    size_t key_length, length;
};
struct history_line {
    size_t count;
    const struct history_member *type; /* one of them */
    struct history_member members[HISTORY_MEMBERS];
};

/* Cut the line, with a NUL at text[length], into its members, which stay in `text`. 0; or -1, and
 * `why` says what is wrong. */
__attribute__((warn_unused_result)) int history_line_cut(struct history_line *line,
                                                         const char *text, size_t length,
                                                         struct why *why);
bool history_line_is(const struct history_line *line, const char *type);

/* Read each field into the structure `to`. 0; or -1, and `why` says what is wrong: a member that is
 * missing, given twice, of no field, of another type or out of range. */
__attribute__((warn_unused_result)) int history_line_read(const struct history_line *line,
                                                          const struct history_field *fields,
                                                          void *to, struct why *why);

#endif
