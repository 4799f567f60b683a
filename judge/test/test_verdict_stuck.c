/* STUCK: nothing is sold at the end of the demand; and the cases in which no lock is the cause. */
#include "scene.h"

#define STOCK 300
#define ASKED 400 /* customers, one a millisecond; the last answer comes at 402 ms */
#define SOLD  100
#define AFTER (100 * MS)        /* --stuck-after: from 302 ms on */
#define SPAN  (ASKED - 300 + 1) /* customers in the span */
#define FIRST (ASKED - SPAN)    /* the first of these */
#define FROM  (302 * MS)        /* when FIRST was answered */
#define START "10:01:02.000000" /* the start of the round by the ledger's clock */

/* A lock was never given back after `buyers` sales; all later customers got the answer `told`. */
static void get_stuck(int buyers, enum record_outcome told) {
    ledger.initial = ledger.available = STOCK;
    for (int64_t unit = STOCK; unit > STOCK - buyers; unit--)
        sell(unit);
    while (recorder->count < ASKED)
        request(told);
    judged.stuck_ns = AFTER;
    judged.ledger_start_us = ledger_time_us("2026-11-21T" START "Z");
}

/* The same as a scene. The 100th sale was answered at 102 ms. */
#define STARTS "stock=300 ledger_start_us=1795255262000000 stuck_ns=100000000 "
#define SELLS  STARTS "sold:300..201 "

static const struct scene scenes[] = {
    {"a lock that nobody gives back is stuck", SELLS "busy*300",
     "STUCK 101: from 0.302 s to the end of the demand at 0.402 s 101 customers wanted a unit, 200 "
     "units were left, and nothing was sold"},
    {"an error or no answer counts for stuck like busy", SELLS "failed*298 unknown failed",
     "STUCK 101"},
    {"nothing sold at all is stuck, too", STARTS "busy*400", "STUCK 101"},
    {"a sale before the span is stuck", STARTS "sold:300..202 sold:201@99.1-301.999999 busy*300",
     "STUCK 101"},
    {"a sale in the span is not stuck", STARTS "sold:300..202 sold:201@99.1-302 busy*300", "valid"},
    {"a sale after the span is not stuck", STARTS "sold:300..202 sold:201@99.1-9999 busy*300",
     "valid"},
    /* The holder died after its sale, so the customer got no answer. */
    {"a sale without an answer counts by the ledger's clock",
     SELLS "unknown:200%10:01:02.301999 busy*299", "STUCK 101"},
    {"a sale without an answer in the span is not stuck",
     SELLS "unknown:200%10:01:02.302000 busy*299", "valid"},
    {"a sale without an answer long before the span is stuck",
     SELLS "unknown:200%10:01:02.101000 busy*299", "STUCK 101"},
    {"a sale without an answer may be late where the clock is not known",
     SELLS "ledger_start_us=0 unknown:200%10:01:02.101000 busy*299", "valid"},
    {"thirty attempts are enough", SELLS "busy*199 refused*71 busy*30", "STUCK 30"},
    {"thirty attempts are needed", SELLS "busy*199 refused*72 busy*29", "valid"},
    {"a stock without units is not stuck",
     "stock=100 ledger_start_us=1795255262000000 stuck_ns=100000000 sold:100..1 busy*300", "valid"},
    /* A customer that was told sold out had a turn; the units that are left are another anomaly. */
    {"a sold out in the span is not stuck", SELLS "busy*199 sold_out busy*100", "UNDERSELL 1"},
    {"a demand that lasts twice as long can show it", SELLS "stuck_ns=200950000 busy*300",
     "STUCK 201"},
    {"a short demand cannot show it", SELLS "stuck_ns=200950001 busy*300", "valid"},
    {"the bound is 300 ms by itself", SELLS "stuck_ns=0 busy*300", "valid"},
    {"a round that was interrupted is not stuck", SELLS "busy*300 interrupted", "inconclusive"},
    {"a round that was aborted is not stuck", SELLS "busy*300 aborted", "valid"},
    {"a ledger that may lack sales says nothing", SELLS "busy*300 counted=101", "inconclusive"},
    {"a request that does not reach the target shows that a server is down",
     SELLS "busy*102 unreached busy*197", "STUCK 101"},
    {"a request that did not reach it too late is not stuck", SELLS "busy*103 unreached busy*196",
     "valid"},
    {.name = NULL},
};

