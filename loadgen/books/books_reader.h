/* Reads the books of a shop: asks its ledger with the queries of the shop file. Nothing is written:
 * Postgres reads both queries in one read-only transaction, so they tell of the same moment. */
#ifndef LOADGEN_BOOKS_READER_H
#define LOADGEN_BOOKS_READER_H

#include "books.h"
#include "shop.h"
#include "values.h"
#include "why.h"

#include <stdint.h>
#include <uv.h>

struct books_reader;

/* Takes the ledger's address from `values`, and connects in the background. `shop` must live as
 * long as the reader. 0; or -1 with the reason, a mistake in the file, and then there is nothing to
 * undo. */
__attribute__((warn_unused_result)) int books_reader_open(struct books_reader **reader,
                                                          uv_loop_t *loop, const struct shop *shop,
                                                          const struct values *values,
                                                          struct why *why);
/* `cb` runs once, later or at once, with the reader freed. No read may be running. */
typedef void (*books_reader_cb)(void *data);
void books_reader_close(struct books_reader *reader, books_reader_cb cb, void *data);

enum books_end {
    BOOKS_READ,
    BOOKS_WRONG, /* a query, or its result, has a mistake */
    BOOKS_AWAY,  /* the database does not answer */
};

/* Read the books of the product in `values`, in a fiber; each query may take `ms`. The caller frees
 * `books`, which are empty unless READ; `why` has the reason. */
__attribute__((warn_unused_result)) enum books_end books_read(struct books_reader *reader,
                                                              const struct values *values,
                                                              int64_t ms, struct books *books,
                                                              struct why *why);

#endif
