/* The open loop against a server in this process. Each request is sent once and on time, however
 * the answers come. Sending may end by a stop at any moment, without room, without a target, or
 * before it starts. */
#include "sender_fixture.h"
#include "test.h"

#include "clock.h"
#include "fault.h"
#include "fiber.h"
#include "http_client.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

static void test_each_request_is_sent_once_and_recorded(void **state) {
    sending_plan_requests(200, 2000);
    sending_run();
    assert_int_equal(sending.result, 0);
    assert_int_equal(sending.served, 200);
    assert_int_equal(sending.recorder->count, 200);
    assert_int_equal(sending.recorder->answered, 200);
    sending_assert_outcomes(RECORD_SOLD, 200);
    for (size_t i = 0; i < 200; i++) {
        const struct record *record = &sending.recorder->records[i];

        assert_int_equal(record->unit, 7);
        assert_int_equal(record->status, 201);
        assert_string_equal(record_order_id(record), record_key(record));
        assert_int_equal(record->planned_ns, sending.plan.arrivals[record->number].due_ns);
        assert_true(record->sent_ns >= record->planned_ns);
        assert_true(record->received_ns > record->sent_ns);
        assert_true(i == 0 ||
                    strcmp(record_key(record), record_key(&sending.recorder->records[i - 1])) != 0);
    }
}

static void sell_when_all_have_come(struct http_exchange *exchange, void *data) {
    for (sending.serving++; sending.serving < 50;)
        fiber_sleep(&sending.loop, 1);
    sending_sell(exchange, data);
}

/* If a request waited for an answer, the answer would time out and be unknown. */
static void test_late_answers_delay_no_request(void **state) {
    sending_plan_requests(50, 1000);
    sending.answer = sell_when_all_have_come;
    sending_run();
    sending_assert_outcomes(RECORD_SOLD, 50);
    for (size_t i = 0; i < 50; i++)
        assert_true(sending.recorder->records[49].sent_ns <
                    sending.recorder->records[i].received_ns);
}

/* The unit is the last digit of the product's id. */
static void sell_item(struct http_exchange *exchange, void *data) {
    size_t length;
    const char *body = http_body(exchange, &length);

    (void)data;
    sending.served++;
    assert_int_equal(length, strlen(SENDING_BODY));
    http_reply_json(exchange, 201,
                    json_pack("{s:s, s:i}", "order_id", http_header(exchange, "Idempotency-Key"),
                              "unit", body[length - 3] - '0'));
}

static void test_each_arrival_asks_for_its_product(void **state) {
    struct plan_shape shape = sending_shape(200, 2000);
    size_t asked[3] = {0};

    sending.answer = sell_item;
    sending.sender.items = 3;
    shape.items = 3;
    sending_plan_shape(&shape);
    sending_run();
    sending_assert_outcomes(RECORD_SOLD, 200);
    for (size_t i = 0; i < 200; i++) {
        const struct record *record = &sending.recorder->records[i];

        assert_int_equal(record->item, sending.plan.arrivals[record->number].item);
        assert_int_equal(record->unit, record->item + 1);
        asked[record->item]++;
    }
    assert_true(asked[0] > 0 && asked[1] > 0 && asked[2] > 0);
}

#define NAMED(n) "0190b2a8-7f00-7000-8000-00000000000" #n

/* A sale and three refusals with order ids, one refusal without, and a lost reply. */
static void answer_without_a_key(struct http_exchange *exchange, void *data) {
    static const char *const replies[] = {
        "{\"order_id\":\"" NAMED(0) "\",\"unit\":7}", "{\"order_id\":\"" NAMED(1) "\"}",
        "{\"error\":\"busy\",\"order_id\":\"" NAMED(2) "\"}", "{\"order_id\":\"" NAMED(3) "\"}",
        "{\"order_id\":\"4\"}"};
    static const int statuses[] = {201, 409, 503, 504, 503};
    unsigned n = sending.served++;

    (void)data;
    assert_null(http_header(exchange, "Idempotency-Key"));
    assert_string_equal(http_header(exchange, "Content-Type"), "application/json");
    if (n < 5)
        http_reply(exchange, statuses[n], "application/json", replies[n], strlen(replies[n]));
    else
        http_reply_drop(exchange);
}

