/* The stock in a Redis Cluster: slots move and nodes die in mid-sale, and keys come again. */
#include "cluster_slot.h"
#include "instance.h"
#include "own_cluster.h"
#include "pending.h"
#include "segment_redis.h"

#define BUYERS 60
#define PARTS  10

static struct own_cluster nodes;
static struct buyer buyers[BUYERS];

static int make_all(void **state) {
    static char url[64];

    own_cluster_start(&nodes);
    (void)snprintf(url, sizeof url, "redis+cluster://127.0.0.1:%d", nodes.nodes[0].port);
    (void)setenv("TEST_CLUSTER", url, 1);
    return make_schema(state);
}

static int drop_all(void **state) {
    own_cluster_stop(&nodes);
    return drop_schema(state);
}

static void prepare(void *arg) {
    struct why why;
    struct product *product;

    assert_int_equal(product_get(instance.store.products, arg, &product, &why), OUTCOME_OK);
    selling_prepare(&instance.store, product);
    product_put(product);
}

struct shown {
    const char *id;
    struct stock_left left;
};

static void count_left(void *arg) {
    struct shown *shown = arg;
    struct why why;
    struct product *product;

    assert_int_equal(product_get(instance.store.products, shown->id, &product, &why), OUTCOME_OK);
    assert_int_equal(store_live_count(&instance.store, product, &shown->left, &why), OUTCOME_OK);
    product_put(product);
}

/* The slot of a part. */
static int slot_of(const char *id, int part) {
    char tag[TAG_BYTES];

    segment_tag(tag, id, PARTS, part);
    return cluster_slot(tag);
}

static int node_of(int slot) {
    int node = 0;

    while (slot >= (node + 1) * CLUSTER_SLOTS / CLUSTER_NODES)
        node++;
    return node;
}

static void test_a_crowd_buys_each_unit_once_and_the_ledger_follows(void **state) {
    static const char *const specs[] = {"prewarm", "prewarm,ack=ledger", "prewarm,shards=1",
                                        "prewarm,shards=50"};

    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        const char *id = make_product(specs[i], 40);

        buy_all(buyers, id, BUYERS);
        assert_int_equal(count_outcome(buyers, BUYERS, OUTCOME_SOLD), 40);
        assert_int_equal(count_outcome(buyers, BUYERS, OUTCOME_SOLD_OUT), BUYERS - 40);
        WAIT_FOR(&instance.loop, sold(id) == 40);
        expect_units(id, ANY, 0);
    }
}

/* No replica is there to confirm it. */
static void test_what_no_replica_confirms_waits_for_the_ledger(void **state) {
    struct buyer buyer;
    const char *id = make_product("prewarm,shards=1,replicas=1", 5);

    assert_int_equal(sell(&buyer, id, NULL), OUTCOME_SOLD);
    expect_units(id, 1, 4);
}

/* They do not spread over the parts, with a call for each. */
static void test_orders_of_one_moment_share_a_call(void **state) {
    const char *id = lay_out("prewarm", 1000);

    buy_all(buyers, id, BUYERS);
    WAIT_FOR(&instance.loop, sold(id) == BUYERS + 1);
    assert_int_equal(
        ask("SELECT count(DISTINCT shard) FROM reservation WHERE product_id = '%s'", id), 1);
}

/* Its parts are in the slots of all nodes. */
static void test_the_stock_is_on_all_nodes(void **state) {
    const char *id = make_product("prewarm", 40);
    struct shown shown = {.id = id};
    bool has_slot[CLUSTER_NODES] = {false};

    in_fiber(prepare, (void *)(uintptr_t)id);
    for (int i = 0; i < PARTS; i++) {
        const int node = node_of(slot_of(id, i));

        has_slot[node] |= own_redis_do(&nodes.nodes[node], "EXISTS sale:{%s.%d}:stock", id, i) == 1;
    }
    for (int i = 0; i < CLUSTER_NODES; i++)
        assert_true(has_slot[i]);
    in_fiber(count_left, &shown);
    assert_int_equal(shown.left.available, 40);
    assert_int_equal(shown.left.in_redis, 40);
}

/* The keys leave one by one. A call is refused in between, and comes again. Nodes that move slots in
 * two directions at once may disagree for long, so all slots of one node move. */
