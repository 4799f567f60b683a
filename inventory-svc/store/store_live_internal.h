/* Shared by the two files of the live store: the operations on locks (lock_live.c). */
#ifndef INVENTORY_STORE_LIVE_INTERNAL_H
#define INVENTORY_STORE_LIVE_INTERNAL_H

#include "store_live.h"

static inline struct live_sale *live_of(struct sale *sale) {
    return (struct live_sale *)(void *)sale;
}

enum outcome live_lock(struct sale *sale, struct lock_call *call);
void live_unlock(struct sale *sale, struct store_lock *lock, enum outcome outcome);
void live_trace(struct sale *sale, const char *text);

enum outcome live_kv(struct sale *sale, struct kv_call *call);
/* No more attempts at a lock made of a raw key will follow, if there were any. */
void live_give_up(struct live_sale *live);

/* Does nothing without --lab. Tells a failpoint before it acts, because a crash cannot tell
 * afterwards. The failpoint acts even if it could not be told. */
void live_tell_firing(const struct live_sale *live, enum fail_point point, enum fail_action action,
                      int64_t ms);

#endif
