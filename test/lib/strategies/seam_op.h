/* An operation of the seam as data, so that one can be drawn at random and played on two stores. */
#ifndef TEST_SEAM_OP_H
#define TEST_SEAM_OP_H

#include "strategy.h"

#include <stddef.h>

#define SEAM_OPS(X)                                                                                \
    X(READ)                                                                                        \
    X(READ_FOR_UPDATE)                                                                             \
    X(WRITE) /* what was read last, under the lock that it has */                                  \
    X(TAKE)                                                                                        \
    X(TAKE_IN_BATCH)                                                                               \
    X(TAKE_RETURNED)                                                                               \
    X(FIND)                                                                                        \
    X(HAND_OUT)                                                                                    \
    X(WRITE_PENDING) /* what was read or taken last */                                             \
    X(OPEN_DATA_SET)                                                                               \
    X(LOAD_ROW) /* what was read last, for the data set that was opened last */                    \
    X(TAKE_LOADED)                                                                                 \
    X(BEGIN)                                                                                       \
    X(END)                                                                                         \
    X(SAW_EMPTY)                                                                                   \
    X(DEAL)                                                                                        \
    X(SELL)   /* by the strategy, from its beginning to its end */                                 \
    X(CANCEL) /* is none of the seam: the caller plays it */                                       \
    X(LOCK)                                                                                        \
    X(LOCK_SHARED)                                                                                 \
    X(STAMP)                                                                                       \
    X(LOCK_STAMPED)                                                                                \
    X(UNLOCK)                                                                                      \
    X(SET_ABSENT)                                                                                  \
    X(EXPIRE)                                                                                      \
    X(GET)                                                                                         \
    X(DELETE)                                                                                      \
    X(DELETE_IF_EQUAL)

enum seam_op_kind {
#define X(name) OP_##name,
    SEAM_OPS(X)
#undef X
        OP_COUNT
};

/* Whatever a kind has no use for is ignored. */
struct seam_op {
    enum seam_op_kind kind;
    int who; /* the caller's */
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

/* A sale at one of the stores, and what it has there. Zeroed, but for `sale`. */
struct seam_side {
    struct sale *sale;
    struct stock_row seen;
    struct data_set set;
    struct store_lock *lock;
    uint64_t stamp;
};

/* What is not said is 0. */
struct seam_answer {
    enum outcome outcome;
    int64_t numbers[5];
    int64_t fence;
    char text[KV_TEXT];
};

struct seam_answer seam_op_play(struct seam_side *side, const struct seam_op *op,
                                const struct strategy *strategy);

/* Each store counts its tokens in its own way; what can be compared is their order. */
struct seam_fences {
    size_t count;
    int64_t seen[32];
};
/* The how manyeth it is of those that were seen, from 1; 0 for none, -1 when it is new and does not
 * exceed them. */
int64_t seam_rank(struct seam_fences *fences, int64_t fence);

#define SEAM_TEXT 256
void seam_op_text(const struct seam_op *op, char text[SEAM_TEXT]);
/* Equal answers have equal texts. */
void seam_answer_text(const struct seam_answer *answer, char text[SEAM_TEXT]);

#endif