static int64_t stuck(void) {
    judge();
    for (int i = 0; i < ANOMALY_COUNT; i++)
        assert_true(i == ANOMALY_STUCK || verdict.found[i].count == 0);
    return verdict.found[ANOMALY_STUCK].count;
}

static struct record *number(int i) {
    return &recorder->records[i];
}

/* All were sent long before the end, and waited until their wait= was over. */
static void test_a_customer_waits_until_it_is_told_busy(void **state) {
    get_stuck(SOLD, RECORD_BUSY);
    for (int i = SOLD; i < ASKED; i++)
        number(i)->received_ns = 900 * MS + i * MS / 10;
    number(SOLD - 1)->received_ns = 839 * MS; /* the last waiting customer bought */
    assert_int_equal(stuck(), ASKED - SOLD);
    number(SOLD - 1)->received_ns = 840 * MS;
    assert_int_equal(stuck(), 0);
    number(SOLD - 1)->received_ns = 300 * MS;
    for (int i = SOLD; i < ASKED; i++) /* it is not known until when these waited */
        number(i)->outcome = i == SOLD ? RECORD_FAILED : RECORD_UNKNOWN;
    assert_int_equal(stuck(), 0);
}

static void test_a_customer_with_a_unit_makes_no_attempt(void **state) {
    get_stuck(SOLD, RECORD_BUSY);
    number(FIRST)->key = number(0)->key; /* it was told yes long ago */
    *number(FIRST + 1) = *number(1);     /* and again */
    at(number(FIRST + 1), 300, 303)->is_repeat = true;
    number(FIRST + 3)->key = number(FIRST + 2)->key; /* one asked twice */
    assert_int_equal(stuck(), SPAN - 3);
}

static struct event events[2];
static const struct event_list event_list = {.count = 2, .items = events};

static int64_t stuck_beside(struct event one, struct event other) {
    events[0] = one;
    events[1] = other;
    judged.events = &event_list;
    return stuck();
}

static struct event down(const char *who, int64_t until_ns) {
    struct event event = {.kind = EVENT_SERVER, .at_ns = 1, .until_ns = until_ns};

    snprintf(event.who, sizeof event.who, "%s", who);
    return event;
}

static struct event crash(const char *who) {
    struct event event = down(who, 1);

    event.kind = EVENT_FAILPOINT;
    snprintf(event.detail, sizeof event.detail, "crash");
    return event;
}

/* The demand must last twice the bound after the server is up again, as after the beginning. */
static void test_the_time_of_a_server_that_is_down_does_not_count(void **state) {
    get_stuck(SOLD, RECORD_BUSY);
    assert_int_equal(stuck_beside(down("redis", FROM - AFTER), down("replica", EVENT_OPEN)), SPAN);
    assert_int_equal(stuck_beside(down("redis", FROM - AFTER + 1), down("redis", 2)), 0);
    assert_int_equal(stuck_beside(down("postgres", EVENT_OPEN), down("redis", 2)), 0);
}

static void test_no_lock_is_stuck_while_all_instances_are_down(void **state) {
    get_stuck(SOLD, RECORD_BUSY);
    (void)recorder_instance(recorder, "inventory-1");
    (void)recorder_instance(recorder, "inventory-2");
    assert_int_equal(stuck_beside(down("inventory-1", EVENT_OPEN), crash("inventory-1")), SPAN);
    assert_int_equal(stuck_beside(down("inventory-1", EVENT_OPEN), down("inventory-2", 9)), SPAN);
    assert_int_equal(stuck_beside(down("inventory-1", EVENT_OPEN), crash("inventory-2")), 0);
}

static void test_an_instance_that_was_shot_may_have_been_the_only_one(void **state) {
    get_stuck(0, RECORD_BUSY);
    recorder->instance_count = 0;
    assert_int_equal(stuck_beside(crash("inventory-1"), down("redis", 2)), SPAN);
    assert_int_equal(stuck_beside(down("inventory-1", EVENT_OPEN), down("redis", 2)), 0);
}

static void test_a_target_that_answers_no_request_is_not_stuck(void **state) {
    get_stuck(SOLD, RECORD_UNKNOWN);
    assert_int_equal(stuck(), 0);
    number(FIRST)->status = 504;
    assert_int_equal(stuck(), SPAN);
}

