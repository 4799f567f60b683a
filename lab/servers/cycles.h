/* Serializable transactions that cannot have run one after the other. */
#ifndef LAB_CYCLES_H
#define LAB_CYCLES_H

#include "world.h"

/* The write of the row by the transaction of order `index`, or NULL. */
const struct model_write *cycles_find_write(const struct model_state *state, size_t index,
                                            int shard);
/* The sale has read the row, or will write it now. False: the sale must give up. */
bool cycles_note(struct model_sale *sale, int shard, bool is_write);
/* The sale commits now. Another open transaction that read a row before this one overwrote it, and
 * that overwrites a row that a third open one has read, would be the middle of a cycle. It must give
 * up. */
void cycles_doom(struct model_sale *sale);

#endif
