/* A play: the orders of a world as fibers, made to go on move by move. One at a time. */
#ifndef LAB_PLAY_H
#define LAB_PLAY_H

#include "model.h"

/* Begin anew. What an earlier play left in mid-step is dropped. */
void play_begin(struct model_world *world);
/* Make a move that model_moves() has offered, and let its order run up to its next step. 0, or -1
 * without memory. */
__attribute__((warn_unused_result)) int play_move(struct model_world *world,
                                                  struct model_move move);
/* Drop all fibers. */
void play_end(struct model_world *world);

#endif
