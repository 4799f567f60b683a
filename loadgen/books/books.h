/* A shop's books: its orders of one product, the units that are left, and its log of the count.
 * They come from the queries of its file. Each row is checked: a mistake in a query must not accuse
 * a shop. */
#ifndef LOADGEN_BOOKS_H
#define LOADGEN_BOOKS_H

#include "ledger.h"
#include "rows.h"
#include "why.h"

#include <stdint.h>

#define BOOKS_ID_BYTES 128 /* of an order's id, at most */

struct books_order {
    char *id;
    int64_t quantity;                  /* at least 1 */
    int64_t unit, remaining, reserved; /* 0 without the column */
    int64_t at_us;                     /* 0 without the column, or if it is no moment */
    char *key, *instance;              /* NULL without the column */
};

/* Zeroed, they are empty. */
struct books {
    struct books_order *orders; /* by id */
    size_t count;
    int64_t sold;                /* the sum of their quantities */
    bool has[COLUMN_COUNT];      /* the columns of both queries, as far as rows have told them */
    int64_t left, initial;       /* `initial` only if its column is there */
    struct ledger_write *writes; /* sorted; only if the file has [Writes] */
    size_t write_count;
    bool has_writes;
};

/* Take the rows of [Orders], [Stock] and [Writes]. 0; or -1 with a reason that names query, row and
 * column. The caller frees the books in both cases. */
__attribute__((warn_unused_result)) int books_take_orders(struct books *books,
                                                          const struct rows *rows, struct why *why);
__attribute__((warn_unused_result)) int books_take_stock(struct books *books,
                                                         const struct rows *rows, struct why *why);
__attribute__((warn_unused_result)) int books_take_writes(struct books *books,
                                                          const struct rows *rows, struct why *why);
/* The writes become the ledger's, if there are any. */
void books_give_writes(struct books *books, struct ledger *ledger);
/* NULL if there is no such order. */
const struct books_order *books_find(const struct books *books, const char *id);
void books_free(struct books *books);

#endif
