/* The game of `lab explore --break`: the player is the scheduler, and wins with a schedule that
 * breaks the strategy. A line of input is the number of a move, or a letter (see --help). */
#ifndef LAB_GAME_H
#define LAB_GAME_H

#include "tell.h"

enum game_end { GAME_LEFT, GAME_WON, GAME_NO_MEMORY };

/* Play. `tell` has an exploration that has ended, with the shortest schedule if there is one. It
 * gets the player's schedule, and `explored->shortest` does, too. */
__attribute__((warn_unused_result)) enum game_end game_play(struct tell *tell,
                                                            struct model_world *world,
                                                            struct view *view, FILE *from,
                                                            FILE *to);

#endif
