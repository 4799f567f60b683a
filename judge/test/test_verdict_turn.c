/* STUCK: not said of a lock that is known to have changed hands. */
#include "verdict_fixture.h"

#define STOCK 300
#define ASKED 400 /* customers, one a millisecond; the last is told at 402 ms */
#define SOLD  100
#define AFTER (100 * MS)        /* --stuck-after: from 302 ms on */
#define SPAN  (ASKED - 300 + 1) /* customers in it */
#define FIRST (ASKED - SPAN)    /* the first of them */
#define FROM  (302 * MS)        /* when he was told */

static struct event events[2];
static const struct event_list event_list = {.count = 2, .items = events};

static void get_stuck(void) {
    ledger.initial = ledger.available = STOCK;
    for (int64_t unit = STOCK; unit > STOCK - SOLD; unit--)
        sell(unit);
    while (recorder->count < ASKED)
        request(RECORD_BUSY);
    judged.stuck_ns = AFTER;
}

static int64_t stuck(void) {
    judge();
    return verdict.found[ANOMALY_STUCK].count;
}

static int64_t stuck_beside(struct event one, struct event other) {
    events[0] = one;
    events[1] = other;
    judged.events = &event_list;
    return stuck();
}

static struct record *number(int i) {
    return &recorder->records[i];
}

/* A lock that others have kept since before the span: each waited, and was refused all the time. */
static void keep_lock(int64_t kept_ms) {
    get_stuck();
    for (int i = FIRST; i < ASKED; i++) {
        number(i)->cost.wait_us = 150000;
        number(i)->cost.kept_us = (int32_t)kept_ms * 1000;
    }
}

static void test_a_lock_that_others_kept_all_the_time_is_stuck(void **state) {
    keep_lock(150);
    assert_int_equal(stuck(), SPAN);
    for (int i = FIRST; i < ASKED; i++) /* it was refused after 2 ms, and from then on */
        number(i)->cost.kept_us -= 2000;
    assert_int_equal(stuck(), SPAN);
}

static void test_a_lock_that_changed_hands_in_the_span_is_not_stuck(void **state) {
    struct record_cost *last;

    keep_lock(150);
    last = &number(ASKED - 1)->cost; /* told at 402 ms, and sent to the lock at 252 ms */
    last->kept_us = 90000;           /* within the slack */
    assert_int_equal(stuck(), SPAN);
    last->kept_us = 89999;
    assert_int_equal(stuck(), 0);
    last->kept_us = 0; /* and no refusal since */
    assert_int_equal(stuck(), 0);
    last->wait_us = 99999; /* this customer came later and has not seen all of the span */
    assert_int_equal(stuck(), SPAN);
}

static void test_waits_without_an_answer_do_not_hide_a_lock_that_others_kept(void **state) {
    keep_lock(150);
    for (int i = FIRST + 30; i < ASKED; i++)
        number(i)->cost.kept_us = -1;
    assert_int_equal(stuck(), SPAN);
}

static void test_a_lock_that_was_won_and_given_back_in_the_span_is_not_stuck(void **state) {
    get_stuck();
    number(FIRST - 1)->cost.hold_us = 10; /* told before the span */
    assert_int_equal(stuck(), SPAN);
    number(FIRST)->cost.hold_us = 10;
    assert_int_equal(stuck(), 0);
    number(FIRST)->cost.kept_us = 150000; /* that of another shard, which others kept */
    number(FIRST)->cost.wait_us = 150000;
    assert_int_equal(stuck(), SPAN);
}

static struct event raw_command(const char *name, int64_t at_ns) {
    struct event event = {.kind = EVENT_LOCK, .result = EVENT_YES, .at_ns = at_ns};

    snprintf(event.name, sizeof event.name, "%s", name);
    return event;
}

static void test_a_key_that_was_set_or_deleted_in_the_span_is_not_stuck(void **state) {
    const struct event early = raw_command("SET NX", FROM - 1);
    struct event other = raw_command("SET NX", FROM);

    get_stuck();
    other.item = 1;
    assert_int_equal(stuck_beside(early, other), SPAN);
    other.item = 0;
    other.result = EVENT_NO;
    assert_int_equal(stuck_beside(early, other), SPAN);
    assert_int_equal(stuck_beside(early, raw_command("SET NX", FROM)), 0);
    assert_int_equal(stuck_beside(early, raw_command("DEL", FROM)), 0);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        JUDGED(test_a_lock_that_others_kept_all_the_time_is_stuck),
        JUDGED(test_a_lock_that_changed_hands_in_the_span_is_not_stuck),
        JUDGED(test_waits_without_an_answer_do_not_hide_a_lock_that_others_kept),
        JUDGED(test_a_lock_that_was_won_and_given_back_in_the_span_is_not_stuck),
        JUDGED(test_a_key_that_was_set_or_deleted_in_the_span_is_not_stuck),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
