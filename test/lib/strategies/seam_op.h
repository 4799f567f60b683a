/* An operation of the seam as data, which a test can draw at random and play on two stores. */
#ifndef TEST_SEAM_OP_H
#define TEST_SEAM_OP_H

#include "strategy.h"

#include <stddef.h>

#define SEAM_OPS(X)                                                                                \
    X(READ)                                                                                        \
    X(READ_FOR_UPDATE)                                                                             \
    X(WRITE) /* of the last read, under the sale's lock */                                         \
    X(TAKE)                                                                                        \
    X(TAKE_IN_BATCH)                                                                               \
    X(TAKE_RETURNED)                                                                               \
    X(FIND)                                                                                        \
    X(HAND_OUT)                                                                                    \
    X(WRITE_PENDING) /* of the last read or taken unit */                                          \
    X(OPEN_DATA_SET)                                                                               \
    X(LOAD_ROW) /* of the last read, for the last opened data set */                               \
    X(TAKE_LOADED)                                                                                 \
    X(BEGIN)                                                                                       \
    X(END)                                                                                         \
    X(SAW_EMPTY)                                                                                   \
    X(DEAL)                                                                                        \
    X(SELL)   /* the strategy, from its beginning to its end */                                    \
    X(CANCEL) /* not of the seam: the caller plays it */                                           \
    X(LOCK)                                                                                        \
    X(LOCK_SHARED)                                                                                 \
    X(STAMP)                                                                                       \
    X(LOCK_STAMPED)                                                                                \
    X(UNLOCK)                                                                                      \
    X(SET_ABSENT)                                                                                  \
    X(EXPIRE)                                                                                      \
    X(GET)                                                                                         \
    X(DELETE)                                                                                      \
    X(DELETE_IF_EQUAL)                                                                             \
    X(SCRIPT) /* `wait` says which */

enum seam_op_kind {
#define X(name) OP_##name,
    SEAM_OPS(X)
#undef X
        OP_COUNT
};

/* A kind ignores the members that it does not need. */
struct seam_op {
    enum seam_op_kind kind;
    int who; /* for the caller */
    int shard;
    enum row_wait wait;
    enum guard guard;
    enum isolation isolation;
    enum outcome end;
    enum lock_kind lock;
    const char *text; /* a data set; a value */
    const char *key;
    int64_t ttl_ms;
};

/* A sale at one of the stores, and its state there. Zero everything except `sale`. */
struct seam_side {
    struct sale *sale;
    struct stock_row seen;
    struct data_set set;
    struct store_lock *lock;
    uint64_t stamp;
};

/* A member that an operation does not set is 0. */
struct seam_answer {
    enum outcome outcome;
    int64_t numbers[5];
    int64_t fence;
    char text[KV_TEXT];
};

struct seam_answer seam_op_play(struct seam_side *side, const struct seam_op *op,
                                const struct strategy *strategy);

/* Each store counts its tokens in its own way. Only their order can be compared. */
struct seam_fences {
    size_t count;
    int64_t seen[32];
};
/* The rank of this token among those seen so far, from 1. 0: no token. -1: a new token that is not
 * the highest. */
int64_t seam_rank(struct seam_fences *fences, int64_t fence);

#define SEAM_TEXT 256
void seam_op_text(const struct seam_op *op, char text[SEAM_TEXT]);
/* Equal answers have equal texts. */
void seam_answer_text(const struct seam_answer *answer, char text[SEAM_TEXT]);

#endif
