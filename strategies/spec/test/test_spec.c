/* Strategy specs: valid ones are read, and each mistake is answered with the choices. */
#include "spec.h"
#include "strategies.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

static struct strategy_spec spec;
static struct why why;

static const struct sale_options *accepted(const char *text) {
    assert_int_equal(spec_parse(text, &spec, &why), 0);
    return &spec.options;
}

static void test_each_name_is_a_spec_with_the_defaults(void **state) {
    for (size_t i = 0; strategies[i] != NULL; i++) {
        assert_int_equal(spec_parse(strategies[i]->name, &spec, &why), 0);
        assert_ptr_equal(spec.strategy, strategies[i]);
        assert_int_equal(spec.options.work_ms, 0);
        assert_int_equal(spec.options.wait_ms, 5000);
        assert_int_equal(spec.options.ttl_ms, 10000);
        assert_int_equal(spec.options.shards, strategies[i]->default_shards);
        assert_string_equal(spec.fail, "");
    }
}

static void test_options_are_read(void **state) {
    assert_int_equal(spec_parse("sharded,ttl=2s,work=2ms,wait=0,shards=3,"
                                "fail=after-read:pause=4s@100",
                                &spec, &why),
                     0);
    assert_string_equal(spec.strategy->name, "sharded");
    assert_int_equal(spec.options.ttl_ms, 2000);
    assert_int_equal(spec.options.work_ms, 2);
    assert_int_equal(spec.options.wait_ms, 0);
    assert_int_equal(spec.options.shards, 3);
    assert_string_equal(spec.fail, "after-read:pause=4s@100");
    assert_int_equal(spec.failpoints[0].point, FAIL_AFTER_READ);
    assert_int_equal(spec.failpoints[0].action, FAIL_PAUSE);
    assert_int_equal(spec.failpoints[0].ms, 4000);
    assert_int_equal(spec.failpoints[0].nth, 100);
}

static void test_several_failpoints_are_read(void **state) {
    assert_int_equal(spec_parse("redis,fail=inventory-1/after-read:delay=1s@5,work=2ms,"
                                "fail=before-write:error,fail=,fail=inventory-2/after-lock:crash",
                                &spec, &why),
                     0);
    assert_string_equal(spec.fail, "inventory-1/after-read:delay=1s@5");
    assert_string_equal(spec.failpoints[0].instance, "inventory-1");
    assert_int_equal(spec.failpoints[0].ms, 1000);
    assert_int_equal(spec.failpoints[1].action, FAIL_ERROR);
    assert_string_equal(spec.failpoints[2].instance, "inventory-2");
    assert_int_equal(spec.failpoints[2].point, FAIL_AFTER_LOCK);
    assert_int_equal(spec.failpoints[3].action, FAIL_NOTHING);
}

static void test_an_acknowledgement_is_an_option_of_prewarm(void **state) {
    assert_false(accepted("prewarm")->acknowledges_late);
    assert_true(accepted("prewarm,ack=ledger")->acknowledges_late);
    assert_int_equal(spec_parse("prewarm,ack=never", &spec, &why), -1);
    assert_int_equal(spec_parse("atomic,ack=ledger", &spec, &why), -1);
}

static void test_a_fence_and_replicas_are_options_of_some_leases(void **state) {
    assert_false(accepted("etcd")->is_fenced);
    assert_true(accepted("etcd,fence=on")->is_fenced);
    assert_int_equal(accepted("redis-wait")->replicas, 1);
    assert_int_equal(accepted("redis-wait,replicas=2,fence=on")->replicas, 2);
    assert_int_equal(spec_parse("redis-wait,replicas=3", &spec, &why), -1);
    assert_int_equal(spec_parse("etcd,replicas=1", &spec, &why), -1);
    assert_int_equal(spec_parse("none,fence=on", &spec, &why), -1);
}