static void test_without_keys_the_orders_are_learned_from_the_replies(void **state) {
    static const char *const keys[] = {NAMED(0), NAMED(1), NAMED(2), NAMED(3)};

    sending.answer = answer_without_a_key;
    sending.sender.is_keyless = true;
    sending.sender.max_in_flight = 1; /* so that they arrive in order */
    sending_plan_requests(6, 100);
    sending_run();
    for (size_t i = 0; i < 6; i++) {
        const struct record *record = sending_record(i);

        assert_int_equal(record_is_nameless(record), i >= 4);
        if (i < 4)
            assert_string_equal(record_key(record), keys[i]);
        assert_string_equal(record_order_id(record), i == 0 ? NAMED(0) : "");
    }
    assert_string_not_equal(record_key(sending_record(4)), record_key(sending_record(5)));
    sending_assert_outcomes(RECORD_SOLD, 1);
    sending_assert_outcomes(RECORD_UNKNOWN, 2);
}

static void test_a_repeat_sends_the_key_again(void **state) {
    struct plan_shape shape = sending_shape(500, 5000);
    size_t repeats = 0;

    shape.dup_rate = 0.3;
    sending_plan_shape(&shape);
    sending.sender.connections = 500; /* on a slow machine no request stays unsent, either */
    sending_run();
    sending_assert_outcomes(RECORD_SOLD, sending.plan.count);
    for (size_t i = 0; i < sending.plan.count; i++) {
        size_t first = sending.plan.arrivals[i].repeats;

        assert_int_equal(sending_record(i)->is_repeat, first != i);
        if (first == i)
            continue;
        repeats++;
        assert_string_equal(record_key(sending_record(i)), record_key(sending_record(first)));
        assert_true(sending_record(i)->sent_ns >= sending_record(first)->sent_ns);
    }
    assert_int_equal(repeats, sending.plan.count - 500);
    assert_true(repeats > 100);
}

static void test_arrivals_beyond_the_limit_are_launched_late_in_order(void **state) {
    sending_plan_requests(30, 1000);
    sending.sender.max_in_flight = 5;
    sending.answer_ms = 20;
    sending_run();
    sending_assert_outcomes(RECORD_SOLD, 30);
    assert_true(sending.most_serving <= 5);
    assert_true(sending.recorder->late_launches > 0 && sending.recorder->late_launches <= 25);
    assert_true(sending.recorder->lateness.max > 20000000); /* six lots of 20 ms, in 30 ms */
    for (size_t i = 1; i < 30; i++)
        assert_true(sending_record(i)->sent_ns >= sending_record(i - 1)->sent_ns);
}

/* The last request becomes due long after the answers of all held ones. */
static void test_after_the_limit_sending_is_on_time_again(void **state) {
    sending_plan_requests(9, 10000);
    sending.plan.arrivals[8].due_ns = 2000000000;
    sending.sender.max_in_flight = 2;
    sending.answer_ms = 20;
    sending_run();
    sending_assert_outcomes(RECORD_SOLD, 9);
    assert_in_range(sending.recorder->late_launches, 1, 6);
    assert_true(sending_record(8)->sent_ns >= sending_record(8)->planned_ns);
}

static void on_turn(uv_check_t *check) {
    ++*(size_t *)check->data;
}

static void test_between_planned_moments_the_loop_sleeps(void **state) {
    size_t turns = 0;
    uv_check_t check = {.data = &turns};

    sending_plan_requests(2, 10000);
    sending.plan.arrivals[1].due_ns = 1000000000;
    assert_int_equal(uv_check_init(&sending.loop, &check), 0);
    assert_int_equal(uv_check_start(&check, on_turn), 0);
    uv_unref((uv_handle_t *)&check);
    sending_run();
    uv_close((uv_handle_t *)&check, NULL);
    assert_int_equal(uv_run(&sending.loop, UV_RUN_DEFAULT), 0);
    sending_assert_outcomes(RECORD_SOLD, 2);
    assert_in_range(turns, 1, 5000);
}

