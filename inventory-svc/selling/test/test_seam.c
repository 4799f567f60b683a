/* The live store on Postgres and Redis passes the contract of the seam. */
#include "instance.h"
#include "seam_contract.h"

static const char *product_id;

/* A sale with its order and its product. */
struct own_sale {
    struct live_sale live;
    char order_id[UUID_TEXT];
    struct why why;
};

static void make(const char *spec, int stock) {
    product_id = make_product(spec, stock);
}

static struct sale *begin_sale(const struct sale *other) {
    struct own_sale *own = calloc(1, sizeof *own);
    struct product *product;

    assert_non_null(own);
    if (other != NULL)
        memcpy(own->order_id, ((const struct own_sale *)(const void *)other)->order_id, UUID_TEXT);
    else
        uuid_v7(own->order_id);
    assert_int_equal(product_get(instance.store.products, product_id, &product, &own->why),
                     OUTCOME_OK);
    live_sale_init(&own->live, &instance.store, product, own->order_id, clock_now_ms(), &own->why);
    return &own->live.sale;
}

static void end_sale(struct sale *sale) {
    struct own_sale *own = (struct own_sale *)(void *)sale;

    live_sale_end(&own->live);
    product_put(own->live.product);
    free(own);
}

static void let_pass(int64_t ms) {
    fiber_sleep(&instance.loop, (uint64_t)ms);
}

static void run_case(void *arg) {
    static const struct seam_world world = {make, begin_sale, end_sale, let_pass};

    seam_contract_hold(&world, arg);
}

static void test_case(void **state) {
    in_fiber(run_case, *state);
}

static int set_up_case(void **state) {
    void *given = *state;
    int err = set_up(state);

    *state = given;
    return err;
}

int main(void) {
    struct CMUnitTest tests[64] = {{0}};
    size_t count = 0;

    for (const struct seam_case *at = seam_contract; at->name != NULL; at++)
        tests[count++] =
            (struct CMUnitTest){at->name, test_case, set_up_case, tear_down, (void *)(uintptr_t)at};
    assert_true(count < sizeof tests / sizeof *tests);
    return _cmocka_run_group_tests("seam", tests, count, make_schema, drop_schema);
}
