/* Sales on lab's model of the store. A test lets them go on by hand, up to their work. */
#ifndef TEST_BY_HAND_H
#define TEST_BY_HAND_H

#include "model.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

#define SHARDS 4

/* One instance sells four rows of ten units. A test sets outcomes here, for all steps to come. */
struct by_hand {
    struct model_world world;
    enum outcome read_outcome, write_outcome, kv_outcome; /* OK, or the answer of the next ones */
    enum outcome check_outcome;                           /* OK, or the answer of a lock's check */
    enum outcome passes_with[FAIL_BEFORE_COMMIT + 1];     /* the answer of each failpoint */
    enum fail_point stop;                                 /* if does_stop, a sale stops here, too */
    bool does_stop;

    /* Counts and notes. */
    enum outcome unlocked_with;
    int locks_taken; /* shared ones, too */
    char said[200];  /* the commands for keys, one after the other */
};

extern struct by_hand hand;

/* Call these before and after each test. hand_set_up() also begins anew in the middle of a test. */
int hand_set_up(void **state);
int hand_tear_down(void **state);

/* Let the next sale run up to its work, under a strategy. A world has at most seven sales. */
struct model_sale *hand_begin(const char *name, int first_shard);
struct model_sale *hand_begin_by(const struct strategy *strategy);
/* Let it go on to its next stop or its end. A stop is its work, or a pause before another try. */
void hand_go_on(const struct model_sale *sale);
/* Its outcome; OK before its end. */
enum outcome hand_outcome(const struct model_sale *sale);
/* Let the next sale run to its end, without a stop. */
enum outcome hand_sell(const char *name, int first_shard, const struct model_sale **sale);
/* Set the number of units of each row. */
void hand_set_stock(int available);
/* Let sales pause and try again. Without this their time to wait is over at once. */
void hand_let_wait(void);

/* Let a stranger take the lock of row 0, or free all locks. */
void hand_lock(enum lock_kind kind, bool is_shared);
void hand_free_locks(void);
/* The number of locks that are taken. */
int hand_locks(void);
/* The raw key: its value, "" if it is not there; and its time to live, 0: for ever. */
const char *hand_key(void);
int64_t hand_key_ttl_ms(void);
/* Set the raw key. "": delete it. */
void hand_set_key(const char *value);

#endif
