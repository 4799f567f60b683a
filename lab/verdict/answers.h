/* The faults of a schedule's end beside the rules of loadgen's judge: answers that no customer may
 * get, customers that were turned away, carts of which half was sold. */
#ifndef LAB_ANSWERS_H
#define LAB_ANSWERS_H

#include "anomaly.h"
#include "model.h"

#include <stdio.h>

/* Faults of a strategy that loadgen has no anomaly for. */
#define VIEW_ANOMALIES(X)                                                                          \
    X(NO_ANSWER, "NO-ANSWER", "a customer was told of a failure, but nothing had failed")          \
    X(ENDLESS, "ENDLESS", "an order does not end")                                                 \
    X(SKIPS_WORK, "SKIPS-WORK", "a unit was sold without the work of a sale")                      \
    X(FREES_ANOTHERS, "FREES-ANOTHERS", "an order deleted a key that another order had set")       \
    X(HALF_CART, "HALF-CART", "an order was sold one of the two products in its cart")             \
    X(DEADLOCK, "DEADLOCK", "a customer was turned away because two orders waited for each other") \
    X(TURNED_AWAY, "TURNED-AWAY", "a customer was turned away that could have waited")             \
    X(IN_DOUBT, "IN-DOUBT", "a customer was told UNKNOWN, though the store answered again")

enum view_anomaly {
    VIEW_FIRST = ANOMALY_COUNT - 1,
#define X(id, name, text) VIEW_##id,
    VIEW_ANOMALIES(X)
#undef X
        VIEW_COUNT
};

/* Bits of 1 << enum view_anomaly, and ANOMALY_STUCK. */
unsigned answers_judge(const struct model_world *world);
/* Write a sentence about the gravest fault among `found`, if it is one of these. */
void answers_tell(FILE *to, const struct model_world *world, unsigned found);

#endif