/* One of two products is stuck. */
static void test_one_product_of_several_is_stuck(void **state) {
    struct ledger ledgers[2];

    get_stuck(SOLD, RECORD_BUSY);
    for (int i = FIRST; i < FIRST + 50; i++)
        number(i)->item = 1;
    ledgers[0] = ledger;
    ledgers[1] = (struct ledger){.initial = 10, .available = 10};
    judged.ledgers = ledgers;
    judged.items = 2;
    assert_only(ANOMALY_STUCK, SPAN - 50); /* the other's demand was too short */
    assert_int_equal(verdict.counterexample[0].item, 0);
}

static void test_the_end_of_the_demand_is_in_the_picture(void **state) {
    const struct counterexample *example;

    get_stuck(1, RECORD_BUSY);
    number(ASKED - 2)->outcome = RECORD_UNKNOWN;
    example = counterexample_of(ANOMALY_STUCK);
    assert_int_equal(example->from_ns, MS / 10);
    assert_int_equal(example->to_ns, 402 * MS);
}

/* ---- a lock that is known to have changed hands */

/* Others kept the lock since before the span: each customer waited, and was refused all the
 * time. */
static void keep_lock(int64_t kept_ms) {
    get_stuck(SOLD, RECORD_BUSY);
    for (int i = FIRST; i < ASKED; i++) {
        number(i)->cost.wait_us = 150000;
        number(i)->cost.kept_us = (int32_t)kept_ms * 1000;
    }
}

static void test_a_lock_that_others_kept_all_the_time_is_stuck(void **state) {
    keep_lock(150);
    assert_int_equal(stuck(), SPAN);
    for (int i = FIRST; i < ASKED; i++) /* the first refusal came after 2 ms */
        number(i)->cost.kept_us -= 2000;
    assert_int_equal(stuck(), SPAN);
}

static void test_a_lock_that_changed_hands_in_the_span_is_not_stuck(void **state) {
    struct record_cost *last;

    keep_lock(150);
    last = &number(ASKED - 1)->cost; /* it waited from 252 ms to 402 ms */
    last->kept_us = 90000;           /* within the slack */
    assert_int_equal(stuck(), SPAN);
    last->kept_us = 89999;
    assert_int_equal(stuck(), 0);
    last->kept_us = 0; /* no refusal at all */
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
    get_stuck(SOLD, RECORD_BUSY);
    number(FIRST - 1)->cost.hold_us = 10; /* it was answered before the span */
    assert_int_equal(stuck(), SPAN);
    number(FIRST)->cost.hold_us = 10;
    assert_int_equal(stuck(), 0);
    number(FIRST)->cost.kept_us = 150000; /* others kept the lock of another shard */
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

    get_stuck(SOLD, RECORD_BUSY);
    other.item = 1;
    assert_int_equal(stuck_beside(early, other), SPAN);
    other.item = 0;
    other.result = EVENT_NO;
    assert_int_equal(stuck_beside(early, other), SPAN);
    assert_int_equal(stuck_beside(early, raw_command("SET NX", FROM)), 0);
    assert_int_equal(stuck_beside(early, raw_command("DEL", FROM)), 0);
}

/* ---- thousands of queues before one lock */

static uint64_t seed;

static int64_t pick(int64_t from, int64_t to) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return from + (int64_t)(seed % (uint64_t)(to - from + 1));
}

/* Customers come at random times and wait up to `wait` for a lock. Each sale holds it for
 * `hold`; the sale of number `stuck_at` never gives it back. Returns when the lock was given
 * back last. */
static int64_t queue_up(int64_t wait, int64_t hold, int stuck_at) {
    int64_t free_ns = 0, now = 1;

    ledger.initial = ledger.available = STOCK;
    for (int i = 0; i < ASKED; i++, now += pick(0, 2 * MS)) {
        const int64_t begun = free_ns > now ? free_ns : now;
        struct record *record;

        if (begun - now > wait || ledger.available == 0) {
            record = request(ledger.available == 0 ? RECORD_SOLD_OUT : RECORD_BUSY);
            record->received_ns = now + wait;
        } else {
            record = sell(ledger.available);
            record->received_ns = begun + hold;
            free_ns = (int)ledger.sale_count == stuck_at ? INT64_MAX : begun + hold;
        }
        if (record->outcome == RECORD_SOLD_OUT)
            record->received_ns = now + 1;
        record->sent_ns = record->planned_ns = now;
    }
    return free_ns;
}

