/* Read, work, write: right only while nobody else does the same to the same row. */
#include "read_then_write.h"

#include <stddef.h>

enum outcome read_then_write(struct sale *sale, int shard, const struct store_lock *under) {
    struct stock_row seen;
    enum outcome outcome = store_read_stock(sale, shard, &seen);

    if (outcome != OUTCOME_OK)
        return outcome;
    if (seen.available <= 0)
        return OUTCOME_SOLD_OUT;
    store_work(sale);
    if (under != NULL) {
        outcome = store_check_lock(sale, under);
        if (outcome != OUTCOME_OK)
            return outcome;
    }
    return store_write_stock(sale, &seen, under);
}
