/* Records of several processes; here several recorders of one process write them. */
#include "share.h"
#include "test.h"

#include "answer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MS       INT64_C(1000000)
#define REQUESTS 1000

static struct plan plan;
static struct recorder *all, *workers[3];

static int set_up(void **state) {
    const struct plan_shape shape = {.count = REQUESTS,
                                     .stage_count = 1,
                                     .stages = {{1000 * MS, 1000, 1000}},
                                     .seed = 1,
                                     .items = 2,
                                     .dup_rate = 0.1};

    assert_int_equal(plan_make(&plan, &shape), 0);
    all = share_make(plan.count, 2, 3, NULL);
    assert_non_null(all);
    for (size_t i = 0; i < 3; i++) {
        workers[i] = share_join(dup(all->share->fd), plan.count, 2, 3, i);
        assert_non_null(workers[i]);
    }
    return 0;
}

static int tear_down(void **state) {
    for (size_t i = 0; i < 3; i++)
        recorder_free(workers[i]);
    recorder_free(all);
    plan_free(&plan);
    return 0;
}

static struct record *begin(struct recorder *recorder, size_t number) {
    return share_begin(recorder, &plan, number, false);
}

/* Ends the request with the answer of a server; the process does not matter. */
static void end(struct recorder *recorder, struct record *record) {
    char reply[128];
    struct http_call call = {.outcome = HTTP_CALL_ANSWERED,
                             .status = record->number % 7 == 0 ? 409 : 201,
                             .sent_ns = record->planned_ns + record->number,
                             .received_ns = record->planned_ns + record->number * 5000 + MS,
                             .reply = reply};

    snprintf(call.header, sizeof call.header, "wait;dur=%u.5, pg;desc=\"2\", redis;desc=\"1\"",
             record->number);
    call.reply_length = (size_t)snprintf(
        reply, sizeof reply, "{\"order_id\":\"%s\",\"unit\":%u,\"instance\":\"inventory-%u\"}",
        record_key(record), record->number, 1 + record->number % 2);
    answer_take(recorder, record, &call);
}

static struct recorder *owner_of(size_t number) {
    for (size_t i = 0; i < 3; i++)
        if (plan_is_own(&plan, number, 3, i))
            return workers[i];
    fail_msg("request %zu is nobody's", number);
    return NULL;
}

static void test_each_request_is_of_one_worker_and_repeats_of_the_same(void **state) {
    size_t repeats = 0, owners;

    for (size_t number = 0; number < plan.count; number++) {
        owners = 0;
        for (size_t i = 0; i < 3; i++)
            owners += plan_is_own(&plan, number, 3, i);
        assert_int_equal(owners, 1);
        assert_ptr_equal(owner_of(number), owner_of(plan.arrivals[number].repeats));
        repeats += plan.arrivals[number].repeats != number;
    }
    assert_true(repeats > 0);
}

static void assert_same_counts(const struct recorder *a, const struct recorder *b) {
    assert_int_equal(a->count, b->count);
    assert_int_equal(a->ended, b->ended);
    assert_memory_equal(a->by_outcome, b->by_outcome, sizeof a->by_outcome);
    assert_memory_equal(a->by_status, b->by_status, sizeof a->by_status);
    assert_int_equal(a->repeats, b->repeats);
    assert_int_equal(a->sold_again, b->sold_again);
    assert_int_equal(a->last_ns, b->last_ns);
    assert_int_equal(a->sold_ns, b->sold_ns);
    assert_int_equal(a->postgres, b->postgres);
    assert_int_equal(a->instance_count, b->instance_count);
    assert_memory_equal(&a->lateness, &b->lateness, sizeof a->lateness);
    assert_memory_equal(&a->latency, &b->latency, sizeof a->latency);
    assert_memory_equal(&a->service, &b->service, sizeof a->service);
    assert_memory_equal(&a->wait, &b->wait, sizeof a->wait);
}

static void test_counts_are_those_of_one_process(void **state) {
    struct recorder *one = recorder_make(plan.count);

    assert_non_null(one);
    for (size_t number = 0; number < plan.count; number++) {
        end(one, begin(one, number));
        end(owner_of(number), begin(owner_of(number), number));
        if (number % 100 == 0)
            share_collect(all);
    }
    assert_int_equal(share_settle(all, &plan, false, 0), 0);
    assert_same_counts(all, one);
    for (size_t number = 0; number < plan.count; number++) {
        const struct record *record = &all->records[number], *other = &one->records[number];

        assert_int_equal(record->number, number);
        assert_int_equal(record->planned_ns, other->planned_ns);
        assert_int_equal(record->item, other->item);
        assert_int_equal(record->outcome, other->outcome);
        assert_int_equal(record->is_repeat, other->is_repeat);
        if (record->instance >= 0)
            assert_string_equal(all->instances[record->instance], one->instances[other->instance]);
    }
    recorder_free(one);
}

static void test_what_has_not_ended_is_in_flight(void **state) {
    struct record *last;

    end(owner_of(0), begin(owner_of(0), 0));
    last = begin(owner_of(1), 1);
    share_collect(all);
    assert_int_equal(all->count, 2);
    assert_int_equal(all->ended, 1);
    end(owner_of(1), last);
    share_collect(all);
    assert_int_equal(all->ended, 2);
}

/* The begun requests of a dead worker are unknown. The others stop at about the same moment;
 * requests that were due until then are unsent. */
static void test_what_is_missing_is_unknown_or_unsent(void **state) {
    (void)begin(owner_of(0), 0);
    end(owner_of(4), begin(owner_of(4), 4));
    assert_int_equal(share_settle(all, &plan, false, 500 * MS), 0);
    assert_int_equal(all->count, 5);
    assert_int_equal(all->ended, 5);
    assert_int_equal(all->records[0].outcome, RECORD_UNKNOWN);
    assert_int_equal(all->records[0].received_ns, 500 * MS);
    assert_int_equal(all->records[4].outcome, RECORD_SOLD);
    assert_int_equal(all->by_outcome[RECORD_UNSENT], 3);
    for (size_t number = 1; number < 4; number++) {
        assert_int_equal(all->records[number].number, number);
        assert_int_equal(all->records[number].sent_ns, 0);
        assert_true(record_key(&all->records[number])[0] != '\0');
    }
}

static void test_a_round_that_never_began_has_no_requests(void **state) {
    assert_int_equal(share_settle(all, &plan, false, 0), 0);
    assert_int_equal(all->count, 0);
    assert_int_equal(all->ended, 0);
}

static void test_no_room_is_an_error(void **state) {
    assert_null(share_make(plan.count, 2, 3, "/nowhere"));
    assert_int_equal(errno, ENOENT);
}

#define SHARED(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        SHARED(test_each_request_is_of_one_worker_and_repeats_of_the_same),
        SHARED(test_counts_are_those_of_one_process),
        SHARED(test_what_has_not_ended_is_in_flight),
        SHARED(test_what_is_missing_is_unknown_or_unsent),
        SHARED(test_a_round_that_never_began_has_no_requests),
        SHARED(test_no_room_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