/* Each repeat is due right after its original, which may still be held. */
static void test_a_repeat_waits_for_its_first_at_the_limit(void **state) {
    struct plan_shape shape = sending_shape(15, 1000);

    shape.dup_rate = 1;
    sending_plan_shape(&shape);
    for (size_t i = 0; i < sending.plan.count; i++)
        sending.plan.arrivals[i].due_ns /= 100;
    sending.sender.max_in_flight = 2;
    sending.answer_ms = 5;
    sending_run();
    sending_assert_outcomes(RECORD_SOLD, 30);
    assert_int_equal(sending.recorder->sold_again, 15);
    for (size_t i = 0; i < 30; i++)
        assert_true(sending_record(i)->sent_ns >=
                    sending_record(sending.plan.arrivals[i].repeats)->sent_ns);
}

static size_t most_in_flight(void) {
    size_t most = 0;

    for (size_t i = 0; i < sending.recorder->count; i++) {
        size_t in_flight = 0;

        for (size_t j = 0; j < sending.recorder->count; j++)
            in_flight += sending_record(j)->sent_ns <= sending_record(i)->sent_ns &&
                         sending_record(j)->received_ns > sending_record(i)->sent_ns;
        most = in_flight > most ? in_flight : most;
    }
    return most;
}

/* A connection that waits for its accept answers nothing, for any number of turns. */
static int64_t start_when_all_are_accepted(void *data) {
    struct http_server_stats stats;

    (void)data;
    for (http_server_stats(sending.server, &stats); stats.connections < 300;
         http_server_stats(sending.server, &stats))
        fiber_sleep(&sending.loop, 1);
    return clock_now_ns() + SENDER_LEAD_NS;
}

/* All are due at once, and the server answers in the next turn of the loop. With 16 more requests
 * in each turn about 100 would be in flight in the end, with one more about 30. */
static void test_who_is_behind_has_few_in_flight(void **state) {
    sending_plan_requests(300, 100000000);
    sending.sender.connections = 300;
    sending.sender.choose_start = start_when_all_are_accepted;
    sending_run();
    sending_assert_outcomes(RECORD_SOLD, 300);
    assert_in_range(most_in_flight(), 16, 64);
}

/* ---- the end of sending */

/* Answered requests are sold; later ones found no server. */
static void sell_some_and_close(struct http_exchange *exchange, void *data) {
    if (sending.served == 20)
        sending_close_server();
    sending_sell(exchange, data);
}

static void test_a_target_may_die_in_the_middle(void **state) {
    sending.answer = sell_some_and_close;
    sending_plan_requests(400, 2000);
    sending_run();
    assert_int_equal(sending.result, 0);
    assert_int_equal(sending.recorder->ended, 400);
    assert_true(sending.recorder->by_outcome[RECORD_SOLD] >= 20);
    assert_true(sending.recorder->by_outcome[RECORD_UNREACHED] > 0);
    assert_int_equal(sending.recorder->by_outcome[RECORD_SOLD] +
                         sending.recorder->by_outcome[RECORD_UNREACHED] +
                         sending.recorder->by_outcome[RECORD_UNKNOWN],
                     400);
    for (size_t i = 0; i < 400; i++)
        assert_int_equal(sending.recorder->records[i].sent_ns == 0,
                         sending.recorder->records[i].outcome == RECORD_UNREACHED);
}

static void test_room_that_comes_back_is_used(void **state) {
    sending.sender.connections = 1;
    sending.answer_ms = 50;
    sending_plan_requests(9, 10000);
    sending.plan.arrivals[8].due_ns = 2000000000;
    sending_run();
    sending_assert_outcomes(RECORD_UNSENT, 6);
    sending_assert_outcomes(RECORD_SOLD, 3);
    assert_int_equal(sending.recorder->records[8].outcome, RECORD_SOLD);
}

static uint64_t grace_ms;

static void on_stop(uv_timer_t *timer) {
    (void)timer;
    sender_stop(&sending.sender, grace_ms);
    sender_stop(&sending.sender, grace_ms);
}

