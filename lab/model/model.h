/* A model of all that a sale can touch: Postgres rows, keys and values, locks, a clock, processes.
 *
 * It fills the seam's table of operations (store.h), as inventory-svc does with real servers, on
 * the state of world.h; and it offers a scheduler all moves that there are, and makes them.
 *
 * The clock is virtual: it stands still while steps are made. Who works or sleeps is woken by being
 * chosen, and the clock jumps to that moment; and when everybody waits it jumps to the next moment
 * at which one need not wait any more. What the model promises and what it leaves out is in
 * docs/explore.md. */
#ifndef LAB_MODEL_H
#define LAB_MODEL_H

#include "world.h"

#define MODEL_MOVES 64 /* at most, from one state */

/* One choice of the scheduler. */
enum model_move_kind {
    MOVE_RUN,      /* order `who` makes its next step; if it slept, the clock jumps there */
    MOVE_LOSE,     /* the same, and the reply of the step is lost */
    MOVE_DROP,     /* the same, and what it asks for never arrives; nor is it told so */
    MOVE_PAUSE,    /* instance `who` stands still: its leases run out */
    MOVE_RESUME,   /* and goes on */
    MOVE_CRASH,    /* instance `who` is killed, and starts again without memory */
    MOVE_EXPIRE,   /* the clock jumps to where something that is not renewed expires */
    MOVE_FAILOVER, /* of the keys' server, whose last `who` changes of keys are lost */
    MOVE_LAND,     /* what order `who` had sent takes effect now */
    MOVE_BRING,    /* instance `who` brings a pending sale to the ledger */
    MOVE_RETURN,   /* the customer of order `who` gives its unit back */
};

struct model_move {
    uint8_t kind; /* enum model_move_kind */
    uint8_t who;
};

/* Begin anew: nobody has come, all units are there. setup, turn, say and data are the caller's to
 * set, before. */
void model_begin(struct model_world *world);
/* In a fiber, the first time that order `index` is chosen: sell to it, from its beginning to its
 * end. */
void model_sell(struct model_world *world, int index);

/* Order `index` was killed, and the step that had been on its way is made: nothing of it is to
 * come. After model_make() has answered true to a LAND. */
void model_bury(struct model_world *world, int index);

/* May it make its next step? Who waits for a lock may when that is free or its time is over. */
bool model_is_ready(const struct model_world *world, int index);
/* All choices there are, in an order that is always the same: the runs first. None: the end. When
 * nobody is ready, whoever is so first runs, and time passes before. */
size_t model_moves(struct model_world *world, struct model_move moves[MODEL_MOVES]);
/* Make a move. True: the fiber of order `who` is to be resumed now; it may be the order's first
 * step, or its last, if it was killed and the move is a LAND. */
bool model_make(struct model_world *world, struct model_move move);
/* Order `index` was killed or its fiber is not to be resumed any more. */
bool model_is_gone(const struct model_world *world, int index);
/* Two worlds of equal hash go on alike, but for one chance in 2^64 times the pairs. */
uint64_t model_hash(const struct model_world *world);

/* "none", or names with commas between: 0, or -1 when one is no fault. */
__attribute__((warn_unused_result)) int model_faults_read(const char *text, unsigned *faults);
/* Their names; returns `text`, "" for none. */
#define MODEL_FAULTS_TEXT 80
char *model_faults_write(unsigned faults, const char *between, char text[MODEL_FAULTS_TEXT]);

#endif
