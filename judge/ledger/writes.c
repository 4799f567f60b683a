/* See writes.h. */
#include "writes.h"

#include <stdlib.h>
#include <string.h>

static int by_row(const void *a, const void *b) {
    const struct ledger_write *x = a, *y = b;
    const int order = strcmp(x->row, y->row);

    return order != 0 ? order : (x->seq > y->seq) - (x->seq < y->seq);
}

void writes_sort(struct ledger_write *writes, size_t count) {
    if (count > 0)
        qsort(writes, count, sizeof *writes, by_row);
}