/* The stop comes when the server has this many requests, so no request is on its way. */
static unsigned stop_at;

static void sell_and_stop(struct http_exchange *exchange, void *data) {
    if (sending.served + 1 == stop_at)
        assert_int_equal(uv_timer_start(&sending.stopper, on_stop, 0, 0), 0);
    sending_sell(exchange, data);
}

static void on_late_stop(uv_timer_t *timer) {
    while (clock_now_ns() <= sending.recorder->start_ns + sending.plan.arrivals[1].due_ns)
        continue;
    on_stop(timer);
}

static void sell_and_stop_late(struct http_exchange *exchange, void *data) {
    if (sending.served == 0)
        assert_int_equal(uv_timer_start(&sending.stopper, on_late_stop, 0, 0), 0);
    sending_sell(exchange, data);
}

/* It could be sent, so it does not count as one without a connection. */
static void test_a_stop_sends_what_became_due_in_the_same_turn(void **state) {
    grace_ms = 20000;
    sending.answer = sell_and_stop_late;
    sending_plan_requests(3, 10);
    sending.plan.arrivals[2].due_ns = INT64_C(30000000000);
    sending_run();
    sending_assert_outcomes(RECORD_SOLD, 2);
    assert_int_equal(sending.recorder->count, 2);
}

static void test_a_process_without_files_is_told(void **state) {
    struct rlimit before, none;

    sending_plan_requests(10, 1000);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    sending_run();
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(sending.result, UV_EMFILE);
    assert_int_equal(sending.recorder->count, 0);
}

/* ---- scenes with different settings and different records */

static void refuse(struct http_exchange *exchange, void *data) {
    static const int statuses[] = {409, 503, 504, 422, 500, 502, 201};

    (void)data;
    http_reply(exchange, statuses[sending.served++ % 7], "text/plain", "what?", 5);
}

static void drop(struct http_exchange *exchange, void *data) {
    (void)data;
    http_reply_drop(exchange);
}

static uint64_t opened; /* connections at the first request */

static void note_opened(struct http_exchange *exchange, void *data) {
    struct http_client_stats stats;

    http_client_stats(sending.sender.client, &stats);
    if (sending.served == 0)
        opened = stats.opened;
    sending_sell(exchange, data);
}

struct scene {
    const char *name;
    size_t requests; /* at `rate` a second; the last `later` of them are due in half a minute */
    int64_t rate;
    size_t later;
    http_handler answer; /* NULL: a sale after `answer_ms` */
    int64_t answer_ms, timeout_ms;
    unsigned connections;
    size_t max_in_flight;
    const char *host; /* 0 or NULL: the server's own */
    int port;
    enum { STOP_NEVER, STOP_BEFORE, STOP_BY_TIMER } stop;
    unsigned stop_ms, stop_at, grace_ms;
    int result;
    size_t outcomes[RECORD_OUTCOME_COUNT];
    size_t answered,
        samples; /* number of replies and of response times, and the least response time */
    int64_t least_ns;
    uint64_t opened; /* when the server notes it */
};