static void test_a_slot_that_moves_in_mid_sale_loses_no_unit(void **state) {
    const char *id = make_product("prewarm", 50);
    const int from = node_of(slot_of(id, 0)), to = (from + 1) % CLUSTER_NODES;

    in_fiber(prepare, (void *)(uintptr_t)id);
    for (size_t i = 0; i < BUYERS; i++)
        begin(&buyers[i], id, i % 2 == 0 ? new_id() : NULL);
    for (int part = 0; part < PARTS; part++) {
        const int slot = slot_of(id, part);

        if (node_of(slot) != from)
            continue;
        own_cluster_begin_moving(&nodes, slot, from, to);
        (void)uv_run(&instance.loop, UV_RUN_NOWAIT);
        own_cluster_move_keys(&nodes, slot, from, to);
        (void)uv_run(&instance.loop, UV_RUN_NOWAIT);
        own_cluster_end_moving(&nodes, slot, to);
    }
    finish(buyers, BUYERS);
    assert_int_equal(count_outcome(buyers, BUYERS, OUTCOME_SOLD), 50);
    assert_int_equal(count_outcome(buyers, BUYERS, OUTCOME_SOLD_OUT), BUYERS - 50);
    WAIT_FOR(&instance.loop, sold(id) == 50);
    assert_int_equal(twins(id), 0);
    expect_units(id, ANY, 0);
}

/* Other parts sell. No unit of the dead node is sold twice. */
static void test_a_node_that_dies_stops_no_other(void **state) {
    const char *id = make_product("prewarm,ack=ledger", 500);
    const int dead = node_of(slot_of(id, 0));

    in_fiber(prepare, (void *)(uintptr_t)id);
    buy_all(buyers, id, BUYERS);
    assert_int_equal(count_outcome(buyers, BUYERS, OUTCOME_SOLD), BUYERS);
    for (int i = 0; i < CLUSTER_NODES; i++)
        (void)own_redis_do(&nodes.nodes[i], "CONFIG SET cluster-require-full-coverage no");
    own_redis_kill(&nodes.nodes[dead]);
    buy_all(buyers, id, BUYERS);
    assert_true(count_outcome(buyers, BUYERS, OUTCOME_SOLD) > 0);
    own_cluster_restart(&nodes, dead);
    WAIT_FOR(&instance.loop, sell_one(id) == OUTCOME_SOLD);
    assert_int_equal(twins(id), 0);
}

/* One of two products gets the order of a key. */
static void test_a_key_has_one_decider(void **state) {
    const char *keys[BUYERS], *ids[2];

    ids[0] = make_product("prewarm", BUYERS);
    ids[1] = make_product("prewarm", BUYERS);
    for (size_t i = 0; i < BUYERS; i += 2) {
        keys[i] = new_id();
        begin(&buyers[i], ids[i / 2 % 2], keys[i]);
        begin(&buyers[i + 1], ids[1 - i / 2 % 2], keys[i]);
    }
    finish(buyers, BUYERS);
    for (size_t i = 0; i < BUYERS; i += 2) {
        const struct buyer *won = &buyers[i + (buyers[i].selling.outcome != OUTCOME_SOLD)];

        assert_int_equal(count_outcome(&buyers[i], 2, OUTCOME_SOLD), 1);
        assert_int_equal(count_outcome(&buyers[i], 2, OUTCOME_KEY_REUSED), 1);
        assert_int_equal(ask("SELECT unit FROM reservation WHERE order_id = '%s' AND product_id = "
                             "'%s'",
                             won->order_id, won->product_id),
                         won->selling.sold.unit);
    }
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(ask("SELECT count(*) FROM returned_unit WHERE product_id = '%s'", ids[i]) +
                             sold(ids[i]) + left(ids[i]),
                         BUYERS);
}

/* The first part that the key names is empty by then. */
static void test_a_key_that_comes_again_gets_its_unit(void **state) {
    static const char *const specs[] = {"prewarm", "prewarm,ack=ledger"};

    for (size_t i = 0; i < 2; i++) {
        const char *id = make_product(specs[i], 30);
        struct buyer first, again;

        assert_int_equal(sell(&first, id, new_id()), OUTCOME_SOLD);
        buy_all(buyers, id, BUYERS);
        assert_int_equal(count_outcome(buyers, BUYERS, OUTCOME_SOLD), 29);
        assert_int_equal(sell(&again, id, first.order_id), OUTCOME_REPEATED);
        assert_int_equal(again.selling.sold.unit, first.selling.sold.unit);
        assert_int_equal(sell(&again, id, buyers[0].order_id),
                         buyers[0].selling.outcome == OUTCOME_SOLD ? OUTCOME_REPEATED
                                                                   : OUTCOME_SOLD_OUT);
        WAIT_FOR(&instance.loop, sold(id) == 30);
        assert_int_equal(twins(id), 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_a_crowd_buys_each_unit_once_and_the_ledger_follows),
        TEST(test_what_no_replica_confirms_waits_for_the_ledger),
        TEST(test_orders_of_one_moment_share_a_call),
        TEST(test_the_stock_is_on_all_nodes),
        TEST(test_a_slot_that_moves_in_mid_sale_loses_no_unit),
        TEST(test_a_key_has_one_decider),
        TEST(test_a_key_that_comes_again_gets_its_unit),
        TEST(test_a_node_that_dies_stops_no_other),
    };

    return cmocka_run_group_tests(tests, make_all, drop_all);
}
