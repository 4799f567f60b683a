/* The techniques of a sale: the operations that a chapter requires or forbids. A chapter about locks
 * is not passed by one statement that needs none. */
#ifndef LAB_TECHNIQUE_H
#define LAB_TECHNIQUE_H

#include "plan.h"

#define TECHNIQUES(X)                                                                              \
    X(WORK, "work", "store_work() between the read and the write")                                 \
    X(LOCK, "lock", "store_lock()")                                                                \
    X(KEY, "key", "store_kv_set_absent() or KV_SET_ABSENT")                                        \
    X(COUNT, "count", "KV_COUNT")                                                                  \
    X(SERVERS, "servers", "a key at most of the servers 1 to 3")                                   \
    X(DELETE, "delete", "store_kv_delete() or store_kv_delete_if_equal()")                         \
    X(TAKE, "take", "store_take_stock() or another take in one step")                              \
    X(GUARD, "guard", "GUARD_VERSION or GUARD_VALUE")                                              \
    X(FENCE, "fence", "GUARD_FENCE")                                                               \
    X(ROW_LOCK, "row-lock", "store_read_for_update()")                                             \
    X(SERIALIZABLE, "serializable", "a SERIALIZABLE transaction")

#define TECHNIQUE_GROUPS 4

/* Sets of techniques: bits in the sequence above. */
struct techniques {
    unsigned required[TECHNIQUE_GROUPS]; /* one of each set; 0: the end */
    unsigned forbidden;
};

/* The bit of a word, or 0 if there is no such word. */
unsigned technique_read(const char *word, size_t length);
/* True if the undisturbed sale that ends at `alone` uses the required techniques, and no sale of the
 * plan uses a forbidden one. Otherwise `why` gets a sentence. */
bool techniques_are_kept(const struct techniques *techniques, const struct plan *plan,
                         const struct plan_node *alone, struct why *why);

#endif
