/* Read, work, write: right only while nobody else does the same to the same row, or the guard sees
 * it. */
#include "read_then_write.h"

enum outcome read_then_write(struct sale *sale, int shard, enum guard guard,
                             const struct store_lock *under) {
    struct stock_row seen;
    enum outcome outcome = store_read_stock(sale, shard, &seen);

    if (outcome != OUTCOME_OK)
        return outcome;
    if (seen.available <= 0)
        return OUTCOME_SOLD_OUT;
    store_work(sale);
    return store_write_stock(sale, &seen, guard, under);
}
