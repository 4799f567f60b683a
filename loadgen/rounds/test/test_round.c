/* A server that failed in one round is down in later rounds, until it sells or is started again. */
#include "round.h"
#include "test.h"

#include <stdio.h>

#define MS INT64_C(1000000)

static struct down down;
static struct round rounds[3];

static int set_up(void **state) {
    down = (struct down){.count = 0};
    for (size_t i = 0; i < 3; i++) {
        rounds[i] = (struct round){.items = 1};
        rounds[i].recorder = recorder_make(4);
        rounds[i].ledgers = calloc(1, sizeof *rounds[i].ledgers);
        assert_non_null(rounds[i].recorder);
        assert_non_null(rounds[i].ledgers);
    }
    return 0;
}

static int tear_down(void **state) {
    for (size_t i = 0; i < 3; i++)
        round_free(&rounds[i]);
    return 0;
}

static void answer(struct round *round, const char *instance, int64_t sent_ns) {
    struct record record = {.sent_ns = sent_ns,
                            .received_ns = sent_ns + MS,
                            .outcome = RECORD_BUSY,
                            .unit = -1,
                            .instance = recorder_instance(round->recorder, instance)};

    snprintf(record.key.room, sizeof record.key.room, "01900000-0000-7000-8000-%012d",
             (int)round->recorder->ended);
    recorder_add(round->recorder, &record);
}

static void befall(struct round *round, enum event_kind kind, const char *who, const char *detail) {
    struct event *event = event_add(&round->events);

    assert_non_null(event);
    event->kind = kind;
    event->at_ns = event->began_ns = 10 * MS;
    event->until_ns = kind == EVENT_SERVER ? EVENT_OPEN : event->at_ns;
    snprintf(event->who, sizeof event->who, "%s", who);
    snprintf(event->name, sizeof event->name, "%s", "after-read");
    snprintf(event->detail, sizeof event->detail, "%s", detail);
}

static bool is_down_in(size_t which) {
    for (size_t i = 0; i <= which; i++)
        assert_int_equal(round_judge(&rounds[i], &down), 0);
    return rounds[which].is_down;
}

static void crash_both(void) {
    answer(&rounds[0], "inventory-1", 1 * MS);
    answer(&rounds[0], "inventory-2", 1 * MS);
    befall(&rounds[0], EVENT_FAILPOINT, "inventory-1", "crash");
    befall(&rounds[0], EVENT_FAILPOINT, "inventory-2", "crash");
}

static void test_what_crashed_is_down_in_each_later_round(void **state) {
    crash_both();
    assert_true(is_down_in(2));
    assert_false(rounds[0].is_down);
    assert_true(rounds[1].is_down);
    assert_string_equal(
        rounds[1].verdict.reason[0],
        "a server that failed in an earlier round was down, and nothing could be sold: "
        "start it again (scripts/stack start)");
}

static void test_an_instance_that_sells_is_up(void **state) {
    crash_both();
    answer(&rounds[1], "inventory-2", 1 * MS);
    assert_false(is_down_in(2));
    assert_true(rounds[1].is_down);
}

static void test_an_instance_that_answers_after_its_crash_is_up(void **state) {
    crash_both();
    answer(&rounds[0], "inventory-1", 2011 * MS);
    assert_false(is_down_in(1));
}

static void test_an_answer_while_the_crash_is_written_down_is_no_sign_of_life(void **state) {
    crash_both();
    answer(&rounds[0], "inventory-1", 11 * MS);
    assert_true(is_down_in(1));
}

static void test_one_instance_that_is_up_is_enough(void **state) {
    answer(&rounds[0], "inventory-1", 1 * MS);
    answer(&rounds[0], "inventory-2", 1 * MS);
    befall(&rounds[0], EVENT_FAILPOINT, "inventory-1", "crash");
    befall(&rounds[0], EVENT_FAILPOINT, "inventory-2", "pause 4000 ms");
    assert_false(is_down_in(1));
}

static void test_what_was_put_up_again_is_up(void **state) {
    crash_both();
    rounds[0].is_mended = true;
    assert_false(is_down_in(1));
}

static void test_a_server_that_did_not_come_up_is_down_until_something_is_sold(void **state) {
    befall(&rounds[0], EVENT_SERVER, "redis", "");
    answer(&rounds[1], "inventory-1", 1 * MS);
    assert_false(is_down_in(2));
    assert_true(rounds[1].is_down);
}

static void test_a_replica_that_did_not_come_up_stops_nothing(void **state) {
    befall(&rounds[0], EVENT_SERVER, "replica", "");
    assert_false(is_down_in(1));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_what_crashed_is_down_in_each_later_round),
        TEST(test_an_instance_that_sells_is_up),
        TEST(test_an_instance_that_answers_after_its_crash_is_up),
        TEST(test_an_answer_while_the_crash_is_written_down_is_no_sign_of_life),
        TEST(test_one_instance_that_is_up_is_enough),
        TEST(test_what_was_put_up_again_is_up),
        TEST(test_a_server_that_did_not_come_up_is_down_until_something_is_sold),
        TEST(test_a_replica_that_did_not_come_up_stops_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
