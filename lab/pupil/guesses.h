/* Guesses: the store may answer a call as it answered the last one of its kind.
 *
 * With them a player plays a sale on, beyond the last answer of the store. If the store then answers
 * as guessed, the plan knows what the sale does next, and need not ask. A wrong guess costs nothing. */
#ifndef LAB_GUESSES_H
#define LAB_GUESSES_H

#include "call.h"

#define GUESSES      24 /* kinds of calls */
#define GUESSED_MOST 32 /* answers of one sale that are guessed */

struct guess {
    int32_t kind, how, server; /* of the call: kind, how and last */
    int32_t none;
    struct reply reply;
};

struct guesses {
    uint32_t count;
    struct guess list[GUESSES];
};

/* The store answered so. Without room for one more kind of call, nothing is learned. */
void guesses_learn(struct guesses *guesses, const struct call *call, const struct reply *reply);
/* The answer to guess, or NULL. It lies in `guesses`. */
const struct reply *guesses_find(const struct guesses *guesses, const struct call *call);

#endif
