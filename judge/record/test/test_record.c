/* The recorder: short rounds in memory, long ones on disk, and records that are read back. */
#include "record.h"
#include "test.h"

#include "fault.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#define LONG (RECORD_MEMORY + 20000)

static struct recorder *recorder;

static int tear_down(void **state) {
    recorder_free(recorder);
    recorder = NULL;
    return 0;
}

/* The second request of each pair ends first. */
static void record_pairs(size_t count) {
    for (size_t i = 0; i < count; i += 2) {
        struct record *first = recorder_begin(recorder, recorder->count, (int64_t)i, NULL);
        struct record *second =
            recorder_begin(recorder, recorder->count, (int64_t)i + 1, &first->key);

        second->item = 7;
        recorder_end(recorder, second);
        recorder_end(recorder, first);
    }
}

static void make(size_t count, const char *directory) {
    recorder = recorder_make_long(count, directory);
    assert_non_null(recorder);
}

static void assert_record(const struct record *record, size_t number) {
    assert_int_equal(record->number, number);
    assert_int_equal(record->planned_ns, number);
    assert_int_equal(record->item, number % 2 == 1 ? 7 : 0);
    assert_int_equal(record->is_repeat, number % 2 == 1);
    assert_int_equal(record->outcome, RECORD_UNSENT);
}

static void assert_all_by_number(size_t count) {
    assert_int_equal(recorder->count, count);
    assert_int_equal(recorder->ended, count);
    assert_int_equal(recorder->by_outcome[RECORD_UNSENT], count);
    for (size_t i = 0; i < count; i++)
        assert_record(&recorder->records[i], i);
}

static void test_a_short_round_is_kept_in_memory(void **state) {
    make(1000, "/nowhere/at/all");
    assert_false(recorder->is_mapped);
    record_pairs(1000);
    assert_all_by_number(1000);
    assert_string_equal(record_key(&recorder->records[0]), record_key(&recorder->records[1]));
    assert_string_not_equal(record_key(&recorder->records[0]), record_key(&recorder->records[2]));
}

static void test_a_long_round_is_read_by_number_too(void **state) {
    make(LONG, NULL);
    assert_true(recorder->is_mapped);
    record_pairs(LONG);
    assert_all_by_number(LONG);
    recorder_forget(recorder);
    assert_null(recorder->records);
    assert_int_equal(recorder->by_outcome[RECORD_UNSENT], LONG);
}

static void test_a_stopped_round_has_the_requests_that_began(void **state) {
    make(LONG, NULL);
    record_pairs(3000);
    assert_int_equal(recorder->planned, LONG);
    assert_all_by_number(3000);
}

/* A part of a plan begins only some numbers. */
static void test_records_of_a_part_come_to_the_front(void **state) {
    make(1000, NULL);
    for (size_t i = 3; i < 1000; i += 7)
        recorder_end(recorder, recorder_begin(recorder, i, (int64_t)i, NULL));
    recorder_compact(recorder);
    assert_int_equal(recorder->ended, 143);
    for (size_t i = 0; i < 143; i++)
        assert_int_equal(recorder->records[i].number, 3 + 7 * i);
}

/* A file may grow to 5 MB. That is too small, and the recorder says so before the round. */
static void test_a_disk_without_room_is_told_at_the_start(void **state) {
    struct rlimit before, small;

    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 5000000;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    recorder = recorder_make_long(LONG, NULL);
    assert_int_equal(errno, EFBIG);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_null(recorder);
}

static void assert_no_place(const char *directory, int error) {
    errno = 0;
    assert_null(recorder_make_long(LONG, directory));
    assert_int_equal(errno, error);
}

static void test_a_long_round_needs_a_place(void **state) {
    char name[5000];

    memset(name, 'x', sizeof name);
    name[sizeof name - 1] = '\0';
    assert_no_place("/nowhere/at/all", ENOENT);
    assert_no_place("/dev/null", ENOTDIR);
    assert_no_place(name, ENAMETOOLONG);
}

