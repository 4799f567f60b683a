/* The ids, tokens and instances of a sale: the pupil sees `shown`, the plan's tree has `real`. They
 * are of one length.
 *
 * A file may write a text that is a real name by chance, such as "inventory-1". In the tree this has a
 * third form. So two texts are equal in the tree if they are equal for the pupil. */
#ifndef LAB_NAMES_H
#define LAB_NAMES_H

#include "call.h"
#include "model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NAMES 60 /* of 8 orders and 4 instances, in each form */

struct names {
    size_t count;
    struct {
        char real[TOKEN_TEXT], shown[TOKEN_TEXT];
    } names[NAMES];
    /* Tokens are not listed, because a sale may draw many. */
    uint64_t token_key;
    bool is_mirrored, has_alike_tokens;
    unsigned exchanged; /* this order has changed places with the first; 0: none */
};

/* A random number: splitmix64, https://prng.di.unimi.it/splitmix64.c */
uint64_t names_random(uint64_t *seed);
/* The forms of the names that a pupil sees. */
enum names_form {
    NAMES_STRANGE, /* no file has them in its text: instances have no numbers. The first and last eight
                      digits of all tokens are the same: a file must compare whole tokens */
    NAMES_LIVE,    /* as in live sales: instances have numbers, half of the ids are of our time */
    NAMES_MIRRORED /* the same, but the larger one of two ids, tokens or instances is the smaller */
};
/* All names of the model are shown as names that the seed chooses. `now_ms` is the time of ids. */
void names_choose(struct names *names, uint64_t seed, enum names_form form, uint64_t now_ms);
/* The names of the order with this index and those of the first order change places. None: it is
 * that one. */
void names_exchange(struct names *names, const char *order_id, int index, const char *instance);
/* The id of the first order, and its instance. */
void names_first(char id[TOKEN_TEXT], char instance[TOKEN_TEXT]);
/* Replace each real name in a text by the shown one, or back. */
void names_replace(const struct names *names, char *text, bool back);
void names_show(const struct names *names, struct reply *reply);
void names_take_back(const struct names *names, struct call *call);
/* True if a text of the tree's call has an instance's shown name by chance. The pupil's text would be
 * taken for that instance. */
bool names_are_in(const struct names *names, const struct call *call);

#endif
