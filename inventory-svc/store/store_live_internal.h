/* The parts of the live store, each the operations of one kind, and what they share. */
#ifndef INVENTORY_STORE_LIVE_INTERNAL_H
#define INVENTORY_STORE_LIVE_INTERNAL_H

#include "store_live.h"

static inline struct live_sale *live_of(struct sale *sale) {
    return (struct live_sale *)(void *)sale;
}

static inline int64_t earlier(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* When the next statement of this sale must have ended. */
int64_t live_due_ms(const struct live_sale *live);

enum outcome live_take_stock(struct sale *sale, int shard);

/* batch_live.c */
enum outcome live_take_in_batch(struct sale *sale, int shard);

/* The start of each way to sell: what will be written; and its end. */
struct reservation *live_begin_sold(struct live_sale *live, int shard);
enum outcome live_end_sold(struct live_sale *live, enum outcome outcome, int64_t due_ms);

/* events_live.c: nothing without --lab. A failpoint is told before it acts, as one that crashes
 * cannot; one that could not be told acts all the same. */
void live_tell_firing(const struct live_sale *live, enum fail_point point, enum fail_action action,
                      int64_t ms);
/* `result` is "yes", "no" or "unknown"; it has just arrived. */
void live_note_command(struct live_sale *live, const struct kv_call *call, const char *key,
                       const char *result, int64_t begun_ns);
/* No more attempts follow. */
void live_note_refusals(struct live_sale *live);

/* kv_live.c */
enum outcome live_kv(struct sale *sale, struct kv_call *call);
/* No more attempts at a lock made of a raw key, if it made any. */
void live_key_given_up(struct live_sale *live);

#endif
