/* The Redis ladder over a model store: the flaw of each rung, and that the next has it no more. */
#include "model_store.h"

/* The rungs that are one raw key, and what each says of it when all goes well. */
static const struct {
    const char *name, *commands;
    int64_t ttl_ms; /* of the key while it works */
} rungs[] = {
    {"redis-setnx", "SET NX, DEL", 0},          {"redis-expire", "SET NX, PEXPIRE, DEL", 300},
    {"redis-ttl", "SET NX, DEL", 300},          {"redis-get-del", "SET NX, GET, DEL", 300},
    {"redis-owner", "SET NX, DEL if own", 300},
};

#define RUNGS (sizeof rungs / sizeof *rungs)

static void test_each_rung_takes_its_commands(void **state) {
    for (size_t i = 0; i < RUNGS; i++) {
        struct model_sale sale;

        (void)model_set_up(state);
        model_begin(&sale, rungs[i].name, 0);
        assert_int_equal(model.key_ttl_ms, rungs[i].ttl_ms);
        model_go_on(&sale);
        assert_int_equal(sale.outcome, OUTCOME_SOLD);
        assert_string_equal(model.said, rungs[i].commands);
        assert_string_equal(model.key, "");
    }
}

static void test_a_raw_key_keeps_the_second_sale_out(void **state) {
    for (size_t i = 0; i < RUNGS; i++) {
        struct model_sale one, two;

        (void)model_set_up(state);
        model_begin(&one, rungs[i].name, 0);
        assert_int_equal(model_sell(rungs[i].name, 0, &two), OUTCOME_BUSY);
        model_go_on(&one);
        assert_int_equal(one.outcome, OUTCOME_SOLD);
        assert_int_equal(model.rows[0].available, 9);
    }
}

static void test_who_waits_for_a_raw_key_gets_it_in_the_end(void **state) {
    for (size_t i = 0; i < RUNGS; i++) {
        struct model_sale one, two;

        (void)model_set_up(state);
        model.may_pause = true;
        model_begin(&one, rungs[i].name, 0);
        model_begin(&two, rungs[i].name, 0);
        model_go_on(&two); /* in vain */
        assert_int_equal(two.sale.pauses, 1);
        model_go_on(&one);
        model_go_on(&two);
        assert_int_equal(two.outcome, OUTCOME_OK); /* it works now */
        model_go_on(&two);
        assert_int_equal(two.outcome, OUTCOME_SOLD);
        assert_int_equal(two.sale.unit, one.sale.unit - 1);
        assert_int_equal(two.sale.pauses, 2);
        assert_string_equal(model.key, "");
    }
}

static void test_a_raw_key_is_given_back_whatever_came_of_the_sale(void **state) {
    static const enum outcome ends[] = {OUTCOME_SOLD_OUT, OUTCOME_BUSY, OUTCOME_FAILED,
                                        OUTCOME_UNKNOWN};

    for (size_t i = 0; i < RUNGS; i++)
        for (size_t j = 0; j < sizeof ends / sizeof *ends; j++) {
            struct model_sale sale;

            (void)model_set_up(state);
            if (ends[j] == OUTCOME_SOLD_OUT)
                model.rows[0].available = 0;
            else if (ends[j] == OUTCOME_UNKNOWN)
                model.write_outcome = ends[j];
            else
                model.read_outcome = ends[j];
            assert_int_equal(model_sell(rungs[i].name, 0, &sale), ends[j]);
            assert_string_equal(model.said, rungs[i].commands);
            assert_string_equal(model.key, "");
        }
}

/* It may have been set all the same: then a later sale finds out. */
static void test_a_raw_key_that_nobody_knows_to_be_set_sells_nothing(void **state) {
    static const enum outcome ends[] = {OUTCOME_UNKNOWN, OUTCOME_BUSY};

    for (size_t i = 0; i < RUNGS; i++)
        for (size_t j = 0; j < 2; j++) {
            struct model_sale sale;

            (void)model_set_up(state);
            model.kv_outcome = ends[j];
            assert_int_equal(model_sell(rungs[i].name, 0, &sale), OUTCOME_BUSY);
            assert_string_equal(model.said, "SET NX");
            assert_int_equal(model.rows[0].available, 10);
        }
}

static void test_a_release_that_failed_changes_no_answer(void **state) {
    for (size_t i = 0; i < RUNGS; i++) {
        struct model_sale sale;

        (void)model_set_up(state);
        model_begin(&sale, rungs[i].name, 0);
        model.kv_outcome = OUTCOME_UNKNOWN;
        model_go_on(&sale);
        assert_int_equal(sale.outcome, OUTCOME_SOLD);
    }
}

static void test_who_ends_before_expire_holds_the_key_for_ever(void **state) {
    struct model_sale sale;

    (void)state;
    model.passes_with[FAIL_BEFORE_EXPIRE] = OUTCOME_FAILED;
    assert_int_equal(model_sell("redis-expire", 0, &sale), OUTCOME_FAILED);
    assert_string_equal(model.key, "held");
    assert_int_equal(model.key_ttl_ms, 0);
}

/* A's key expires while it works, and B wins it. What is left of B's key when A has ended? */
static void overtake(const char *name, struct model_sale *a, struct model_sale *b) {
    model_begin(a, name, 0);
    model_set_key("", 0);
    model_begin(b, name, 0);
    assert_string_not_equal(model.key, "");
    model_go_on(a);
}

