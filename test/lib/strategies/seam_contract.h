/* The contract of the store seam: one table of cases that every implementation of `struct
 * store_ops` passes. */
#ifndef TEST_SEAM_CONTRACT_H
#define TEST_SEAM_CONTRACT_H

#include "store.h"

/* An implementation under test. Its functions run in a fiber of its own. */
struct seam_world {
    /* A fresh product of `stock` units with the options of a spec; sales begin on it from now on.
     */
    void (*make_product)(const char *spec, int stock);
    /* A sale of a new order; or of the same order as `other`. To be ended. */
    struct sale *(*begin_sale)(const struct sale *other);
    void (*end_sale)(struct sale *sale);
    void (*sleep)(int64_t ms);
};

struct seam_case {
    const char *name, *spec;
    int stock;
    void (*run)(const struct seam_world *world);
};

/* Ends with a NULL name. A case fails by cmocka's assertions. */
extern const struct seam_case seam_contract[];
void seam_contract_hold(const struct seam_world *world, const struct seam_case *held);

#endif
