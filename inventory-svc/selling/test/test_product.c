/* Products: one load serves all callers; the layout is even; the table has a limit. */
#include "instance.h"

/* A fiber that gets a product, and gives it back when the test says so. */
struct getter {
    const char *id;
    struct product *product;
    enum outcome outcome;
    struct why why;
    struct fiber_event go;
    bool has_it, is_done;
};

static void get(void *arg) {
    struct getter *getter = arg;

    getter->outcome =
        product_get(instance.store.products, getter->id, &getter->product, &getter->why);
    getter->has_it = true;
    fiber_event_wait(&getter->go);
    if (getter->product != NULL)
        product_put(getter->product);
    getter->is_done = true;
}

static void begin_get(struct getter *getter, const char *id) {
    *getter = (struct getter){.id = id, .go = FIBER_EVENT_INIT};
    assert_int_equal(fiber_start(get, getter), 0);
}

static void wait_until_has(struct getter *getter) {
    WAIT_FOR(&instance.loop, getter->has_it);
}

static void get_and_put(struct getter *getter, const char *id) {
    begin_get(getter, id);
    wait_until_has(getter);
    fiber_event_set(&getter->go);
}

static struct product_table *usual;

static void open_table(bool is_lab, unsigned limit) {
    usual = instance.store.products;
    instance.store.products = product_table_open(instance.store.pool, "test", is_lab, limit);
}

static void close_table(void) {
    product_table_close(instance.store.products);
    instance.store.products = usual;
}

static void test_a_product_is_read_once_for_all_callers(void **state) {
    struct getter getters[20];
    struct pg_pool_stats before, after;
    const char *id = make_product("redis,ttl=2s", 5);

    pg_pool_stats(instance.store.pool, &before);
    for (size_t i = 0; i < 20; i++)
        begin_get(&getters[i], id);
    for (size_t i = 0; i < 20; i++) {
        wait_until_has(&getters[i]);
        assert_int_equal(getters[i].outcome, OUTCOME_OK);
        assert_ptr_equal(getters[i].product, getters[0].product);
    }
    pg_pool_stats(instance.store.pool, &after);
    assert_int_equal(after.queries - before.queries, 2); /* the product, and its layout */
    assert_string_equal(getters[0].product->row.name, "bamboo");
    assert_string_equal(getters[0].product->row.price, "9.90");
    assert_int_equal(getters[0].product->spec.options.ttl_ms, 2000);
    for (size_t i = 0; i < 20; i++)
        fiber_event_set(&getters[i].go);
    assert_int_equal(product_table_count(instance.store.products), 1);
}

static void test_an_unknown_product_is_not_remembered(void **state) {
    struct getter getters[3];
    const char *id = new_id();

    for (size_t i = 0; i < 3; i++)
        begin_get(&getters[i], id);
    for (size_t i = 0; i < 3; i++) {
        wait_until_has(&getters[i]);
        assert_int_equal(getters[i].outcome, OUTCOME_UNKNOWN_PRODUCT);
        assert_null(getters[i].product);
        fiber_event_set(&getters[i].go);
    }
    assert_int_equal(product_table_count(instance.store.products), 0);
}

static void test_what_was_used_longest_ago_is_forgotten(void **state) {
    struct getter getter;
    struct product *first;
    const char *ids[4];

    open_table(true, 2);
    for (size_t i = 0; i < 4; i++)
        ids[i] = make_product("none", 1);
    get_and_put(&getter, ids[0]);
    first = getter.product;
    get_and_put(&getter, ids[1]);
    get_and_put(&getter, ids[0]);
    assert_ptr_equal(getter.product, first);
    get_and_put(&getter, ids[2]);
    get_and_put(&getter, ids[0]);
    assert_ptr_equal(getter.product, first); /* the table dropped ids[1] */
    assert_int_equal(product_table_count(instance.store.products), 2);
    close_table();
}

static void test_a_product_in_use_stays(void **state) {
    struct getter held, getter;
    const char *ids[3];

    open_table(true, 1);
    for (size_t i = 0; i < 3; i++)
        ids[i] = make_product("none", 1);
    begin_get(&held, ids[0]);
    wait_until_has(&held);
    get_and_put(&getter, ids[1]);
    get_and_put(&getter, ids[2]);
    assert_string_equal(held.product->id, ids[0]);
    assert_int_equal(product_table_count(instance.store.products), 1);
    fiber_event_set(&held.go);
    close_table();
}