static void test_a_late_holder_sells_what_the_next_one_sells(void **state) {
    for (size_t i = 1; i < RUNGS; i++) {
        struct model_sale a, b;

        (void)model_set_up(state);
        overtake(rungs[i].name, &a, &b);
        model_go_on(&b);
        assert_int_equal(a.outcome, OUTCOME_SOLD);
        assert_int_equal(b.outcome, OUTCOME_SOLD);
        assert_int_equal(a.sale.unit, b.sale.unit);
    }
}

static void test_only_an_owner_leaves_anothers_key_alone(void **state) {
    for (size_t i = 1; i < RUNGS; i++) {
        const bool is_owned = i >= 3;
        struct model_sale a, b, c;

        (void)model_set_up(state);
        overtake(rungs[i].name, &a, &b);
        assert_int_equal(model.key[0] != '\0', is_owned);
        model_begin(&c, rungs[i].name, 0); /* the article's A, B, C */
        assert_int_equal(c.outcome, is_owned ? OUTCOME_BUSY : OUTCOME_OK);
        model_go_on(&b);
        if (!is_owned)
            model_go_on(&c);
    }
}

static void test_a_pause_between_get_and_del_frees_anothers_key(void **state) {
    struct model_sale a;

    (void)state;
    model.stop = FAIL_BEFORE_DELETE;
    model.does_stop = true;
    model_begin(&a, "redis-get-del", 0);
    model_go_on(&a);
    assert_string_equal(model.said, "SET NX, GET");
    model_set_key("of b", 300);
    model_go_on(&a);
    assert_string_equal(model.key, "");
}

static void test_the_same_pause_before_a_compared_delete_frees_nothing(void **state) {
    struct model_sale a;

    (void)state;
    model.stop = FAIL_BEFORE_DELETE;
    model.does_stop = true;
    model_begin(&a, "redis-owner", 0);
    model_go_on(&a);
    model_set_key("of b", 300);
    model_go_on(&a);
    assert_string_equal(model.key, "of b");
}

/* Its lease ends behind its last look at it. */
static void test_a_fence_refuses_the_late_holder_that_a_lease_lets_write(void **state) {
    static const struct {
        const char *name;
        bool is_fenced; /* by the option */
        enum outcome outcome;
    } cases[] = {
        {"redis", false, OUTCOME_SOLD},         {"redis-fenced", false, OUTCOME_CONFLICT},
        {"redis-fair", false, OUTCOME_SOLD},    {"redis-wait", false, OUTCOME_SOLD},
        {"redis-wait", true, OUTCOME_CONFLICT}, {"redlock", false, OUTCOME_SOLD},
        {"redlock", true, OUTCOME_CONFLICT},    {"zookeeper", false, OUTCOME_SOLD},
        {"zookeeper", true, OUTCOME_CONFLICT},  {"zookeeper-unfair", true, OUTCOME_CONFLICT},
        {"etcd", false, OUTCOME_SOLD},          {"etcd", true, OUTCOME_CONFLICT},
        {"pg-advisory", false, OUTCOME_SOLD},   {"pg-advisory", true, OUTCOME_CONFLICT}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct model_sale late, next;

        (void)model_set_up(state);
        model.options.is_fenced = cases[i].is_fenced;
        model_begin(&late, cases[i].name, 0);
        model.is_locked[0] = false;
        assert_int_equal(model_sell(cases[i].name, 0, &next), OUTCOME_SOLD);
        model_go_on(&late);
        assert_int_equal(late.outcome, cases[i].outcome);
        assert_int_equal(model.rows[0].available, 9);
    }
}

/* It has read, and then one with a lower token writes: what was read is no longer so. */
static void test_a_fence_refuses_what_was_read_before_an_older_one_wrote(void **state) {
    struct model_sale older, newer;

    (void)state;
    model_begin(&older, "redis-fenced", 0);
    model.is_locked[0] = false;
    model_begin(&newer, "redis-fenced", 0);
    model_go_on(&older);
    assert_int_equal(older.outcome, OUTCOME_SOLD);
    model_go_on(&newer);
    assert_int_equal(newer.outcome, OUTCOME_CONFLICT);
    assert_int_equal(model.rows[0].available, 9);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, model_set_up, model_tear_down)
        TEST(test_each_rung_takes_its_commands),
        TEST(test_a_raw_key_keeps_the_second_sale_out),
        TEST(test_who_waits_for_a_raw_key_gets_it_in_the_end),
        TEST(test_a_raw_key_is_given_back_whatever_came_of_the_sale),
        TEST(test_a_raw_key_that_nobody_knows_to_be_set_sells_nothing),
        TEST(test_a_release_that_failed_changes_no_answer),
        TEST(test_who_ends_before_expire_holds_the_key_for_ever),
        TEST(test_a_late_holder_sells_what_the_next_one_sells),
        TEST(test_only_an_owner_leaves_anothers_key_alone),
        TEST(test_a_pause_between_get_and_del_frees_anothers_key),
        TEST(test_the_same_pause_before_a_compared_delete_frees_nothing),
        TEST(test_a_fence_refuses_the_late_holder_that_a_lease_lets_write),
        TEST(test_a_fence_refuses_what_was_read_before_an_older_one_wrote),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
