/* Two holders of one lock, word by word, and the events in a counterexample. */
#include "verdict_fixture.h"

static struct event_list events;

static int set_up(void **state) {
    const int rc = verdict_set_up(state);

    events = (struct event_list){.items = NULL};
    judged.events = &events;
    return rc;
}

static int tear_down(void **state) {
    event_list_free(&events);
    return verdict_tear_down(state);
}

static struct event *add(enum event_kind kind, int order, int64_t at_ms, const char *name) {
    struct event *event = event_add(&events);

    assert_non_null(event);
    event->kind = kind;
    event->at_ns = event->began_ns = event->until_ns = at_ms * MS;
    snprintf(event->name, sizeof event->name, "%s", name);
    snprintf(event->order_id, sizeof event->order_id, "%s", ids[order]);
    snprintf(event->who, sizeof event->who, "inventory-%d", order % 2 + 1);
    return event;
}

static struct event *result_of(int order, int64_t at_ms, const char *name,
                               enum event_result result) {
    struct event *event = add(EVENT_LOCK, order, at_ms, name);

    event->result = result;
    strcpy(event->key, "stock:0");
    return event;
}

static void grant(int order, int64_t at_ms, int64_t ttl_ms) {
    struct event *event = result_of(order, at_ms, "SET NX", EVENT_YES);

    snprintf(event->detail, sizeof event->detail, "ttl %" PRId64 " ms", ttl_ms);
    event->until_ns = (at_ms + ttl_ms) * MS;
}

/* A sells unit 10, B and C unit 9: C writes first. */
static void sell_three(void) {
    sell(10);
    sell(9);
    sell(9);
    at_time(1, "10:01:02.125000");
    at_time(2, "10:01:02.124000");
    ledger.available = 8;
}

static void test_the_chain_of_three_is_told(void **state) {
    const struct counterexample *twin;

    sell_three();
    grant(0, 100, 200);
    (void)result_of(1, 250, "SET NX", EVENT_NO);
    grant(1, 301, 200);
    (void)result_of(0, 400, "DEL", EVENT_YES);
    grant(2, 401, 200);
    (void)result_of(1, 450, "DEL", EVENT_YES);
    twin = counterexample_of(ANOMALY_TWIN);
    assert_true(twin->has_chain);
    assert_int_equal(twin->ops, 3);
    assert_int_equal(twin->lines, 8);
    for (int i = 0; i < 3; i++) {
        assert_string_equal(twin->order_id[i], ids[i]);
        assert_int_equal(twin->line[i][0], 'A' + i);
    }
    assert_string_equal(
        twin->line[3],
        "A's lock expired by 0.300000 s. B took it at 0.301000 s, before A had given it back.");
    assert_string_equal(twin->line[4],
                        "A freed the lock at 0.400000 s (DEL), but by then B held it.");
    assert_string_equal(twin->line[5], "C took it at 0.401000 s while B was still at work.");
    assert_string_equal(twin->line[6], "B read 9 before C wrote 8, so both sold unit 9.");
    assert_int_equal(twin->events, 5); /* the refusal is left out */
    assert_int_equal(twin->event[0].letter, 'A');
    assert_string_equal(twin->event[0].text, "SET NX ttl 200 ms: yes");
    assert_int_equal(twin->event[4].letter, 'B');
}

/* One lock freed by another order leads to the next; the beginning of the story is told first. */
static void test_a_chain_that_begins_with_an_end_of_ttl_comes_first(void **state) {
    for (int i = 0; i < 2; i++) {
        const int64_t from_ms = 1000 * i, ttl_ms = i == 0 ? 9000 : 200;

        sell(10 - 2 * i);
        sell(9 - 2 * i);
        sell(9 - 2 * i);
        grant(3 * i, from_ms + 100, ttl_ms);
        grant(3 * i + 1, from_ms + 301, ttl_ms);
        (void)result_of(3 * i, from_ms + 400, "DEL", EVENT_YES);
        grant(3 * i + 2, from_ms + 401, ttl_ms);
        (void)result_of(3 * i + 1, from_ms + 450, "DEL", EVENT_YES);
        (void)result_of(3 * i + 2, from_ms + 460, "DEL", EVENT_YES);
    }
    ledger.available = 6;
    assert_string_equal(counterexample_of(ANOMALY_TWIN)->order_id[0], ids[3]);
    assert_string_equal(verdict.counterexample[1].order_id[0], ids[0]);
    assert_string_equal(verdict.counterexample[1].line[3],
                        "B took the lock at 0.301000 s before A had given it back.");
}