static void begin_run(void) {
    recorder->count = recorder->ended = recorder->by_outcome[RECORD_BUSY] = 0;
    ledger = (struct ledger){.sales = sales, .orders = orders};
    judged.stuck_ns = AFTER;
}

static void test_a_lock_that_is_given_back_is_never_stuck(void **state) {
    int turned_away = 0;

    for (seed = 1; seed <= 2000; seed++) {
        const uint64_t own = seed;

        seed = own * UINT64_C(0x9e3779b97f4a7c15) | 1;
        begin_run();
        /* Some holds are longer than the bound: these sell at their end. */
        (void)queue_up(pick(0, 60 * MS), pick(1, 150 * MS), -1);
        judge();
        if (verdict.kind == VERDICT_VIOLATED)
            fail_msg("run %" PRIu64 ": %s", own, verdict.counterexample[0].line[0]);
        turned_away += recorder->by_outcome[RECORD_BUSY] > ASKED / 2;
        seed = own;
    }
    assert_in_range(turned_away, 1000, 2000);
}

static void test_a_lock_that_is_not_given_back_is_always_stuck(void **state) {
    int planted = 0;

    for (seed = 1; seed <= 2000; seed++) {
        const uint64_t own = seed;
        int64_t sold_ns = 0;

        seed = own * UINT64_C(0x9e3779b97f4a7c15) | 1;
        begin_run();
        if (queue_up(pick(0, 60 * MS), pick(1, 20 * MS), (int)pick(1, 20)) != INT64_MAX)
            fail_msg("run %" PRIu64 " did not come to its last sale", own);
        judge();
        for (size_t i = 0; i < recorder->ended; i++)
            if (number((int)i)->outcome == RECORD_SOLD && number((int)i)->received_ns > sold_ns)
                sold_ns = number((int)i)->received_ns;
        seed = own;
        if (sold_ns >= number(ASKED - 1)->sent_ns - AFTER ||
            number(ASKED - 1)->sent_ns - number(0)->sent_ns < 2 * AFTER)
            continue;
        planted++;
        assert_in_range(verdict.found[ANOMALY_STUCK].count, VERDICT_STUCK, ASKED);
    }
    assert_in_range(planted, 1500, 2000);
}

static void test_a_server_down_since_an_earlier_round_is_not_stuck(void **state) {
    get_stuck(0, RECORD_BUSY);
    judged.is_down = true;
    assert_int_equal(stuck(), 0);
    (void)recorder_instance(recorder, "inventory-1"); /* it sold something */
    assert_int_equal(stuck(), SPAN);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        JUDGED(test_a_server_down_since_an_earlier_round_is_not_stuck),
        JUDGED(test_a_customer_waits_until_it_is_told_busy),
        JUDGED(test_a_customer_with_a_unit_makes_no_attempt),
        JUDGED(test_the_time_of_a_server_that_is_down_does_not_count),
        JUDGED(test_no_lock_is_stuck_while_all_instances_are_down),
        JUDGED(test_an_instance_that_was_shot_may_have_been_the_only_one),
        JUDGED(test_a_target_that_answers_no_request_is_not_stuck),
        JUDGED(test_one_product_of_several_is_stuck),
        JUDGED(test_the_end_of_the_demand_is_in_the_picture),
        JUDGED(test_a_lock_that_others_kept_all_the_time_is_stuck),
        JUDGED(test_a_lock_that_changed_hands_in_the_span_is_not_stuck),
        JUDGED(test_waits_without_an_answer_do_not_hide_a_lock_that_others_kept),
        JUDGED(test_a_lock_that_was_won_and_given_back_in_the_span_is_not_stuck),
        JUDGED(test_a_key_that_was_set_or_deleted_in_the_span_is_not_stuck),
        JUDGED(test_a_lock_that_is_given_back_is_never_stuck),
        JUDGED(test_a_lock_that_is_not_given_back_is_always_stuck),
    };

    return scene_run_group(scenes, NULL, tests, sizeof tests / sizeof *tests);
}
