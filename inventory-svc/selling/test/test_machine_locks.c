/* Locks on a machine's disk, on the real store: they guard the machine. The kernel ends one kind,
 * and nothing ends the other. */
#include "instance.h"

#include <unistd.h>

/* The product; each of two instances has sold a unit of it. */
static const char *sell_at_both(const char *spec) {
    const char *id = make_product(spec, 5);
    struct buyer buyers[2];

    begin(&buyers[0], id, NULL);
    begin_at_other(&buyers[1], id);
    finish(buyers, 2);
    assert_int_equal(buyers[0].selling.outcome, OUTCOME_SOLD);
    assert_int_equal(buyers[1].selling.outcome, OUTCOME_SOLD);
    return id;
}

static void test_two_instances_that_share_the_directory_sell_two_units(void **state) {
    static const char *const specs[] = {"mkdir,work=100ms", "flock,work=100ms"};

    open_other(instance.lock_dir);
    for (size_t i = 0; i < 2; i++) {
        const char *id = sell_at_both(specs[i]);

        expect_units(id, ANY, 3);
    }
    close_other();
}

static void test_two_instances_with_a_directory_each_sell_one_unit_twice(void **state) {
    static const char *const specs[] = {"mkdir,work=1s", "flock,work=1s"};
    char own[] = "/tmp/inventory-test-XXXXXX";

    assert_non_null(mkdtemp(own));
    open_other(own);
    for (size_t i = 0; i < 2; i++) {
        const char *id = sell_at_both(specs[i]);

        assert_int_equal(twins(id), 1);
        assert_int_equal(left(id), 4);
    }
    close_other();
    assert_int_equal(rmdir(own), 0);
}

static void test_a_directory_of_a_holder_that_is_unsure_stays(void **state) {
    char path[100];
    const char *id = make_product("mkdir,wait=500ms,fail=before-unlock:error@1", 5);

    assert_int_equal(sell_one(id), OUTCOME_SOLD);
    assert_int_equal(sell_one(id), OUTCOME_BUSY);
    assert_int_equal(left(id), 4);
    (void)snprintf(path, sizeof path, "%s/%s-0.d", instance.lock_dir, id);
    assert_int_equal(rmdir(path), 0); /* a person does this in the end */
    assert_int_equal(sell_one(id), OUTCOME_SOLD);
}

static void test_a_file_of_a_holder_that_is_unsure_is_free_in_time(void **state) {
    const char *id = make_product("flock,fail=after-write:error@1", 5);

    assert_int_equal(sell_one(id), OUTCOME_UNKNOWN);
    assert_int_equal(sell_one(id), OUTCOME_SOLD);
    assert_int_equal(twins(id), 0);
}

/* The system's error is only for the log. */
static void test_a_directory_that_cannot_be_used_fails_the_sale(void **state) {
    static const char *const specs[] = {"mkdir", "flock"};

    open_other("/proc/no/such");
    for (size_t i = 0; i < 2; i++) {
        struct buyer buyer;
        const char *id = make_product(specs[i], 5);

        begin_at_other(&buyer, id);
        assert_int_equal(finish_one(&buyer), OUTCOME_FAILED);
        assert_null(strstr(buyer.selling.why.text, "proc"));
        assert_int_equal(left(id), 5);
    }
    close_other();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_two_instances_that_share_the_directory_sell_two_units),
        TEST(test_two_instances_with_a_directory_each_sell_one_unit_twice),
        TEST(test_a_directory_of_a_holder_that_is_unsure_stays),
        TEST(test_a_file_of_a_holder_that_is_unsure_is_free_in_time),
        TEST(test_a_directory_that_cannot_be_used_fails_the_sale),
    };

    return cmocka_run_group_tests(tests, make_schema, drop_schema);
}
