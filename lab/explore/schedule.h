/* A schedule: the moves that were made, one after the other, and its text.
 *
 * The text, its id, has for each move a letter, and says all that is needed to make it again: "A"
 * is a step of the first order, "a" one whose reply is lost; of order-less moves it is a sign and
 * the instance's or order's number: "p1" pauses the first instance, "r1" lets it go on, "k1" kills
 * it, "l1" lands what the first order had sent, "w1" brings a pending sale to the ledger, "u1"
 * gives the first order's unit back, "n1" is a step of the second order that never arrives, "x0"
 * lets what expires first expire, "o0" is a failover. */
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
/* 0, or -1 when it is not such a text. */
__attribute__((warn_unused_result)) int schedule_read(struct schedule *schedule, const char *text);

#endif