static const struct scene scenes[] = {
    {"test_answers_have_their_outcomes", 70, 2000, .answer = refuse,
     .outcomes = {[RECORD_SOLD_OUT] = 10,
                  [RECORD_BUSY] = 10,
                  [RECORD_UNKNOWN] = 20,
                  [RECORD_REFUSED] = 10,
                  [RECORD_FAILED] = 10,
                  [RECORD_SOLD] = 10},
     .answered = 70, .samples = 70},
    {"test_connections_are_open_for_all_that_come_within_50_ms", 30, 200, .answer = note_opened,
     .connections = 100, .opened = 11, .outcomes[RECORD_SOLD] = 30, .answered = 30, .samples = 30},
    /* These have room: two per connection. */
    {"test_connections_are_open_that_are_allowed", 8, 200, .answer = note_opened, .connections = 4,
     .opened = 4, .outcomes[RECORD_SOLD] = 8, .answered = 8, .samples = 8},
    {"test_connections_are_open_that_may_be_in_flight", 30, 200, .answer = note_opened,
     .connections = 100, .max_in_flight = 3, .opened = 3, .outcomes[RECORD_SOLD] = 30,
     .answered = 30, .samples = 30},
    {"test_dropped_replies_are_unknown", 20, 2000, .answer = drop, .outcomes[RECORD_UNKNOWN] = 20,
     .samples = 20},
    {"test_a_limit_that_is_not_reached_delays_nothing", 30, 1000, .max_in_flight = 30,
     .answer_ms = 50, .outcomes[RECORD_SOLD] = 30, .answered = 30, .samples = 30},
    {"test_an_empty_plan_sends_nothing", 0, 100, .later = 0},
    {"test_lost_replies_are_samples_of_the_timeout", 10, 2000, .answer_ms = 1000, .timeout_ms = 50,
     .outcomes[RECORD_UNKNOWN] = 10, .samples = 10, .least_ns = 49000000},
    {"test_a_dead_target_is_recorded", 20, 2000, .port = 1, .outcomes[RECORD_UNREACHED] = 20},
    /* Two may be in flight and two may wait; the others find no room. */
    {"test_requests_without_room_are_unsent", 10, 10000, .connections = 2, .answer_ms = 300,
     .outcomes = {[RECORD_UNSENT] = 6, [RECORD_SOLD] = 4}, .answered = 4, .samples = 4},
    {"test_one_arrival_is_a_run", 1, 1, .outcomes[RECORD_SOLD] = 1, .answered = 1, .samples = 1},
    {"test_a_stop_gives_up_what_is_under_way", 20, 1000, .later = 10, .answer_ms = 1000,
     .stop_at = 10, .grace_ms = 20, .outcomes[RECORD_UNKNOWN] = 10, .samples = 10},
    {"test_a_stop_before_the_first_request_sends_none", 100, 100, .stop = STOP_BY_TIMER,
     .grace_ms = 20},
    {"test_a_stop_before_the_run_sends_none", 100, 100, .stop = STOP_BEFORE, .grace_ms = 20},
    /* By then it waits for the first planned moment. */
    {"test_a_stop_before_the_first_moment_sends_none", 1, 1, .later = 1, .stop = STOP_BY_TIMER,
     .stop_ms = 300, .grace_ms = 20},
    {"test_a_stop_lets_answers_come_within_its_grace", 10, 1000, .later = 5, .answer_ms = 600,
     .stop_at = 5, .grace_ms = 20000, .outcomes[RECORD_SOLD] = 5, .answered = 5, .samples = 5},
    {"test_a_stop_gives_up_the_last_answers", 5, 1000, .answer_ms = 1000, .stop_at = 5,
     .grace_ms = 20, .outcomes[RECORD_UNKNOWN] = 5, .samples = 5},
    {"test_a_stop_leaves_what_waits_at_the_limit_unsent", 20, 1000, .later = 10, .answer_ms = 1000,
     .max_in_flight = 5, .stop_at = 5, .grace_ms = 20,
     .outcomes = {[RECORD_UNKNOWN] = 5, [RECORD_UNSENT] = 5}, .samples = 5},
    {"test_a_host_that_is_none_is_told", 10, 1000, .host = "no host at all", .result = UV_EINVAL}};

#define SCENES (sizeof scenes / sizeof scenes[0])

static void set_scene(const struct scene *scene) {
    struct sender *sender = &sending.sender;

    sending.answer = scene->answer != NULL ? scene->answer : sell_and_stop;
    sending.answer_ms = scene->answer_ms;
    opened = 0;
    stop_at = scene->stop_at;
    grace_ms = scene->grace_ms;
    sender->timeout_ms = scene->timeout_ms > 0 ? scene->timeout_ms : sender->timeout_ms;
    sender->connections = scene->connections > 0 ? scene->connections : sender->connections;
    sender->max_in_flight = scene->max_in_flight;
    sender->host = scene->host != NULL ? scene->host : sender->host;
    sender->port = scene->port > 0 ? scene->port : sender->port;
    sending_plan_requests(scene->requests, scene->rate);
    for (size_t i = 0; scene->later > 0 && i < scene->requests; i++)
        sending.plan.arrivals[i].due_ns =
            i < scene->requests - scene->later ? 0 : INT64_C(30000000000);
}

