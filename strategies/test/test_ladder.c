/* The Redis ladder over the model of the store: the flaw of each rung, and that the next rung mends
 * it. */
#include "by_hand.h"

/* The rungs that are one raw key, with their commands when all goes well. */
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
        const struct model_sale *sale;

        (void)hand_set_up(state);
        sale = hand_begin(rungs[i].name, 0);
        assert_int_equal(hand_key_ttl_ms(), rungs[i].ttl_ms);
        hand_go_on(sale);
        assert_int_equal(hand_outcome(sale), OUTCOME_SOLD);
        assert_string_equal(hand.said, rungs[i].commands);
        assert_string_equal(hand_key(), "");
    }
}

static void test_a_raw_key_keeps_the_second_sale_out(void **state) {
    for (size_t i = 0; i < RUNGS; i++) {
        const struct model_sale *one, *two;

        (void)hand_set_up(state);
        one = hand_begin(rungs[i].name, 0);
        assert_int_equal(hand_sell(rungs[i].name, 0, &two), OUTCOME_BUSY);
        hand_go_on(one);
        assert_int_equal(hand_outcome(one), OUTCOME_SOLD);
        assert_int_equal(hand.world.state.rows[0].available, 9);
    }
}

static void test_who_waits_for_a_raw_key_gets_it_in_the_end(void **state) {
    for (size_t i = 0; i < RUNGS; i++) {
        const struct model_sale *one, *two;

        (void)hand_set_up(state);
        hand_let_wait();
        one = hand_begin(rungs[i].name, 0);
        two = hand_begin(rungs[i].name, 0);
        hand_go_on(two); /* in vain */
        assert_int_equal(two->sale.pauses, 1);
        hand_go_on(one);
        hand_go_on(two);
        assert_int_equal(hand_outcome(two), OUTCOME_OK); /* it works now */
        hand_go_on(two);
        assert_int_equal(hand_outcome(two), OUTCOME_SOLD);
        assert_int_equal(two->sale.unit, one->sale.unit - 1);
        assert_int_equal(two->sale.pauses, 2);
        assert_string_equal(hand_key(), "");
    }
}

static void test_a_raw_key_is_given_back_after_every_outcome(void **state) {
    static const enum outcome ends[] = {OUTCOME_SOLD_OUT, OUTCOME_BUSY, OUTCOME_FAILED,
                                        OUTCOME_UNKNOWN};

    for (size_t i = 0; i < RUNGS; i++)
        for (size_t j = 0; j < sizeof ends / sizeof *ends; j++) {
            const struct model_sale *sale;

            (void)hand_set_up(state);
            if (ends[j] == OUTCOME_SOLD_OUT)
                hand.world.state.rows[0].available = 0;
            else if (ends[j] == OUTCOME_UNKNOWN)
                hand.write_outcome = ends[j];
            else
                hand.read_outcome = ends[j];
            assert_int_equal(hand_sell(rungs[i].name, 0, &sale), ends[j]);
            assert_string_equal(hand.said, rungs[i].commands);
            assert_string_equal(hand_key(), "");
        }
}

/* The key may have been set. If so, a later sale finds out. */
static void test_a_raw_key_that_nobody_knows_to_be_set_sells_nothing(void **state) {
    static const enum outcome ends[] = {OUTCOME_UNKNOWN, OUTCOME_BUSY};

    for (size_t i = 0; i < RUNGS; i++)
        for (size_t j = 0; j < 2; j++) {
            const struct model_sale *sale;

            (void)hand_set_up(state);
            hand.kv_outcome = ends[j];
            assert_int_equal(hand_sell(rungs[i].name, 0, &sale), OUTCOME_BUSY);
            assert_string_equal(hand.said, "SET NX");
            assert_int_equal(hand.world.state.rows[0].available, 10);
        }
}

static void test_a_release_that_failed_changes_no_answer(void **state) {
    for (size_t i = 0; i < RUNGS; i++) {
        const struct model_sale *sale;

        (void)hand_set_up(state);
        sale = hand_begin(rungs[i].name, 0);
        hand.kv_outcome = OUTCOME_UNKNOWN;
        hand_go_on(sale);
        assert_int_equal(hand_outcome(sale), OUTCOME_SOLD);
    }
}

static void test_who_ends_before_expire_holds_the_key_for_ever(void **state) {
    const struct model_sale *sale;

    hand.passes_with[FAIL_BEFORE_EXPIRE] = OUTCOME_FAILED;
    assert_int_equal(hand_sell("redis-expire", 0, &sale), OUTCOME_FAILED);
    assert_string_equal(hand_key(), "held");
    assert_int_equal(hand_key_ttl_ms(), 0);
}

