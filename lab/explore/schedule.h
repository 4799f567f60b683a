/* A schedule: its moves, one after the other, and its text.
 *
 * The text is the schedule's id, and is enough to run the schedule again. An order is a letter in a
 * run; elsewhere orders and instances are numbers from 0. The moves are:
 *   A   the first order makes a step        a   the same, but its reply is lost
 *   n0  the same, but its request is lost   l0  a request of the first order lands
 *   p0  the first instance stands still     r0  it goes on        k0  it is killed
 *   w0  it brings a pending sale to the ledger
 *   u0  the first order's customer gives the unit back
 *   y0  a customer at another shop buys a unit of the first row
 *   x0  the first key or lease to expire expires
 *   o0  a failover                          o1  the same, and the last change of keys is lost */
#ifndef LAB_SCHEDULE_H
#define LAB_SCHEDULE_H

#include "model.h"

#define SCHEDULE_MOVES 512
#define SCHEDULE_TEXT  (2 * SCHEDULE_MOVES + 1)

struct schedule {
    size_t count;
    struct model_move moves[SCHEDULE_MOVES];
};

void schedule_write(const struct schedule *schedule, char text[SCHEDULE_TEXT]);
/* 0, or -1 if `text` is not a schedule's id. */
__attribute__((warn_unused_result)) int schedule_read(struct schedule *schedule, const char *text);

#endif