static void test_scene(void **state) {
    const struct scene *scene = *state;
    const int64_t sold_unit = scene->answer == refuse ? -1 : 7;
    size_t count = 0;

    set_scene(scene);
    if (scene->stop == STOP_BEFORE)
        sender_stop(&sending.sender, grace_ms);
    if (scene->stop == STOP_BY_TIMER)
        assert_int_equal(uv_timer_start(&sending.stopper, on_stop, scene->stop_ms, 0), 0);
    sending_run();
    if (scene->stop == STOP_BEFORE)
        sender_stop(&sending.sender, grace_ms);
    assert_int_equal(sending.result, scene->result);
    for (enum record_outcome i = 0; i < RECORD_OUTCOME_COUNT; i++) {
        sending_assert_outcomes(i, scene->outcomes[i]);
        count += scene->outcomes[i];
    }
    assert_int_equal(sending.recorder->count, count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(sending.recorder->records[i].unit,
                         sending.recorder->records[i].outcome == RECORD_SOLD ? sold_unit : -1);
    assert_int_equal(opened, scene->opened);
    assert_true(count > 0 || sending.served == 0);
    assert_int_equal(sending.recorder->answered, scene->answered);
    assert_int_equal(sending.recorder->latency.count, scene->samples);
    assert_true(scene->least_ns == 0 || sending.recorder->latency.min >= scene->least_ns);
    assert_true(scene->max_in_flight < scene->requests || sending.recorder->late_launches == 0);
}

static void send_afresh(void *fresh) {
    sending.sender = *(const struct sender *)fresh;
    sending.recorder->count = sending.recorder->ended = 0;
    if (fiber_start(sending_send_all, NULL) != 0)
        return;
    assert_int_equal(uv_run(&sending.loop, UV_RUN_DEFAULT), 0);
    assert_true(sending.result == 0 || sending.result == UV_ENOMEM);
    assert_int_equal(sending.recorder->ended, sending.result == 0 ? 3 : 0);
}

/* Without a server: its allocations would count, too. */
static void test_no_memory_is_told_or_survived(void **state) {
    struct sender fresh;

    uv_close((uv_handle_t *)&sending.stopper, NULL);
    sending_close_server();
    assert_int_equal(uv_run(&sending.loop, UV_RUN_DEFAULT), 0);
    sending_plan_requests(3, 1000);
    sending.sender.port = 1;
    sending.sender.timeout_ms = 1000;
    sending.sender.connections = 2;
    fresh = sending.sender;
    fault_each_allocation(send_afresh, &fresh);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        SENT(test_each_request_is_sent_once_and_recorded),
        SENT(test_late_answers_delay_no_request),
        SENT(test_each_arrival_asks_for_its_product),
        SENT(test_without_keys_the_orders_are_learned_from_the_replies),
        SENT(test_a_repeat_sends_the_key_again),
        SENT(test_arrivals_beyond_the_limit_are_launched_late_in_order),
        SENT(test_after_the_limit_sending_is_on_time_again),
        SENT(test_between_planned_moments_the_loop_sleeps),
        SENT(test_a_repeat_waits_for_its_first_at_the_limit),
        SENT(test_who_is_behind_has_few_in_flight),
        SENT(test_a_target_may_die_in_the_middle),
        SENT(test_room_that_comes_back_is_used),
        SENT(test_a_stop_sends_what_became_due_in_the_same_turn),
        SENT(test_a_process_without_files_is_told),
        SENT(test_no_memory_is_told_or_survived),
    };
    struct CMUnitTest each_scene[SCENES];

    for (size_t i = 0; i < SCENES; i++)
        each_scene[i] = (struct CMUnitTest){scenes[i].name, test_scene, sending_set_up,
                                            sending_tear_down, (void *)(uintptr_t)&scenes[i]};
    return cmocka_run_group_tests(tests, NULL, NULL) +
           cmocka_run_group_tests(each_scene, NULL, NULL);
}
