/* A model of all that a sale can touch: Postgres rows, keys and values, locks, a clock, processes.
 *
 * It fills the seam's table of operations (store.h) on the state of world.h, like inventory-svc
 * with real servers. It offers a scheduler all possible moves, and makes the chosen one.
 *
 * The clock is virtual: it stands still during steps. If the scheduler chooses an order that works
 * or sleeps, the clock jumps to its end. If all orders wait, the clock jumps to the next moment at
 * which an order may go on. docs/explore.md says what the model promises and what it leaves out. */
#ifndef LAB_MODEL_H
#define LAB_MODEL_H

#include "world.h"

#define MODEL_MOVES  64 /* at most, from one state */
#define MODEL_SERVER 4  /* see MOVE_FAILOVER */
#define MODEL_MASTER 7
/* The letter of a customer at another shop; those of orders begin with A. */
#define MODEL_LETTER_OF_OTHER(number) ('Z' - (number))

/* One choice of the scheduler. */
enum model_move_kind {
    MOVE_RUN,      /* the order makes its next step; if it sleeps, the clock jumps to its end */
    MOVE_LOSE,     /* the same, but the reply of the step is lost */
    MOVE_DROP,     /* the same, but its request never arrives, and the order gets no answer */
    MOVE_PAUSE,    /* the instance stands still, until the next end of what it holds */
    MOVE_RESUME,   /* the instance goes on */
    MOVE_CRASH,    /* the instance is killed, and starts again without memory */
    MOVE_EXPIRE,   /* the clock jumps until the first key or lease without renewal expires; or,
                      if it names 1 + an order, until that lease does, because renewals fail */
    MOVE_FAILOVER, /* the keys' server fails; so many of the last changes of keys are lost. Or,
                      if it names MODEL_SERVER + a server, that one fails for ever; or if it names
                      MODEL_MASTER + such a number, the second master of the cluster fails */
    MOVE_LAND,     /* a request that the order sent takes effect now */
    MOVE_BRING,    /* the instance brings a pending sale to the ledger */
    MOVE_RETURN,   /* the order's customer gives the unit back */
    MOVE_BUY,      /* a customer at another shop buys a unit of the row by one statement */
};

struct model_move {
    uint8_t kind; /* enum model_move_kind */
    uint8_t who;  /* the order, the instance, the row, or a number of changes; see EXPIRE */
};

/* Begin anew: no order has come, and all units are there. The caller sets setup, turn, say and data
 * before. */
void model_begin(struct model_world *world);
/* Sell to order `index`, from its beginning to its end. Runs in a fiber, which starts when the
 * order is chosen for the first time. */
void model_sell(struct model_world *world, int index);

/* Order `index` was killed, and its last step has landed: forget the rest of it. Call this after
 * model_make() has returned true for a LAND. */
void model_bury(struct model_world *world, int index);

/* True if order `index` may make its next step. If it waits for a lock, it may when the lock is
 * free or its time is over. */
bool model_is_ready(const struct model_world *world, int index);
/* All possible moves, always in the same sequence, with the runs first. 0: the schedule has ended.
 * If no order is ready, they have the runs of the orders that are ready first in the future. */
size_t model_moves(struct model_world *world, struct model_move moves[MODEL_MOVES]);
/* Make a move. True: the caller must resume the order's fiber now. That may be the order's first
 * step; or its last, if the order was killed and the move is a LAND. */
bool model_make(struct model_world *world, struct model_move move);
/* True if order `index` was killed and has no step on its way: its fiber will not be resumed. */
bool model_is_gone(const struct model_world *world, int index);
/* Worlds with equal hashes have equal futures. For each pair of worlds the chance of an error is
 * one in 2^64. */
uint64_t model_hash(const struct model_world *world);

/* Read "none", or names of faults with commas between. 0, or -1 if a name is unknown. */
__attribute__((warn_unused_result)) int model_faults_read(const char *text, unsigned *faults);
/* Write the faults' names. Returns `text`, "" for no fault. */
#define MODEL_FAULTS_TEXT 80
char *model_faults_write(unsigned faults, const char *between, char text[MODEL_FAULTS_TEXT]);

#endif
