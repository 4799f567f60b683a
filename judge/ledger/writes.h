/* The writes of a product's count, in their order: what each one found, and what it left. A trigger
 * of loadgen or a log of the shop tells them. */
#ifndef JUDGE_WRITES_H
#define JUDGE_WRITES_H

#include "record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WRITE_ROW 64
/* The sums of all writes of a round fit into an int64_t. */
#define WRITE_MAX INT64_C(1000000000000)
/* `found` of the write that made its row. */
#define WRITE_NOTHING INT64_MIN

struct ledger_write {
    int64_t seq; /* grows from write to write of a row */
    int64_t found, left;
    int64_t tx;               /* the transaction; 0: not known */
    int64_t at_us;            /* as in ledger.h; 0: not known */
    char row[WRITE_ROW];      /* the row's name; "" if there is one row */
    char order_id[RECORD_ID]; /* the order that wrote; or "" */
};

/* Sort them by row, then by `seq`. */
void writes_sort(struct ledger_write *writes, size_t count);

#endif
