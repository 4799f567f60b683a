/* Batches of calls: which calls go together, in which order, and which are turned away. */
#include "batcher.h"
#include "test.h"

#include "clock.h"
#include "fiber.h"

#define CALLERS 16

struct caller {
    struct batcher_call call;
    char name;
    int64_t deadline_ms;
    bool goes_again; /* once, as soon as it returns */
    int back, refused;
};

/* A log of events: "(ab" a batch goes, ")" it is back, a capital is a caller that is back. */
struct fixture {
    struct batcher batcher;
    struct caller callers[CALLERS];
    unsigned started, under_way;
    struct fiber_event *gates[CALLERS]; /* of the batches that are under way */
    char log[256];
    size_t logged;
};

static struct fixture fixture;

static void note(char letter) {
    assert_true(fixture.logged < sizeof fixture.log - 1);
    fixture.log[fixture.logged++] = letter;
    fixture.log[fixture.logged] = '\0';
}

static void run(void *data, const struct batcher_calls *batch, unsigned count) {
    struct fiber_event gate = FIBER_EVENT_INIT;
    struct batcher_call *call;
    unsigned counted = 0;

    note('(');
    TAILQ_FOREACH (call, batch, entry) {
        note(((struct caller *)call)->name);
        counted++;
    }
    assert_int_equal(counted, count);
    fixture.gates[fixture.under_way++] = &gate;
    fiber_event_wait(&gate);
    note(')');
}

static void call_in_fiber(void *arg) {
    struct caller *caller = arg;

    do {
        if (batcher_await(&fixture.batcher, &caller->call, caller->deadline_ms))
            caller->back++;
        else
            caller->refused++;
        note((char)(caller->name - 'a' + 'A'));
    } while (caller->goes_again && caller->back + caller->refused < 2);
}

static struct caller *start(int64_t deadline_ms, bool goes_again) {
    struct caller *caller = &fixture.callers[fixture.started];

    *caller = (struct caller){.name = (char)('a' + fixture.started++),
                              .deadline_ms = deadline_ms,
                              .goes_again = goes_again};
    assert_int_equal(fiber_start(call_in_fiber, caller), 0);
    return caller;
}

static void start_many(unsigned count) {
    for (unsigned i = 0; i < count; i++)
        (void)start(INT64_MAX, false);
}

/* The oldest batch under way is back. */
static void come_back(void) {
    struct fiber_event *gate = fixture.gates[0];

    assert_true(fixture.under_way > 0);
    fixture.under_way--;
    memmove(fixture.gates, fixture.gates + 1, fixture.under_way * sizeof *fixture.gates);
    fiber_event_set(gate);
}

static void open_fixture(unsigned lanes, unsigned most, unsigned limit) {
    fixture =
        (struct fixture){.batcher = {.lanes = lanes, .most = most, .limit = limit, .run = run}};
    batcher_init(&fixture.batcher);
}

static void expect_log(const char *log) {
    while (fixture.under_way > 0)
        come_back();
    assert_string_equal(fixture.log, log);
    assert_int_equal(fixture.batcher.running, 0);
    assert_int_equal(fixture.batcher.waiting, 0);
    fiber_cleanup();
}

static void test_who_comes_alone_goes_at_once(void **state) {
    open_fixture(1, 10, 10);
    for (int i = 0; i < 3; i++) {
        start_many(1);
        come_back();
    }
    expect_log("(a)A(b)B(c)C");
}

static void test_who_comes_meanwhile_goes_together_in_that_order(void **state) {
    open_fixture(1, 10, 10);
    start_many(4);
    come_back();
    start_many(2);
    /* The next batch goes before the callers of the last one run on. */
    expect_log("(a)(bcdA)(efCDB)FE");
}

static void test_a_batch_has_a_most(void **state) {
    open_fixture(1, 2, 10);
    start_many(6);
    expect_log("(a)(bcA)(deCB)(fED)F");
}

static void test_lanes_are_under_way_together(void **state) {
    open_fixture(2, 2, 10);
    start_many(5);
    assert_int_equal(fixture.under_way, 2);
    expect_log("(a(b)(cdA)(eB)DC)E");
}

static void test_too_many_are_turned_away(void **state) {
    open_fixture(1, 10, 2);
    start_many(4);
    assert_int_equal(fixture.callers[3].refused, 1);
    expect_log("(aD)(bcA)CB");
    assert_int_equal(fixture.callers[1].back + fixture.callers[2].back, 2);
}

static void test_who_is_late_is_turned_away_when_its_turn_comes(void **state) {
    open_fixture(1, 10, 10);
    start_many(1);
    (void)start(clock_now_ms(), false);
    start_many(1);
    (void)start(clock_now_ms(), false);
    expect_log("(a)(cBDA)C");
    assert_int_equal(fixture.callers[1].refused + fixture.callers[3].refused, 2);
    assert_int_equal(fixture.callers[2].back, 1);
}

static void test_all_may_be_late(void **state) {
    open_fixture(1, 10, 10);
    start_many(1);
    (void)start(clock_now_ms(), false);
    come_back();
    start_many(1); /* the lane is free */
    expect_log("(a)BA(c)C");
}

static void test_who_is_back_may_go_again_at_once(void **state) {
    open_fixture(1, 10, 10);
    (void)start(INT64_MAX, true);
    (void)start(INT64_MAX, true);
    (void)start(clock_now_ms(), true);
    expect_log("(a)(bCA)(aCB)(bA)B");
}

static void open_to_gather(unsigned calls, uint64_t ms) {
    open_fixture(1, 10, 10);
    fixture.batcher.enough = calls;
    fixture.batcher.gather_ms = ms;
    fixture.batcher.loop = uv_default_loop();
}

static void run_until_under_way(void) {
    while (fixture.under_way == 0)
        assert_true(uv_run(uv_default_loop(), UV_RUN_ONCE) >= 0);
}

static void test_a_batch_gathers_enough(void **state) {
    open_to_gather(3, 3600000);
    start_many(2);
    (void)uv_run(fixture.batcher.loop, UV_RUN_NOWAIT);
    assert_int_equal(fixture.under_way, 0);
    start_many(1);
    run_until_under_way();
    start_many(3); /* enough once the batch is back */
    expect_log("(abc)(defBCA)EFD");
}

static void test_a_batch_does_not_gather_for_ever(void **state) {
    open_to_gather(3, 1);
    start_many(2);
    run_until_under_way();
    start_many(1);
    come_back(); /* not enough again */
    run_until_under_way();
    fixture.batcher.enough = 1; /* and now it is */
    come_back();
    start_many(1);
    expect_log("(ab)BA(c)C(d)D");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_comes_alone_goes_at_once),
        cmocka_unit_test(test_who_comes_meanwhile_goes_together_in_that_order),
        cmocka_unit_test(test_a_batch_has_a_most),
        cmocka_unit_test(test_lanes_are_under_way_together),
        cmocka_unit_test(test_too_many_are_turned_away),
        cmocka_unit_test(test_who_is_late_is_turned_away_when_its_turn_comes),
        cmocka_unit_test(test_all_may_be_late),
        cmocka_unit_test(test_who_is_back_may_go_again_at_once),
        cmocka_unit_test(test_a_batch_gathers_enough),
        cmocka_unit_test(test_a_batch_does_not_gather_for_ever),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
