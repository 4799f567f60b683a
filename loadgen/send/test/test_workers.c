/* Workers in processes of their own, with a server in this process. */
#include "test.h"
#include "workers.h"

#include "sender_fixture.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORKERS 3

static struct workers workers;
static int rounds;

static void make_recorder(void) {
    recorder_free(sending.recorder);
    sending.recorder = share_make(sending.plan.count, 1, WORKERS, NULL);
    assert_non_null(sending.recorder);
    sending.sender.recorder = sending.recorder;
}

/* A long round: half of its plan is not due yet when something ends it. */
static const bool is_long = true;

/* The workers get the plan at their start. */
static int set_up(void **state) {
    int rc = sending_set_up(state);
    struct plan_shape shape = sending_shape(300, 1000);

    shape.dup_rate = 0.1;
    sending.sender.connections =
        300; /* a connection for each request, in case the server stands still */
    assert_int_equal(plan_make(&sending.plan, &shape), 0);
    for (size_t i = 150; *state == &is_long && i < 300; i++)
        sending.plan.arrivals[i].due_ns = INT64_C(30000000000);
    workers = (struct workers){.count = 0};
    assert_int_equal(workers_open(&workers, WORKERS, &sending.sender, false), 0);
    rounds = 1;
    return rc;
}

static int tear_down(void **state) {
    workers_close(&workers);
    return sending_tear_down(state);
}

static void send_rounds(void *arg) {
    (void)arg;
    for (int i = 0; i < rounds; i++) {
        make_recorder();
        sending.result = workers_send(&workers, &sending.sender);
    }
    uv_close((uv_handle_t *)&sending.stopper, NULL);
    sending_close_server();
}

static void run(void) {
    assert_int_equal(fiber_start(send_rounds, NULL), 0);
    assert_int_equal(uv_run(&sending.loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(workers.open_handles, 0);
}

static void test_together_they_send_the_plan_once(void **state) {
    rounds = 2;
    run();
    assert_int_equal(sending.result, 0);
    assert_string_equal(workers.why.text, "");
    assert_int_equal(sending.served, 2 * sending.plan.count);
    assert_int_equal(sending.recorder->count, sending.plan.count);
    sending_assert_outcomes(RECORD_SOLD, sending.plan.count);
    assert_int_equal(sending.recorder->latency.count, sending.plan.count);
    for (size_t i = 0; i < sending.plan.count; i++) {
        const struct record *record = &sending.recorder->records[i];
        const struct arrival *arrival = &sending.plan.arrivals[i];

        assert_int_equal(record->number, i);
        assert_int_equal(record->planned_ns, arrival->due_ns);
        assert_true(record->sent_ns >= record->planned_ns);
        assert_true(record->received_ns >= record->sent_ns);
        assert_string_equal(record_key(record),
                            record_key(&sending.recorder->records[arrival->repeats]));
        assert_string_equal(record_order_id(record), record_key(record));
    }
}

static void on_stop(uv_timer_t *timer) {
    (void)timer;
    workers_stop(&workers, 1);
}

static void answer_never(struct http_exchange *exchange, void *data) {
    if (sending.served++ < 50) {
        sending.served--;
        sending_sell(exchange, data);
        return;
    }
    assert_int_equal(uv_timer_start(&sending.stopper, on_stop, 0, 0), 0);
    fiber_sleep(&sending.loop, 300);
    http_reply_json(exchange, 409, json_object());
}

static void test_a_stop_ends_all_of_them(void **state) {
    sending.answer = answer_never;
    run();
    assert_int_equal(sending.result, 0);
    assert_string_equal(workers.why.text, "");
    assert_true(sending.recorder->count > 0 && sending.recorder->count < sending.plan.count);
    assert_int_equal(sending.recorder->ended, sending.recorder->count);
    assert_true(sending.recorder->by_outcome[RECORD_UNKNOWN] > 0);
}

static void on_kill(uv_timer_t *timer) {
    (void)timer;
    assert_int_equal(kill(workers.seats[1].pid, SIGKILL), 0);
}

static void kill_one(struct http_exchange *exchange, void *data) {
    if (sending.served == 50)
        assert_int_equal(uv_timer_start(&sending.stopper, on_kill, 0, 0), 0);
    sending_sell(exchange, data);
}

static void test_the_death_of_one_ends_the_round_and_is_told(void **state) {
    sending.answer = kill_one;
    run();
    assert_int_equal(sending.result, 0);
    assert_string_equal(workers.why.text, "worker 2 of 3 was killed by signal 9");
    assert_true(sending.recorder->count < sending.plan.count);
    assert_int_equal(sending.recorder->ended, sending.recorder->count);
}

static void test_one_that_is_dead_before_the_round_is_told(void **state) {
    on_kill(NULL);
    run();
    assert_string_equal(workers.why.text, "worker 2 of 3 was killed by signal 9");
    assert_int_equal(sending.served, 0);
    assert_int_equal(sending.recorder->count, 0);
}

/* Their parent process ends without a message to them. */
static void test_they_end_with_their_parent(void **state) {
    struct workers orphans = {.count = 0};
    int ends[2];
    char byte;
    pid_t parent;

    assert_int_equal(pipe(ends), 0);
    parent = fork();
    assert_true(parent >= 0);
    if (parent == 0) {
        (void)close(ends[0]);
        if (workers_open(&orphans, 2, &sending.sender, false) != 0)
            _exit(1);
        (void)raise(SIGKILL);
    }
    (void)close(ends[1]);
    assert_int_equal(waitpid(parent, NULL, 0), parent);
    assert_int_equal(read(ends[0], &byte, 1), 0); /* all processes with the other end are gone */
    (void)close(ends[0]);
    make_recorder();
    run();
}

#define WORKED(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
#define WORKED_LONG(test)                                                                          \
    cmocka_unit_test_prestate_setup_teardown(test, set_up, tear_down, (void *)(uintptr_t)&is_long)

int main(void) {
    const struct CMUnitTest tests[] = {
        WORKED(test_together_they_send_the_plan_once),
        WORKED_LONG(test_a_stop_ends_all_of_them),
        WORKED_LONG(test_the_death_of_one_ends_the_round_and_is_told),
        WORKED(test_one_that_is_dead_before_the_round_is_told),
        WORKED(test_they_end_with_their_parent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
