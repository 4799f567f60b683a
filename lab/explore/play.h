/* A play: runs the orders of a world as fibers, move by move. There is one play at a time. */
#ifndef LAB_PLAY_H
#define LAB_PLAY_H

#include "model.h"

/* Begin anew. Drops the fibers of an earlier play. */
void play_begin(struct model_world *world);
/* Make a move that model_moves() has offered, and let its order run until its next step. 0, or -1
 * without memory. */
__attribute__((warn_unused_result)) int play_move(struct model_world *world,
                                                  struct model_move move);
/* Drop all fibers. */
void play_end(struct model_world *world);

#endif
