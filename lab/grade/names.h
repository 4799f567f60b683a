/* The ids, tokens and instances of a sale: the pupil sees `shown`, the plan's tree has `real`. They
 * are of one length. */
#ifndef LAB_NAMES_H
#define LAB_NAMES_H

#include "call.h"
#include "model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NAMES                96
#define NAMES_FIRST_INSTANCE "inventory-1"

struct names {
    size_t count;
    struct {
        char real[TOKEN_TEXT], shown[TOKEN_TEXT];
    } names[NAMES];
};

/* A random number: splitmix64, https://prng.di.unimi.it/splitmix64.c */
uint64_t names_random(uint64_t *seed);
/* All names of the model are shown as names that the seed chooses. */
void names_choose(struct names *names, uint64_t *seed);
/* The names of the order with this index and those of the first order change places. None: it is
 * that one. */
void names_exchange(struct names *names, const char *order_id, int index, const char *instance);
/* The id of the first order. */
void names_first_order(char id[TOKEN_TEXT]);
/* Replace each real name in a text by the shown one, or back. */
void names_replace(const struct names *names, char *text, bool back);
void names_show(const struct names *names, struct reply *reply);
void names_take_back(const struct names *names, struct call *call);

#endif