/* The reply to A's DEL lay unread until C had the reply to its SET. */
static void test_a_chain_is_told_when_replies_arrive_in_another_order(void **state) {
    sell_three();
    grant(0, 100, 200);
    grant(1, 301, 200);
    grant(2, 401, 200);
    result_of(0, 404, "DEL", EVENT_YES)->began_ns = 399 * MS;
    assert_int_equal(counterexample_of(ANOMALY_TWIN)->ops, 3);
}

/* Here B itself freed the lock before C took it. */
static void test_one_after_the_other_is_no_chain(void **state) {
    sell_three();
    grant(1, 301, 200);
    grant(2, 401, 200);
    result_of(1, 404, "DEL", EVENT_YES)->began_ns = 399 * MS;
    assert_false(counterexample_of(ANOMALY_TWIN)->has_chain);
    assert_int_equal(verdict.counterexample[0].ops, 2);
}

static void test_a_lock_that_expired_in_work_is_told(void **state) {
    const struct counterexample *twin;

    sell_three();
    (void)result_of(1, 100, "SET NX", EVENT_YES);
    result_of(1, 101, "PEXPIRE", EVENT_YES)->until_ns = 301 * MS;
    grant(2, 302, 200);
    twin = counterexample_of(ANOMALY_TWIN);
    assert_int_equal(twin->ops, 2);
    assert_string_equal(twin->order_id[0], ids[1]);
    assert_string_equal(
        twin->line[2],
        "A's lock expired by 0.301000 s. B took it at 0.302000 s, before A had given it back.");
    assert_string_equal(twin->line[3], "A read 9 before B wrote 8, so both sold unit 9.");
}

static void test_a_lock_that_its_server_lost_is_told(void **state) {
    const struct counterexample *twin;

    sell_three();
    at(&recorder->records[1], 90, 400);
    (void)result_of(1, 100, "SET NX", EVENT_YES);
    strcpy(add(EVENT_SERVER, 0, 150, "restart")->who, "redis");
    events.items[1].order_id[0] = '\0';
    (void)result_of(2, 302, "SET NX", EVENT_YES);
    twin = counterexample_of(ANOMALY_TWIN);
    assert_string_equal(twin->line[2], "B took the lock at 0.302000 s before A had given it back.");
    assert_int_equal(twin->events, 3);
    assert_string_equal(twin->event[1].who, "redis");
    assert_string_equal(twin->event[1].text, "restart");
}

static void fire(int order, int64_t at_ms, const char *detail, int64_t ms) {
    struct event *event = add(EVENT_FAILPOINT, order, at_ms, "after-read");

    snprintf(event->detail, sizeof event->detail, "%s", detail);
    event->until_ns += ms * MS;
}

/* A failpoint that fired at another order counts if it paused the whole instance. */
static void test_a_pause_beside_the_orders_is_woven_in(void **state) {
    sell(10);
    sell(10);
    ledger.available = 9;
    request(RECORD_BUSY);
    request(RECORD_BUSY);
    fire(3, 2, "pause 4000 ms", 4000);
    fire(3, 2, "delay 4000 ms", 4000);
    fire(0, 2, "delay 4000 ms", 4000);
    fire(3, 20, "pause 4000 ms", 4000);
    judge();
    assert_int_equal(verdict.counterexample[0].events, 2);
    assert_int_equal(verdict.counterexample[0].event[0].letter, '\0');
    assert_int_equal(verdict.counterexample[0].event[1].letter, 'A');
}