static void test_a_bad_strategy_is_remembered_with_its_reason(void **state) {
    struct getter getter;
    const char *id = make_product("redis,shrads=3", 1);

    for (int i = 0; i < 2; i++) {
        get_and_put(&getter, id);
        assert_int_equal(getter.outcome, OUTCOME_BAD_STRATEGY);
        assert_null(getter.product);
        assert_non_null(strstr(getter.why.text, "no option \"shrads\""));
        run_sql("UPDATE product SET strategy = 'redis' WHERE product_id = '%s'", id);
    }
    assert_int_equal(product_table_count(instance.store.products), 1);
}

static void test_a_strategy_without_its_server_says_how_to_start_it(void **state) {
    struct getter getter;

    for (int has = 0; has < 2; has++) {
        const char *id = make_product("zookeeper", 1);

        product_table_has(instance.store.products, (unsigned)has << NEEDS_ZOOKEEPER);
        get_and_put(&getter, id);
        assert_int_equal(getter.outcome, has ? OUTCOME_OK : OUTCOME_BAD_STRATEGY);
        if (!has)
            assert_string_equal(getter.why.text,
                                "the strategy \"zookeeper\" needs a server, and this service has "
                                "no address of it: scripts/stack up --with zookeeper (or set "
                                "INVENTORY_SVC_ZOOKEEPER)");
    }
}

static void test_without_lab_a_failpoint_is_refused(void **state) {
    struct getter getter;
    const char *id = make_product("none,fail=after-read:crash", 1);

    get_and_put(&getter, id);
    assert_int_equal(getter.product->spec.failpoints[0].action, FAIL_CRASH);

    open_table(false, 10);
    get_and_put(&getter, id);
    assert_int_equal(getter.outcome, OUTCOME_BAD_STRATEGY);
    assert_null(getter.product);
    assert_non_null(strstr(getter.why.text, "\"fail=after-read:crash\""));
    assert_non_null(strstr(getter.why.text, "INVENTORY_SVC_FLAGS=--lab make up"));
    close_table();
}

static void test_stock_is_laid_out_evenly_and_without_a_gap(void **state) {
    static const struct {
        const char *strategy;
        int stock, rows, most, least;
    } cases[] = {
        {"sharded", 7, 10, 1, 0}, {"sharded", 1003, 10, 101, 100},
        {"none", 5, 1, 5, 5},     {"sharded,shards=1", 5, 1, 5, 5},
        {"sharded", 0, 10, 0, 0}, {"sharded,shards=1000", 1000000000, 1000, 1000000, 1000000},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct getter getter;
        const char *id = make_product(cases[i].strategy, cases[i].stock);

        get_and_put(&getter, id);
        assert_int_equal(ask("SELECT count(*) FROM stock WHERE product_id = '%s'", id),
                         cases[i].rows);
        assert_int_equal(ask("SELECT max(available) FROM stock WHERE product_id = '%s'", id),
                         cases[i].most);
        assert_int_equal(ask("SELECT min(available) FROM stock WHERE product_id = '%s'", id),
                         cases[i].least);
        assert_int_equal(left(id), cases[i].stock);
        assert_int_equal(ask("SELECT count(*) FROM (SELECT first_unit, 1 + coalesce(sum(available)"
                             " OVER (ORDER BY shard ROWS BETWEEN UNBOUNDED PRECEDING AND 1"
                             " PRECEDING), 0) AS wanted FROM stock WHERE product_id = '%s') s"
                             " WHERE first_unit <> wanted",
                             id),
                         0);
    }
}

static void test_without_memory_a_product_is_refused_and_nothing_stays(void **state) {
    struct getter getter;
    const char *id = make_product("none", 1);

    fault_memory(0, 1);
    begin_get(&getter, id);
    assert_true(fault_memory_end());
    assert_true(getter.has_it);
    assert_int_equal(getter.outcome, OUTCOME_FAILED);
    assert_null(getter.product);
    fiber_event_set(&getter.go);
    assert_int_equal(product_table_count(instance.store.products), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_a_product_is_read_once_for_all_callers),
        TEST(test_an_unknown_product_is_not_remembered),
        TEST(test_what_was_used_longest_ago_is_forgotten),
        TEST(test_a_product_in_use_stays),
        TEST(test_a_bad_strategy_is_remembered_with_its_reason),
        TEST(test_a_strategy_without_its_server_says_how_to_start_it),
        TEST(test_without_lab_a_failpoint_is_refused),
        TEST(test_stock_is_laid_out_evenly_and_without_a_gap),
        TEST(test_without_memory_a_product_is_refused_and_nothing_stays),
    };

    return cmocka_run_group_tests(tests, make_schema, drop_schema);
}
