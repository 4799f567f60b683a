/* Locks on a machine's disk, on the real store: they guard the machine, and what ends them is the
 * kernel or nobody. */
#include "instance.h"

#include <unistd.h>

/* Another instance, with a directory of locks that is its own or the same one. */
static struct store other;

static void open_other(const char *lock_dir) {
    other = instance.store;
    other.instance = "other";
    other.locks.dir = lock_dir;
    other.products = product_table_open(other.pool, other.instance, true, 10);
    assert_non_null(other.products);
}

static void close_other(void) {
    product_table_close(other.products);
}

static void buy_there(void *arg) {
    struct buyer *buyer = arg;

    selling_run(&buyer->selling, &other);
    buyer->is_done = true;
}

static void begin_there(struct buyer *buyer, const char *product_id) {
    *buyer = (struct buyer){.is_done = false};
    memcpy(buyer->product_id, product_id, UUID_TEXT);
    uuid_v7(buyer->order_id);
    buyer->selling.product_id = buyer->product_id;
    buyer->selling.order_id = buyer->order_id;
    assert_int_equal(fiber_start(buy_there, buyer), 0);
}

static void sell_at_both(struct buyer buyers[2], const char *spec, char id[UUID_TEXT]) {
    make_product(id, spec, 5);
    begin(&buyers[0], id, NULL);
    begin_there(&buyers[1], id);
    finish(buyers, 2);
    assert_int_equal(buyers[0].selling.outcome, OUTCOME_SOLD);
    assert_int_equal(buyers[1].selling.outcome, OUTCOME_SOLD);
}

static void test_two_instances_that_share_the_directory_sell_two_units(void **state) {
    static const char *const specs[] = {"mkdir,work=100ms", "flock,work=100ms"};

    open_other(instance.lock_dir);
    for (size_t i = 0; i < 2; i++) {
        struct buyer buyers[2];
        char id[UUID_TEXT];

        sell_at_both(buyers, specs[i], id);
        assert_int_equal(twins(id), 0);
        assert_int_equal(left(id), 3);
    }
    close_other();
}

static void test_two_instances_with_a_directory_each_sell_one_unit_twice(void **state) {
    static const char *const specs[] = {"mkdir,work=1s", "flock,work=1s"};
    char own[] = "/tmp/inventory-test-XXXXXX";

    assert_non_null(mkdtemp(own));
    open_other(own);
    for (size_t i = 0; i < 2; i++) {
        struct buyer buyers[2];
        char id[UUID_TEXT];

        sell_at_both(buyers, specs[i], id);
        assert_int_equal(twins(id), 1);
        assert_int_equal(left(id), 4);
    }
    close_other();
    assert_int_equal(rmdir(own), 0);
}

static void test_a_directory_of_a_holder_that_is_unsure_stays(void **state) {
    struct buyer buyer;
    char id[UUID_TEXT], path[100];

    make_product(id, "mkdir,wait=500ms,fail=before-unlock:error@1", 5);
    assert_int_equal(sell(&buyer, id, NULL), OUTCOME_SOLD);
    assert_int_equal(sell(&buyer, id, NULL), OUTCOME_BUSY);
    assert_int_equal(left(id), 4);
    (void)snprintf(path, sizeof path, "%s/%s-0.d", instance.lock_dir, id);
    assert_int_equal(rmdir(path), 0); /* as somebody does by hand, in the end */
    assert_int_equal(sell(&buyer, id, NULL), OUTCOME_SOLD);
}

static void test_a_file_of_a_holder_that_is_unsure_is_free_in_time(void **state) {
    struct buyer buyer;
    char id[UUID_TEXT];

    make_product(id, "flock,fail=after-write:error@1", 5);
    assert_int_equal(sell(&buyer, id, NULL), OUTCOME_UNKNOWN);
    assert_int_equal(sell(&buyer, id, NULL), OUTCOME_SOLD);
    assert_int_equal(twins(id), 0);
}

/* What the system says of it is for the log. */
static void test_a_directory_that_cannot_be_used_fails_the_sale(void **state) {
    static const char *const specs[] = {"mkdir", "flock"};

    open_other("/proc/no/such");
    for (size_t i = 0; i < 2; i++) {
        struct buyer buyer;
        char id[UUID_TEXT];

        make_product(id, specs[i], 5);
        begin_there(&buyer, id);
        finish(&buyer, 1);
        assert_int_equal(buyer.selling.outcome, OUTCOME_FAILED);
        assert_null(strstr(buyer.selling.message, "proc"));
        assert_int_equal(left(id), 5);
    }
    close_other();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_two_instances_that_share_the_directory_sell_two_units,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            test_two_instances_with_a_directory_each_sell_one_unit_twice, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_directory_of_a_holder_that_is_unsure_stays, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_file_of_a_holder_that_is_unsure_is_free_in_time,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_directory_that_cannot_be_used_fails_the_sale, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, make_schema, drop_schema);
}
