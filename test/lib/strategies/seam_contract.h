/* The contract of the store seam: a table of cases, which every implementation of `struct
 * store_ops` must pass. */
#ifndef TEST_SEAM_CONTRACT_H
#define TEST_SEAM_CONTRACT_H

#include "strategy.h"

/* An implementation under test. Its functions run in a fiber. */
struct seam_world {
    /* Make a product of `stock` units with the options of a spec. From now on sales begin on it. */
    void (*make_product)(const char *spec, int stock);
    /* Begin a sale of a new order, or of the order of `other`. The caller ends it. */
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
/* Cases of their own file. */
void seam_key_ends_with_its_ttl(const struct seam_world *world);
void seam_script_ends_at_the_first_no(const struct seam_world *world);
void seam_command_that_is_refused_ends_its_script(const struct seam_world *world);
void seam_sale_has_a_token_of_its_own(const struct seam_world *world);
void seam_work_is_done_in_pieces(const struct seam_world *world);
/* The strategy of the next three. */
extern const struct strategy seam_sells_carts;
#define SEAM_CART "carts,cart=on"
void seam_cart_is_sold_whole(const struct seam_world *world);
void seam_cart_that_is_rolled_back_is_not_sold(const struct seam_world *world);
void seam_each_product_of_a_cart_is_sold_once(const struct seam_world *world);
void seam_contract_hold(const struct seam_world *world, const struct seam_case *held);

#endif
