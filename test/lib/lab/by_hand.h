/* Sales over lab's model of the store that a test lets go on by hand, up to where they work. */
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
    enum outcome read_outcome, write_outcome, kv_outcome; /* OK, or what the next ones answer */
    enum outcome check_outcome;                           /* and a look at the lock */
    enum outcome passes_with[FAIL_BEFORE_COMMIT + 1];     /* the answer of each failpoint */
    enum fail_point stop;                                 /* where a sale stops, too, ... */
    bool does_stop;                                       /* ... if it does */

    /* Counted and noted. */
    enum outcome unlocked_with;
    int locks_taken; /* shared ones, too */
    char said[200];  /* the commands for keys, in the order they came */
};

extern struct by_hand hand;

/* Before and after each test; the first also begins anew in the middle of one. */
int hand_set_up(void **state);
int hand_tear_down(void **state);

/* The next sale, under a strategy, runs up to its work. At most seven to a world. */
struct model_sale *hand_begin(const char *name, int first_shard);
struct model_sale *hand_begin_by(const struct strategy *strategy);
/* It goes on to its next stop, which is its work or its pause before another try, or to its end. */
void hand_go_on(const struct model_sale *sale);
/* OK before its end. */
enum outcome hand_outcome(const struct model_sale *sale);
/* The same without a stop. */
enum outcome hand_sell(const char *name, int first_shard, const struct model_sale **sale);
/* Each row has so many units. */
void hand_set_stock(int available);
/* Sales pause and try again; else their time to wait is over at once. */
void hand_let_wait(void);

/* A stranger takes the lock of row 0; all locks are free. */
void hand_lock(enum lock_kind kind, bool is_shared);
void hand_free_locks(void);
/* How many there are. */
int hand_locks(void);
/* The raw key: its value, "" while it is not there; how long it stays, 0 for ever. */
const char *hand_key(void);
int64_t hand_key_ttl_ms(void);
/* Set it, or take it away: "". */
void hand_set_key(const char *value);

#endif