static void test_hand_over_is_an_option_of_some_leases(void **state) {
    assert_int_equal(accepted("redis")->handover, 0);
    assert_int_equal(accepted("redis-cohort")->handover, 32);
    assert_int_equal(accepted("sharded")->handover, 16);
    assert_int_equal(accepted("sharded,handover=1000")->handover, 1000);
    assert_int_equal(accepted("pg-advisory")->handover, 0);
    assert_int_equal(accepted("pg-advisory,handover=1,fence=on")->handover, 1);
    assert_int_equal(spec_parse("redis,handover=1001", &spec, &why), -1);
    assert_int_equal(spec_parse("redis-fair,handover=1", &spec, &why), -1);
}

static void test_the_ends_of_the_ranges_are_inside(void **state) {
    assert_int_equal(spec_parse("sharded,work=60s,wait=60s,ttl=10ms,shards=1000", &spec, &why), 0);
    assert_int_equal(spec_parse("sharded,ttl=1h,shards=1", &spec, &why), 0);
}

static void test_each_mistake_lists_the_choices(void **state) {
    static const struct {
        const char *text, *why;
    } bad[] = {
        {"redis,shrads=3", "strategy \"redis\" in \"redis,shrads=3\" has no option \"shrads\"; "
                           "its options: work, wait, ttl, handover, fail"},
        {"sharded,", "strategy \"sharded\" in \"sharded,\" has no option \"\"; "
                     "its options: work, wait, ttl, shards, borrow, deal, handover, fail"},
        {"redis,work", "option \"work\" in \"redis,work\" needs a value: "
                       "0ms..60s in whole milliseconds"},
        {"redis,work=61s", "bad value \"61s\" of option \"work\" in \"redis,work=61s\"; "
                           "it takes 0ms..60s in whole milliseconds"},
        {"redis,work=", "bad value \"\" of option \"work\" in \"redis,work=\"; "
                        "it takes 0ms..60s in whole milliseconds"},
        {"redis,work=500us", "bad value \"500us\" of option \"work\" in \"redis,work=500us\"; "
                             "it takes 0ms..60s in whole milliseconds"},
        {"redis,wait=-1s", "bad value \"-1s\" of option \"wait\" in \"redis,wait=-1s\"; "
                           "it takes 0ms..60s in whole milliseconds"},
        {"redis,ttl=9ms", "bad value \"9ms\" of option \"ttl\" in \"redis,ttl=9ms\"; "
                          "it takes 10ms..1h in whole milliseconds"},
        {"sharded,shards=0",
         "bad value \"0\" of option \"shards\" in \"sharded,shards=0\"; it takes 1..1000"},
        {"sharded,shards=1001",
         "bad value \"1001\" of option \"shards\" in \"sharded,shards=1001\"; it takes 1..1000"},
        {"none,shards=1", "strategy \"none\" in \"none,shards=1\" has no option \"shards\"; "
                          "its options: work, wait, ttl, fail"},
        {"redis,ttl=2s,ttl=3s", "option \"ttl\" is given twice in \"redis,ttl=2s,ttl=3s\""},
        {"redis,fail=after-write:crash,fail=after-read:crash,fail=after-lock:crash,fail=after-lock:"
         "error,fail=before-write:crash",
         "option \"fail\" is given more than 4 times in \"redis,fail=after-write:crash,fail=after-"
         "read:crash,fail=after-lock:crash,fail=after-lock:error,fail=before-write:crash\""},
        {"redis,fail=lunch:crash", "bad failpoint \"lunch:crash\"; points: after-lock, after-read, "
                                   "before-write, after-write, before-unlock, before-expire, "
                                   "before-delete, before-commit; actions: "
                                   "pause=<duration>, delay=<duration>, crash, error, drop-reply; "
                                   "then @N for the Nth sale; <instance>/ in front for that "
                                   "instance only"},
        {"竹子", "a strategy spec has at most 200 characters, all printable ASCII"},
    };

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(spec_parse(bad[i].text, &spec, &why), -1);
        assert_string_equal(why.text, bad[i].why);
    }
}