/* One failpoint fired twice: once before the last unit was sold, and once after. */
static void test_firings_of_armed_failpoints_are_counted(void **state) {
    struct firings armed = {.count = 0};
    const struct firing *firing = verdict.firings.items;

    firings_arm_spec(&armed, "redis,fail=inventory-2/after-read:pause=1s,"
                             "fail=after-read:pause=4s@2,ttl=1s,fail=after-lock:crash@9");
    judged.armed = &armed;
    ledger.initial = 1;
    ledger.available = 1;
    sell(1);
    judged.ledger_start_us = sales[0].at_us - 3000;
    strcpy(add(EVENT_FAILPOINT, 0, 2, "after-read")->detail, "pause 4000 ms");
    strcpy(add(EVENT_FAILPOINT, 0, 4, "after-read")->detail, "pause 4000 ms");
    strcpy(add(EVENT_SERVER, 0, 5, "kill")->who, "redis");
    judge();
    assert_int_equal(verdict.firings.count, 4);
    assert_int_equal(firing[0].times, 0); /* it was armed at the other instance */
    assert_string_equal(firing[1].what, "after-read:pause=4s@2");
    assert_int_equal(firing[1].times, 2);
    assert_int_equal(firing[1].in_time, 1);
    assert_int_equal(firing[1].first.at_ns, 2 * MS);
    assert_string_equal(firing[2].what, "after-lock:crash@9");
    assert_int_equal(firing[2].times, 0);
    assert_string_equal(firing[3].what, "redis:kill");
    assert_int_equal(firing[3].in_time, 0);
}

static void test_a_fault_of_a_server_is_armed_for_each_time(void **state) {
    static const char *const faults[] = {"redis:kill@1ms", "redis:kill@5ms", "redis:start@4ms"};
    struct firings armed = {.count = 0};

    for (size_t i = 0; i < 3; i++)
        firings_arm(&armed, EVENT_SERVER, faults[i], strlen(faults[i]));
    judged.armed = &armed;
    sell(10);
    strcpy(add(EVENT_SERVER, 0, 1, "kill")->who, "redis");
    judge();
    assert_int_equal(verdict.firings.count, 3);
    assert_int_equal(verdict.firings.items[0].times, 1);
    assert_int_equal(verdict.firings.items[1].times, 0);
    strcpy(add(EVENT_SERVER, 0, 5, "kill")->who, "redis");
    judge();
    assert_int_equal(verdict.firings.count, 3);
    assert_int_equal(verdict.firings.items[1].times, 1);
    assert_int_equal(verdict.firings.items[2].times, 0);
}

static void test_without_ledger_or_events_nothing_is_said_of_failpoints(void **state) {
    struct firings armed = {.count = 0};

    firings_arm_spec(&armed, "redis,fail=after-lock:crash@9");
    firings_arm(&armed, EVENT_SERVER, "redis:kill@2s", strlen("redis:kill@2s"));
    judged.armed = &armed;
    sell(10);
    judge();
    assert_int_equal(verdict.firings.count, 2);
    judged.are_events_lost = true;
    judge();
    assert_int_equal(verdict.firings.count, 1);
    judged.are_events_lost = false;
    judged.ledgers = NULL;
    judge();
    assert_int_equal(verdict.firings.count, 1);
    assert_int_equal(verdict.firings.items[0].kind, EVENT_SERVER);
}

/* Nothing was sold after it, because it stopped all sales. */
static void test_a_firing_is_in_time_while_units_are_left(void **state) {
    sell(10);
    judged.ledger_start_us = sales[0].at_us - 1000;
    request(RECORD_BUSY);
    at(&recorder->records[1], 6, 9);
    strcpy(add(EVENT_FAILPOINT, 1, 8, "after-lock")->detail, "crash");
    strcpy(add(EVENT_SERVER, 0, 9, "kill")->who, "redis");
    judge();
    assert_int_equal(verdict.firings.items[0].in_time, 1);
    assert_int_equal(verdict.firings.items[1].in_time, 0);
}

#define WITH_EVENTS(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_EVENTS(test_the_chain_of_three_is_told),
        WITH_EVENTS(test_a_chain_that_begins_with_an_end_of_ttl_comes_first),
        WITH_EVENTS(test_a_chain_is_told_when_replies_arrive_in_another_order),
        WITH_EVENTS(test_one_after_the_other_is_no_chain),
        WITH_EVENTS(test_a_lock_that_expired_in_work_is_told),
        WITH_EVENTS(test_a_lock_that_its_server_lost_is_told),
        WITH_EVENTS(test_a_pause_beside_the_orders_is_woven_in),
        WITH_EVENTS(test_firings_of_armed_failpoints_are_counted),
        WITH_EVENTS(test_a_fault_of_a_server_is_armed_for_each_time),
        WITH_EVENTS(test_without_ledger_or_events_nothing_is_said_of_failpoints),
        WITH_EVENTS(test_a_firing_is_in_time_while_units_are_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