/* A's key expires while A works, and B wins it. Is B's key still there when A has ended? */
static void overtake(const char *name, const struct model_sale **a, const struct model_sale **b) {
    *a = hand_begin(name, 0);
    hand_set_key("");
    *b = hand_begin(name, 0);
    assert_string_not_equal(hand_key(), "");
    hand_go_on(*a);
}

static void test_a_late_holder_sells_the_unit_of_the_next_one(void **state) {
    for (size_t i = 1; i < RUNGS; i++) {
        const struct model_sale *a, *b;

        (void)hand_set_up(state);
        overtake(rungs[i].name, &a, &b);
        hand_go_on(b);
        assert_int_equal(hand_outcome(a), OUTCOME_SOLD);
        assert_int_equal(hand_outcome(b), OUTCOME_SOLD);
        assert_int_equal(a->sale.unit, b->sale.unit);
    }
}

static void test_only_an_owner_leaves_anothers_key_alone(void **state) {
    for (size_t i = 1; i < RUNGS; i++) {
        const bool is_owned = i >= 3;
        const struct model_sale *a, *b, *c;

        (void)hand_set_up(state);
        overtake(rungs[i].name, &a, &b);
        assert_int_equal(hand_key()[0] != '\0', is_owned);
        c = hand_begin(rungs[i].name, 0); /* the article's A, B, C */
        assert_int_equal(hand_outcome(c), is_owned ? OUTCOME_BUSY : OUTCOME_OK);
        hand_go_on(b);
        if (!is_owned)
            hand_go_on(c);
    }
}

/* After the look and before the delete, another sale wins the key. */
static void test_a_pause_before_the_delete_frees_anothers_key_unless_it_compares(void **state) {
    static const struct {
        const char *name, *said, *left;
    } cases[] = {{"redis-get-del", "SET NX, GET", ""}, {"redis-owner", "SET NX", "of b"}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct model_sale *a;

        (void)hand_set_up(state);
        hand.stop = FAIL_BEFORE_DELETE;
        hand.does_stop = true;
        a = hand_begin(cases[i].name, 0);
        hand_go_on(a);
        assert_string_equal(hand.said, cases[i].said);
        hand_set_key("of b");
        hand_go_on(a);
        assert_string_equal(hand_key(), cases[i].left);
    }
}

/* The lease ends after the holder's last look at it. */
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
        const struct model_sale *late, *next;

        (void)hand_set_up(state);
        hand.world.setup.options.is_fenced = cases[i].is_fenced;
        late = hand_begin(cases[i].name, 0);
        hand_free_locks();
        assert_int_equal(hand_sell(cases[i].name, 0, &next), OUTCOME_SOLD);
        hand_go_on(late);
        assert_int_equal(hand_outcome(late), cases[i].outcome);
        assert_int_equal(hand.world.state.rows[0].available, 9);
    }
}

/* The sale has read. Then a sale with a lower token writes, so the row is no longer as it was read.
 */
static void test_a_fence_refuses_a_write_if_an_older_token_wrote_since_the_read(void **state) {
    const struct model_sale *older, *newer;

    older = hand_begin("redis-fenced", 0);
    hand_free_locks();
    newer = hand_begin("redis-fenced", 0);
    hand_go_on(older);
    assert_int_equal(hand_outcome(older), OUTCOME_SOLD);
    hand_go_on(newer);
    assert_int_equal(hand_outcome(newer), OUTCOME_CONFLICT);
    assert_int_equal(hand.world.state.rows[0].available, 9);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, hand_set_up, hand_tear_down)
        TEST(test_each_rung_takes_its_commands),
        TEST(test_a_raw_key_keeps_the_second_sale_out),
        TEST(test_who_waits_for_a_raw_key_gets_it_in_the_end),
        TEST(test_a_raw_key_is_given_back_after_every_outcome),
        TEST(test_a_raw_key_that_nobody_knows_to_be_set_sells_nothing),
        TEST(test_a_release_that_failed_changes_no_answer),
        TEST(test_who_ends_before_expire_holds_the_key_for_ever),
        TEST(test_a_late_holder_sells_the_unit_of_the_next_one),
        TEST(test_only_an_owner_leaves_anothers_key_alone),
        TEST(test_a_pause_before_the_delete_frees_anothers_key_unless_it_compares),
        TEST(test_a_fence_refuses_the_late_holder_that_a_lease_lets_write),
        TEST(test_a_fence_refuses_a_write_if_an_older_token_wrote_since_the_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