static void test_an_unknown_strategy_is_answered_with_all_names(void **state) {
    char expected[MESSAGE_BYTES] = "unknown strategy \"Redis\" in \"Redis,ttl=2s\"; strategies: ";

    for (size_t i = 0; strategies[i] != NULL; i++) {
        size_t used = strlen(expected);

        (void)snprintf(expected + used, sizeof expected - used, "%s%s", i > 0 ? ", " : "",
                       strategies[i]->name);
    }
    assert_int_equal(spec_parse("Redis,ttl=2s", &spec, &why), -1);
    assert_string_equal(why.text, expected);
}

static void test_a_strategy_that_is_not_in_the_table_is_read_by_its_own_name(void **state) {
    static const struct strategy own = {.name = "own", .takes = TAKES_SHARDS, .default_shards = 7};

    assert_int_equal(spec_parse("own", &spec, &why), -1);
    assert_int_equal(spec_parse_of(&own, "own,work=2ms", &spec, &why), 0);
    assert_ptr_equal(spec.strategy, &own);
    assert_int_equal(spec.options.shards, 7);
    assert_int_equal(spec.options.work_ms, 2);
    assert_int_equal(spec_parse_of(&own, "own,fence=on", &spec, &why), -1);
    assert_int_equal(spec_parse_of(&own, "none", &spec, &why), -1);
    assert_string_equal(why.text, "unknown strategy \"none\" in \"none\"; strategies: own");
}

static void test_a_cart_has_two_rows(void **state) {
    static const struct strategy own = {.name = "own", .takes = TAKES_CART, .default_shards = 1};

    assert_int_equal(spec_parse_of(&own, "own,cart=on", &spec, &why), 0);
    assert_true(spec.options.is_cart);
    assert_int_equal(spec.options.shards, 2);
    assert_int_equal(spec_parse_of(&own, "own", &spec, &why), 0);
    assert_false(spec.options.is_cart);
    assert_int_equal(spec.options.shards, 1);
    assert_int_equal(spec_parse("none,cart=on", &spec, &why), -1);
}

static void test_an_exercise_is_found_after_the_table(void **state) {
    static const struct strategy exercise = {.name = "exercise", .default_shards = 1};

    assert_int_equal(spec_parse("exercise", &spec, &why), -1);
    strategies_exercise = &exercise;
    assert_int_equal(spec_parse("exercise,ttl=2s", &spec, &why), 0);
    assert_ptr_equal(spec.strategy, &exercise);
    assert_int_equal(spec.options.ttl_ms, 2000);
    assert_int_equal(spec_parse("none", &spec, &why), 0);
    assert_int_equal(spec_parse("nothing", &spec, &why), -1);
    assert_non_null(strstr(why.text, ", batched, exercise"));
    strategies_exercise = NULL;
}

static void test_a_long_spec_is_refused(void **state) {
    char text[300];

    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    assert_int_equal(spec_parse(text, &spec, &why), -1);
    text[200] = '\0';
    assert_int_equal(spec_parse(text, &spec, &why), -1);
    assert_non_null(strstr(why.text, "strategies: none"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_name_is_a_spec_with_the_defaults),
        cmocka_unit_test(test_options_are_read),
        cmocka_unit_test(test_an_acknowledgement_is_an_option_of_prewarm),
        cmocka_unit_test(test_a_fence_and_replicas_are_options_of_some_leases),
        cmocka_unit_test(test_hand_over_is_an_option_of_some_leases),
        cmocka_unit_test(test_several_failpoints_are_read),
        cmocka_unit_test(test_the_ends_of_the_ranges_are_inside),
        cmocka_unit_test(test_each_mistake_lists_the_choices),
        cmocka_unit_test(test_an_unknown_strategy_is_answered_with_all_names),
        cmocka_unit_test(test_a_strategy_that_is_not_in_the_table_is_read_by_its_own_name),
        cmocka_unit_test(test_a_cart_has_two_rows),
        cmocka_unit_test(test_an_exercise_is_found_after_the_table),
        cmocka_unit_test(test_a_long_spec_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
