/* The rows that a query of a shop's ledger gave, and how to read them from the output of a command:
 * JSON lines, an array of JSON objects, CSV or TSV. Other columns than those here are left out. */
#ifndef LOADGEN_ROWS_H
#define LOADGEN_ROWS_H

#include "why.h"

#include <stdbool.h>
#include <stddef.h>

#define ROWS_MAX 1000000 /* more are refused */

#define COLUMNS(X)                                                                                 \
    X(ORDER_ID, "order_id")                                                                        \
    X(QUANTITY, "quantity")                                                                        \
    X(UNIT, "unit")                                                                                \
    X(REMAINING, "remaining")                                                                      \
    X(KEY, "key")                                                                                  \
    X(RESERVED, "reserved")                                                                        \
    X(AT, "at")                                                                                    \
    X(INSTANCE, "instance")                                                                        \
    X(LEFT, "left")                                                                                \
    X(INITIAL, "initial")                                                                          \
    X(SEQ, "seq")                                                                                  \
    X(FOUND, "found")                                                                              \
    X(ROW, "row")                                                                                  \
    X(TX, "tx")

enum column {
#define X(id, name) COLUMN_##id,
    COLUMNS(X)
#undef X
        COLUMN_COUNT,
};

extern const char *const column_names[COLUMN_COUNT];

struct row {
    char *cells[COLUMN_COUNT]; /* NULL: SQL's NULL, or this row has no such column */
};

struct rows {
    const char *query; /* "[Orders]", "[Stock]" or "[Writes]": all reasons begin with it */
    bool has_head;     /* it is known which columns there are; not of empty output, nor of [] */
    bool has[COLUMN_COUNT];
    struct row *items;
    size_t count, capacity;
};

/* The column of that name; COLUMN_COUNT for another name. */
enum column column_find(const char *name, size_t length);

/* Adds a row with cells that are NULL. 0; or -1 with the reason. */
__attribute__((warn_unused_result)) int rows_add(struct rows *rows, struct why *why);
/* Sets a cell of the last row to a copy of the text. 0; or -1 with the reason. */
__attribute__((warn_unused_result)) int rows_set(struct rows *rows, enum column column,
                                                 const char *text, size_t length, struct why *why);

/* Reads the output of a command. Output without text has no rows. 0; or -1 with the reason; the
 * caller frees the rows in both cases. */
__attribute__((warn_unused_result)) int rows_read(struct rows *rows, const char *text,
                                                  size_t length, struct why *why);
void rows_free(struct rows *rows);

#endif
