/* The recorder: short rounds in memory, long ones on disk, and what is read back. */
#include "record.h"

#include "fault.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

#define LONG (RECORD_MEMORY + 20000)

static struct recorder *recorder;
static size_t wanted;
static int sealed, sealed_errno;

static int tear_down(void **state) {
    (void)state;
    recorder_free(recorder);
    recorder = NULL;
    return 0;
}

/* Pairs end in the wrong order. */
static void record_all(void) {
    for (size_t i = 0; i < wanted; i += 2) {
        struct record first, second;

        recorder_begin(recorder, &first, (int64_t)i, NULL);
        recorder_begin(recorder, &second, (int64_t)i + 1, first.key);
        second.item = 7;
        recorder_unsent(recorder, &second);
        recorder_unsent(recorder, &first);
    }
    sealed = recorder_seal(recorder);
    sealed_errno = errno;
}

static void run(size_t count) {
    wanted = count;
    recorder = recorder_make_long(count, NULL);
    assert_non_null(recorder);
    record_all();
}

static void assert_record(const struct record *record, size_t number) {
    assert_int_equal(record->number, number);
    assert_int_equal(record->planned_ns, number);
    assert_int_equal(record->item, number % 2 == 1 ? 7 : 0);
    assert_int_equal(record->is_repeat, number % 2 == 1);
    assert_int_equal(record->outcome, RECORD_UNSENT);
}

static void test_a_short_round_is_read_by_number(void **state) {
    (void)state;
    run(1000);
    assert_int_equal(sealed, 0);
    assert_non_null(recorder->room);
    assert_int_equal(recorder->ended, 1000);
    for (size_t i = 0; i < 1000; i++)
        assert_record(&recorder->records[i], i);
    assert_string_equal(recorder->records[0].key, recorder->records[1].key);
    assert_string_not_equal(recorder->records[0].key, recorder->records[2].key);
}

static void test_a_long_round_is_read_as_it_ended(void **state) {
    (void)state;
    run(LONG);
    assert_int_equal(sealed, 0);
    assert_null(recorder->room);
    assert_int_equal(recorder->count, LONG);
    assert_int_equal(recorder->ended, LONG);
    assert_int_equal(recorder->by_outcome[RECORD_UNSENT], LONG);
    for (size_t i = 0; i < LONG; i += 2) {
        assert_record(&recorder->records[i], i + 1);
        assert_record(&recorder->records[i + 1], i);
    }
    recorder_forget(recorder);
    assert_null(recorder->records);
    assert_int_equal(recorder->by_outcome[RECORD_UNSENT], LONG);
}

static void test_records_lost_to_a_full_disk_are_told(void **state) {
    struct rlimit before, small;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 5000000;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    run(LONG);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(sealed, -1);
    assert_int_equal(sealed_errno, EFBIG);
    assert_null(recorder->records);
}

static void test_a_long_round_needs_a_place(void **state) {
    (void)state;
    errno = 0;
    assert_null(recorder_make_long(LONG, "/nowhere/at/all"));
    assert_int_equal(errno, ENOENT);
}

/* Names that are alike up to what there is room for are one. */
static void test_instances_are_told_apart_by_what_is_kept(void **state) {
    char name[64];

    (void)state;
    recorder = recorder_make(1);
    assert_non_null(recorder);
    assert_int_equal(recorder_instance(recorder, ""), -1);
    for (int i = 0; i < 3; i++)
        assert_int_equal(
            recorder_instance(recorder, "a-pod-whose-name-is-far-too-long-for-its-room"), 0);
    assert_string_equal(recorder->instances[0], "a-pod-whose-name-is-far-too-lon");
    for (int i = 1; i < RECORD_INSTANCES; i++) {
        snprintf(name, sizeof name, "inventory-%d", i);
        assert_int_equal(recorder_instance(recorder, name), i);
    }
    assert_int_equal(recorder_instance(recorder, "one too many"), -1);
    assert_int_equal(recorder_instance(recorder, "inventory-7"), 7);
    assert_int_equal(recorder->instance_count, RECORD_INSTANCES);
}

/* As a history tells them, whatever their numbers are. */
static void test_added_records_are_read_in_their_order(void **state) {
    static const uint32_t numbers[] = {4, 0, 4000000000};
    struct record record = {.outcome = RECORD_SOLD, .status = 201, .sent_ns = 5, .received_ns = 9};

    (void)state;
    recorder = recorder_make(3);
    assert_non_null(recorder);
    for (size_t i = 0; i < 3; i++) {
        record.number = numbers[i];
        record.is_repeat = i == 2;
        recorder_add(recorder, &record);
    }
    assert_int_equal(recorder_seal(recorder), 0);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(recorder->records[i].number, numbers[i]);
    assert_int_equal(recorder->count, 3);
    assert_int_equal(recorder->answered, 3);
    assert_int_equal(recorder->by_outcome[RECORD_SOLD], 3);
    assert_int_equal(recorder->sold_again, 1);
    assert_int_equal(recorder->last_ns, 9);
    assert_int_equal(recorder->service.max, 4);
}

static void make_and_free(void *arg) {
    recorder_free(recorder_make_long(*(size_t *)arg, NULL));
}

static void test_no_memory_for_a_recorder_is_told(void **state) {
    size_t counts[] = {10, LONG};

    (void)state;
    fault_each_allocation(make_and_free, &counts[0]);
    fault_each_allocation(make_and_free, &counts[1]);
}

#define RECORDED(test) cmocka_unit_test_teardown(test, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        RECORDED(test_a_short_round_is_read_by_number),
        RECORDED(test_a_long_round_is_read_as_it_ended),
        RECORDED(test_records_lost_to_a_full_disk_are_told),
        RECORDED(test_a_long_round_needs_a_place),
        RECORDED(test_instances_are_told_apart_by_what_is_kept),
        RECORDED(test_added_records_are_read_in_their_order),
        RECORDED(test_no_memory_for_a_recorder_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
