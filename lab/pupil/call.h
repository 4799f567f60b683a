/* A call of the seam as data: an operation that a sale asks of its store, and the answer.
 *
 * The student's code and the store that judges it live in two processes (pupil.h). In the student's
 * process `call_ops` turns each operation into a struct call. In the grader's process call_make()
 * makes the call on the model. Nothing in a call that came from the student's process is trusted:
 * call_make() checks it first. */
#ifndef LAB_CALL_H
#define LAB_CALL_H

#include "store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The operations of struct store_ops that a sale can tell apart, and its end. */
enum call_kind {
    CALL_READ_STOCK = 1,
    CALL_READ_FOR_UPDATE,
    CALL_CHECK_WRITE,
    CALL_WRITE_STOCK,
    CALL_TAKE_STOCK,
    CALL_TAKE_IN_BATCH,
    CALL_TAKE_RETURNED,
    CALL_FIND_SALE,
    CALL_OPEN_DATA_SET,
    CALL_HAND_OUT,
    CALL_LOAD_ROW,
    CALL_TAKE_LOADED,
    CALL_WRITE_PENDING,
    CALL_BEGIN,
    CALL_COMMIT,
    CALL_ROLLBACK,
    CALL_LOCK,
    CALL_UNLOCK,
    CALL_KV,
    CALL_DEAL,
    CALL_SAW_EMPTY,
    CALL_TOKEN,
    CALL_PAUSE,
    CALL_WORK,
    CALL_END, /* the strategy has returned */
};

#define CALL_TEXT 72 /* of a key or value; the store refuses one that is longer than KV_TEXT */

/* A struct stock_row without padding. */
struct call_row {
    int64_t shard, first_unit, available, version, unit, fence;
};

/* A further command of a script. */
struct call_step {
    int32_t how; /* 1 + enum kv_command; 0: the script has ended */
    int32_t none;
    int64_t number; /* a TTL */
    char key[CALL_TEXT];
    char value[CALL_TEXT];
};

/* Unused members are zero. */
struct call {
    int32_t kind; /* enum call_kind */
    int32_t how;  /* its enum: of the wait, guard, isolation, lock's kind, command, or outcome */
    int32_t mode; /* of a lock, enum lock_mode; of a write: 1 under a lock, or awaited */
    int32_t last; /* of a data set; of a command: its server */
    int64_t shard;
    int64_t number;      /* a stamp, a TTL, a token or a time to work for */
    struct call_row row; /* of END: the unit that the sale says it sold, in shard, unit, available
                            (the remaining ones) and fence */
    char key[CALL_TEXT]; /* also the data set's token */
    char value[CALL_TEXT];
    struct call_step then[KV_STEPS - 1];
};

/* Without padding, because answers are compared byte by byte. Unused members are zero. */
struct reply {
    int32_t outcome;
    int32_t
        flag; /* a yes, the number of a script's yeses, a shard, or the last row of a data set */
    int32_t is_again, is_half_sold;
    int64_t stamp;
    struct call_row row;
    struct call_row sale;             /* the sale's own unit after the call, like END's */
    char text[KV_TEXT];               /* a value or a token */
    char then[KV_STEPS - 1][KV_TEXT]; /* the values of a script's further commands */
};

/* ---- in the student's process */

/* Fills struct sale's `ops`. Each operation calls call_ask(). */
extern const struct store_ops call_ops;
/* The process sets it. It returns with the answer, or it does not return. */
extern void (*call_ask)(const struct call *call, struct reply *reply);
/* The process sets it: the sale shows a text. */
extern void (*call_trace)(const char *text);
/* The call that ends a sale. */
struct call call_end(const struct sale *sale, enum outcome outcome);

/* ---- in the grader's process */

/* The function of store.h that made a call. */
const char *call_name(const struct call *call);
bool call_is_same(const struct call *a, const struct call *b);
/* False: no function of the seam asks for this, in the state that the sale is in. So the student's
 * code has written over its own process. */
bool call_is_possible(const struct call *call, const struct sale *sale);
/* Make a possible call, other than END, on the sale's store. It may suspend the fiber. */
void call_make(struct sale *sale, const struct call *call, struct reply *reply);

#endif
