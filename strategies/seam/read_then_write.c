/* Read, work, write. Right only if no other sale does the same to the same row, or if the guard
 * notices. */
#include "read_then_write.h"

static enum outcome work_then_write(struct sale *sale, const struct stock_row *seen,
                                    enum guard guard, const struct store_lock *under) {
    if (seen->available <= 0)
        return OUTCOME_SOLD_OUT;
    store_work(sale);
    return store_write_stock(sale, seen, guard, under);
}

enum outcome read_then_write(struct sale *sale, int shard, enum guard guard,
                             const struct store_lock *under) {
    struct stock_row seen;
    enum outcome outcome = store_read_stock(sale, shard, &seen);

    return outcome == OUTCOME_OK ? work_then_write(sale, &seen, guard, under) : outcome;
}

enum outcome lock_shard_then_write(struct sale *sale, enum lock_kind kind, int shard,
                                   enum guard guard) {
    struct store_lock *lock;
    enum outcome outcome = store_lock(sale, kind, shard, &lock);

    if (outcome != OUTCOME_OK)
        return outcome;
    outcome = read_then_write(sale, shard, guard, lock);
    store_unlock(sale, lock, outcome);
    return outcome;
}

enum outcome lock_then_write(struct sale *sale, enum lock_kind kind) {
    return lock_shard_then_write(sale, kind, 0, sale->options->is_fenced ? GUARD_FENCE : GUARD_ANY);
}

static enum outcome read_then_write_look(struct sale *sale, enum lock_kind kind) {
    struct stock_row row;
    struct store_lock *lock;
    enum outcome outcome = store_lock_shared(sale, kind, 0, &lock);

    if (outcome != OUTCOME_OK)
        return outcome;
    outcome = store_read_stock(sale, 0, &row);
    store_unlock(sale, lock, outcome);
    return outcome == OUTCOME_OK && row.available <= 0 ? OUTCOME_SOLD_OUT : outcome;
}

enum outcome look_then_write(struct sale *sale, enum lock_kind kind) {
    enum outcome outcome = read_then_write_look(sale, kind);

    return outcome == OUTCOME_OK ? lock_then_write(sale, kind) : outcome;
}

enum outcome lock_row_then_write(struct sale *sale, int shard, enum row_wait wait) {
    struct stock_row seen;
    enum outcome outcome = store_begin(sale, READ_COMMITTED);

    if (outcome != OUTCOME_OK)
        return outcome;
    outcome = store_read_for_update(sale, shard, wait, &seen);
    if (outcome == OUTCOME_OK)
        outcome = work_then_write(sale, &seen, GUARD_ANY, NULL);
    return store_end(sale, outcome);
}