/* The directory is empty during the round, so a crash leaves nothing behind. */
static void test_the_file_has_no_name(void **state) {
    char directory[] = "/tmp/test_record-XXXXXX";

    assert_non_null(mkdtemp(directory));
    make(LONG, directory);
    assert_int_equal(rmdir(directory), 0);
    record_pairs(LONG);
    assert_all_by_number(LONG);
}

static void test_the_environment_names_the_place(void **state) {
    assert_int_equal(setenv("TMPDIR", "/nowhere/at/all", 1), 0);
    assert_no_place(NULL, ENOENT);
    assert_int_equal(setenv("TMPDIR", "", 1), 0);
    make(LONG, NULL);
    assert_int_equal(unsetenv("TMPDIR"), 0);
}

/* Names are the same instance if they agree in the part that is kept. */
static void test_instances_are_told_apart_by_the_kept_part_of_their_names(void **state) {
    char name[64];

    recorder = recorder_make(1);
    assert_non_null(recorder);
    assert_int_equal(recorder_instance(recorder, ""), -1);
    for (int i = 0; i < 3; i++)
        assert_int_equal(
            recorder_instance(recorder, "a-pod-whose-name-is-far-too-long-for-its-room"), 0);
    assert_string_equal(recorder->instances[0], "a-pod-whose-name-is-far-too-lon");
    for (int i = 1; i < RECORD_INSTANCES - 1; i++) {
        snprintf(name, sizeof name, "inventory-%d", i);
        assert_int_equal(recorder_instance(recorder, name), i);
    }
    assert_int_equal(recorder_instance(recorder, "inventory-\n\x1b\xc2\x9b"), 31);
    assert_string_equal(recorder->instances[31], "inventory- ???");
    assert_int_equal(recorder_instance(recorder, "one too many"), -1);
    assert_int_equal(recorder_instance(recorder, "inventory- ?\x1b?"), 31);
    assert_int_equal(recorder_instance(recorder, "inventory-7"), 7);
    assert_int_equal(recorder->instance_count, RECORD_INSTANCES);
}

/* A history may have any numbers. */
static void test_added_records_are_read_in_their_order(void **state) {
    static const uint32_t numbers[] = {4, 0, 4000000000};
    struct record record = {.outcome = RECORD_SOLD, .status = 201, .sent_ns = 5, .received_ns = 9};

    recorder = recorder_make(3);
    assert_non_null(recorder);
    for (size_t i = 0; i < 3; i++) {
        record.number = numbers[i];
        record.is_repeat = i == 2;
        recorder_add(recorder, &record);
    }
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(recorder->records[i].number, numbers[i]);
    assert_int_equal(recorder->count, 3);
    assert_int_equal(recorder->answered, 3);
    assert_int_equal(recorder->by_outcome[RECORD_SOLD], 3);
    assert_int_equal(recorder->sold_again, 1);
    assert_int_equal(recorder->repeats, 1);
    assert_int_equal(recorder->last_ns, 9);
    assert_int_equal(recorder->service.max, 4);
}

/* A repeat gets the first answer again, and a refusal does no work for a sale. */
static void test_holds_of_sales_are_told_apart(void **state) {
    static const struct {
        enum record_outcome outcome;
        bool is_repeat;
        int64_t received_ns;
        int32_t hold_us;
    } replies[] = {{RECORD_SOLD, false, 50, 2000},
                   {RECORD_SOLD, true, 60, 900},
                   {RECORD_SOLD_OUT, false, 70, 300},
                   {RECORD_SOLD_OUT, false, 80, -1}};

    recorder = recorder_make(4);
    assert_non_null(recorder);
    for (size_t i = 0; i < 4; i++) {
        struct record record = {.outcome = replies[i].outcome,
                                .is_repeat = replies[i].is_repeat,
                                .status = 200,
                                .sent_ns = 1,
                                .received_ns = replies[i].received_ns};

        record.cost.hold_us = replies[i].hold_us;
        recorder_add(recorder, &record);
    }
    assert_int_equal(recorder->hold.count, 1);
    assert_int_equal(recorder->hold.max, 2000000);
    assert_int_equal(recorder->unsold_holds, 2);
    assert_int_equal(recorder->unsold_hold_ns, 1200000);
    assert_int_equal(recorder->sold_ns, 50);
    assert_int_equal(recorder->last_ns, 80);
}

