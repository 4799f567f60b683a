/* The choices of an exploration, for a page on which a viewer schedules the moves. */
#ifndef LAB_CHOICES_H
#define LAB_CHOICES_H

#include "tell.h"

#define CHOICES_EXPANDED 400  /* states with their moves, at most */
#define CHOICES_FOUND    2000 /* states */

/* A JSON object: `states`, each with its verdict and its moves; a move names the state that it leads
 * to. `is_complete`: no state is without its moves. `tell` has an exploration that has ended; this
 * changes its steps. NULL without memory. */
json_t *choices_json(struct tell *tell, struct model_world *world, struct view *view);

#endif