static void make_and_free(void *arg) {
    recorder_free(recorder_make_long(*(size_t *)arg, NULL));
}

static void test_no_memory_for_a_recorder_is_told(void **state) {
    size_t counts[] = {10, LONG};

    fault_each_allocation(make_and_free, &counts[0]);
    fault_each_allocation(make_and_free, &counts[1]);
}

/* Shops have ids of up to 128 characters. */
static void test_an_id_may_be_longer_than_a_uuid(void **state) {
    char id[RECORD_ID + 1] = "";
    struct record copy;

    recorder = recorder_make(1);
    for (size_t length = 0; length < RECORD_ID; length++) {
        struct record *record = recorder_begin(recorder, 0, 1, NULL);

        assert_int_equal(record_set_order_id(record, &recorder->texts, id), 0);
        assert_true(length == 0 || record->order_id != record_same);
        assert_int_equal(record_set_id(&record->key, &recorder->texts, id), 0);
        copy = *record;
        assert_string_equal(record_order_id(&copy), id);
        assert_string_equal(record_key(record), id);
        assert_string_equal(record_order(record), id);
        assert_int_equal(record_set_order_id(record, &recorder->texts, id), 0);
        assert_ptr_equal(record->order_id, length > 0 ? record_same : NULL);
        assert_string_equal(record_order(record), id);
        recorder->count = 0;
        assert_int_equal(record_is_id(id), length > 0);
        if (length < RECORD_ID - 1)
            id[length] = (char)('a' + length % 26);
    }
    assert_non_null(recorder->texts.last);
    assert_true(record_is_id("gid://shop/Order/7?a=b#~") && record_is_id("!"));
    assert_false(record_is_id("a b") || record_is_id("a\"") || record_is_id("a\\"));
    assert_false(record_is_id("\xc3\xa4") || record_is_id("a\n") || record_is_id("\x7f"));
    id[RECORD_ID - 1] = 'x';
    assert_false(record_is_id(id));
}

static void set_long_id(void *arg) {
    struct texts texts = {.last = NULL};
    struct record_id id;
    struct record record;

    if (record_set_id(&id, &texts, arg) == 0)
        assert_string_equal(record_id(&id), arg);
    else
        assert_string_equal(record_id(&id), "");
    record.key = id;
    if (record_set_order_id(&record, &texts, arg) != 0)
        assert_string_equal(record_order_id(&record), "");
    texts_free(&texts);
}

static void test_no_memory_for_an_id_is_told(void **state) {
    static char id[] = "an-id-that-is-longer-than-a-uuid-of-36-characters";

    fault_each_allocation(set_long_id, id);
}

#define RECORDED(test) cmocka_unit_test_teardown(test, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        RECORDED(test_a_short_round_is_kept_in_memory),
        RECORDED(test_a_long_round_is_read_by_number_too),
        RECORDED(test_a_stopped_round_has_the_requests_that_began),
        RECORDED(test_records_of_a_part_come_to_the_front),
        RECORDED(test_a_disk_without_room_is_told_at_the_start),
        RECORDED(test_a_long_round_needs_a_place),
        RECORDED(test_the_file_has_no_name),
        RECORDED(test_the_environment_names_the_place),
        RECORDED(test_instances_are_told_apart_by_the_kept_part_of_their_names),
        RECORDED(test_added_records_are_read_in_their_order),
        RECORDED(test_holds_of_sales_are_told_apart),
        RECORDED(test_no_memory_for_a_recorder_is_told),
        RECORDED(test_an_id_may_be_longer_than_a_uuid),
        RECORDED(test_no_memory_for_an_id_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
