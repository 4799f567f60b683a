/* The parts of one plan make the run of one process; a lost part is told; parts that do not belong
 * together are refused. */
#include "parts.h"
#include "test.h"

#include "cost.h"
#include "options_fixture.h"
#include "own_folder.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MS       INT64_C(1000000)
#define PARTS    3
#define START_NS (5000 * MS)

static char root[200], folders[PARTS + 1][232];
static struct options options;
static struct product products[2] = {{.id = "01900000-0000-7000-8000-000000000001"},
                                     {.id = "01900000-0000-7000-8000-000000000002"}};
static struct plan plan;
static struct parts parts;
static struct round merged;
static struct why why;
static bool has_samples;
static int64_t off_ns[PARTS], step_ns[PARTS]; /* of the clock of each part; a step at 500 ms */

static int set_up(void **state) {
    static char spec[] = "atomic", empty[] = "", command[] = "loadgen plan";

    own_folder_make(root, sizeof root, "sale-parts");
    for (size_t i = 0; i <= PARTS; i++) {
        snprintf(folders[i], sizeof folders[i], "%s/%zu", root, i + 1);
        assert_int_equal(mkdir(folders[i], 0755), 0);
    }
    options_fill(&options, spec, empty);
    options.strategy = spec;
    options.command_line = command;
    options.timeout_ns = 5000 * MS;
    options.shape = (struct plan_shape){.count = 400,
                                        .stage_count = 1,
                                        .stages = {{1000 * MS, 400, 400}},
                                        .seed = 1,
                                        .items = 2,
                                        .dup_rate = 0.1};
    assert_int_equal(plan_make(&plan, &options.shape), 0);
    memset(off_ns, 0, sizeof off_ns);
    memset(step_ns, 0, sizeof step_ns);
    has_samples = false;
    parts.is_one_clock = true;
    merged = (struct round){.recorder = recorder_make(plan.count)};
    assert_non_null(merged.recorder);
    return 0;
}

static int tear_down(void **state) {
    parts_free(&parts);
    plan_free(&plan);
    recorder_free(merged.recorder);
    own_folder_remove(root);
    why.text[0] = '\0';
    return 0;
}

/* What a server answers depends on the number alone. */
static void answer(struct recorder *recorder, size_t number) {
    const struct arrival *arrival = &plan.arrivals[number];
    const struct record_id *key = &recorder->records[arrival->repeats].key;
    struct record *record =
        recorder_begin(recorder, number, arrival->due_ns, arrival->repeats != number ? key : NULL);

    record->item = arrival->item;
    record->sent_ns = arrival->due_ns + 1 + (int64_t)number;
    record->received_ns = record->sent_ns + MS + (int64_t)number * 5000;
    record->outcome = number % 7 == 0 ? RECORD_SOLD_OUT : RECORD_SOLD;
    record->status = number % 7 == 0 ? 409 : 201;
    record->unit = number % 7 == 0 ? -1 : (int64_t)number;
    record->cost.postgres = 2;
    record->cost.wait_us = (int32_t)number;
    record->order_id = record_same;
    record->instance = recorder_instance(recorder, number % 2 == 0 ? "inventory-1" : "inventory-2");
    recorder_end(recorder, record);
}

/* The moment as the clock of the part shows it. */
static int64_t shown(int64_t at_ns, size_t part) {
    return at_ns + off_ns[part - 1] + (at_ns >= 500 * MS ? step_ns[part - 1] : 0);
}

static void turn(struct record *record, size_t part) {
    record->sent_ns = shown(record->sent_ns, part);
    record->received_ns = shown(record->received_ns, part);
}

/* The database's clock is the true one. A round trip takes 200 us; the database reads its clock after
 * 50 us of it. */
static void add_samples(struct round *round, size_t part) {
    for (int64_t at_ns = -100 * MS; at_ns < 1500 * MS; at_ns += 100 * MS) {
        struct clock_sample *sample = round_add_sample(round);
        const int64_t off = off_ns[part - 1] + (at_ns >= 500 * MS ? step_ns[part - 1] : 0);

        assert_non_null(sample);
        *sample = (struct clock_sample){at_ns + off, at_ns + off + 200000,
                                        1795248957000000 + (at_ns + 50000) / 1000};
    }
}

/* A part of `of`, up to request `end`, as send writes it. */
static void write_part(size_t part, size_t of, const char *folder, size_t end) {
    struct round round = {.item = &options.list.items[0],
                          .items = 2,
                          .products = products,
                          .recorder = recorder_make(plan.count),
                          .part = part,
                          .parts = of,
                          .started_us = 1795248957115658,
                          .is_realtime = part != 2};
    char path[260];

    assert_non_null(round.recorder);
    round.recorder->start_ns = START_NS;
    for (size_t number = 0; number < end; number++)
        if (plan_is_own(&plan, number, of, part - 1))
            answer(round.recorder, number);
    recorder_compact(round.recorder);
    if (has_samples && part > 0)
        add_samples(&round, part);
    for (size_t i = 0; i < round.recorder->ended && part > 0; i++)
        turn(&round.recorder->records[i], part);
    round.recorder->late_launches = part;
    snprintf(path, sizeof path, "%s/history.ndjson", folder);
    assert_int_equal(parts_write_file(path, &options, 1234567, &round, &why), 0);
    recorder_free(round.recorder);
    free(round.samples);
}

static void add(size_t count) {
    for (size_t i = 0; i < count; i++)
        assert_int_equal(parts_add(&parts, folders[i], &why), 0);
}

static void merge(void) {
    assert_int_equal(parts_merge(&parts, &plan, &merged, &why), 0);
    assert_int_equal(merged.recorder->ended, merged.recorder->count);
}

static void assert_same_counts(const struct recorder *a, const struct recorder *b) {
    assert_int_equal(a->count, b->count);
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

static void test_the_parts_make_the_run_of_one_process(void **state) {
    struct recorder *one = recorder_make(plan.count);

    assert_non_null(one);
    for (size_t number = 0; number < plan.count; number++)
        answer(one, number);
    for (size_t i = PARTS; i > 0; i--)
        write_part(i, PARTS, folders[i - 1], plan.count);
    add(PARTS);
    merge();
    assert_same_counts(merged.recorder, one);
    assert_int_equal(merged.recorder->late_launches, 1 + 2 + 3);
    assert_int_equal(merged.recorder->start_ns, START_NS);
    assert_int_equal(merged.started_us, 1795248957115658);
    assert_false(merged.is_realtime || merged.is_interrupted);
    assert_int_equal(merged.doubt_count, 0);
    for (size_t number = 0; number < plan.count; number++) {
        const struct record *record = &merged.recorder->records[number];
        const struct record *other = &one->records[number];

        assert_int_equal(record->number, number);
        assert_int_equal(record->planned_ns, other->planned_ns);
        assert_int_equal(record->item, other->item);
        assert_int_equal(record->is_repeat, other->is_repeat);
        assert_string_equal(merged.recorder->instances[record->instance],
                            one->instances[other->instance]);
    }
    recorder_free(one);
}

static int by_size(const void *a, const void *b) {
    const int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;

    return (left > right) - (left < right);
}

/* A percentile of the merged histogram is at most a bucket above the one of all values, sorted. */
static void test_percentiles_of_parts_are_those_of_all_their_requests(void **state) {
    struct histogram *sum = calloc(1, sizeof *sum);
    int64_t *all = calloc(plan.count, sizeof *all);
    size_t count = 0;

    assert_true(sum != NULL && all != NULL);
    for (size_t i = 0; i < PARTS; i++)
        write_part(i + 1, PARTS, folders[i], plan.count);
    add(PARTS);
    for (size_t i = 0; i < PARTS; i++) {
        const struct recorder *part = parts.items[i].history->rounds[0].recorder;

        histogram_add(sum, &part->latency);
        for (size_t j = 0; j < part->ended; j++)
            all[count++] = part->records[j].received_ns - part->records[j].planned_ns;
    }
    merge();
    assert_memory_equal(&merged.recorder->latency, sum, sizeof *sum);
    assert_int_equal(count, plan.count);
    qsort(all, count, sizeof *all, by_size);
    for (int percent = 1; percent <= 100; percent++) {
        const int64_t exact = all[(count * (size_t)percent + 99) / 100 - 1];

        assert_in_range(histogram_percentile(&merged.recorder->latency, percent), exact,
                        exact + exact / 1000);
    }
    free(all);
    free(sum);
}

static void test_each_request_is_of_one_part_and_repeats_of_the_same(void **state) {
    size_t repeats = 0;

    for (size_t number = 0; number < plan.count; number++) {
        size_t owners = 0;

        for (size_t i = 0; i < PARTS; i++) {
            owners += plan_is_own(&plan, number, PARTS, i);
            assert_int_equal(plan_is_own(&plan, number, PARTS, i),
                             plan_is_own(&plan, plan.arrivals[number].repeats, PARTS, i));
        }
        assert_int_equal(owners, 1);
        repeats += plan.arrivals[number].repeats != number;
    }
    assert_true(repeats > 0);
}

/* Each request of the lost part may have been sent, and may have any order. */
static void test_a_lost_part_is_told_and_its_requests_are_unknown(void **state) {
    write_part(1, PARTS, folders[0], plan.count);
    write_part(3, PARTS, folders[2], plan.count);
    add(PARTS);
    merge();
    assert_int_equal(merged.recorder->count, plan.count);
    assert_int_equal(merged.doubt_count, 1);
    assert_non_null(strstr(merged.doubts[0].text, "part 2 of 3 is lost: "));
    assert_non_null(strstr(merged.doubts[0].text, "/2/history.ndjson does not exist"));
    for (size_t i = 0; i < plan.count; i++) {
        const struct record *record = &merged.recorder->records[i];

        assert_int_equal(record->outcome == RECORD_UNKNOWN,
                         plan_is_own(&plan, record->number, PARTS, 1));
        assert_int_equal(record_is_nameless(record), record->outcome == RECORD_UNKNOWN);
        assert_int_equal(record->received_ns - record->planned_ns >= 5000 * MS,
                         record->outcome == RECORD_UNKNOWN);
    }
}

static void test_a_part_without_a_folder_is_told(void **state) {
    write_part(1, PARTS, folders[0], plan.count);
    write_part(2, PARTS, folders[1], plan.count);
    add(2);
    merge();
    assert_string_equal(merged.doubts[0].text, "part 3 of 3 is lost");
}

static void test_a_cut_part_is_lost(void **state) {
    char path[260];

    for (size_t i = 0; i < PARTS; i++)
        write_part(i + 1, PARTS, folders[i], plan.count);
    snprintf(path, sizeof path, "%s/history.ndjson", folders[2]);
    assert_int_equal(truncate(path, 20000), 0);
    add(PARTS);
    merge();
    assert_non_null(strstr(merged.doubts[0].text, "part 3 of 3 is lost: "));
    assert_non_null(strstr(merged.doubts[0].text, "/3/history.ndjson is cut"));
}

/* Request 100 was begun, so earlier ones of the stopped part were due. */
static void test_a_part_that_stopped_has_unsent_requests(void **state) {
    size_t own = 0;

    write_part(1, 2, folders[0], 100);
    write_part(2, 2, folders[1], 50);
    for (size_t number = 50; number < 100; number++)
        own += plan_is_own(&plan, number, 2, 1);
    add(2);
    merge();
    assert_in_range(merged.recorder->count, 90, 100);
    assert_in_range(merged.recorder->by_outcome[RECORD_UNSENT], own - 10, own);
    assert_int_equal(merged.doubt_count, 0);
}

static void assert_refused(const char *folder, const char *text) {
    assert_int_equal(parts_add(&parts, folder, &why), -1);
    if (strstr(why.text, text) == NULL)
        fail_msg("\"%s\" lacks \"%s\"", why.text, text);
}

static void test_parts_that_do_not_belong_together_are_refused(void **state) {
    write_part(1, PARTS, folders[0], plan.count);
    write_part(1, PARTS, folders[1], plan.count);
    write_part(2, 4, folders[2], plan.count);
    options.seed = 8;
    write_part(2, PARTS, folders[3], plan.count);
    add(1);
    assert_refused(folders[1], "are both part 1 of 3");
    assert_refused(folders[2], "is one of 4 parts, and ");
    assert_refused(folders[3], "its \"seed\" is 8, and not ");
    options.seed = 1;
}

static void test_a_part_of_another_plan_with_the_same_settings_is_refused(void **state) {
    write_part(1, PARTS, folders[0], plan.count);
    products[1].id[0] = 'f';
    write_part(2, PARTS, folders[1], plan.count);
    products[1].id[0] = '0';
    add(1);
    assert_refused(folders[1], "is a part of another plan than ");
}

static void test_a_run_is_no_part(void **state) {
    write_part(0, 0, folders[0], plan.count);
    assert_refused(folders[0], "has no part of a plan");
    assert_null(parts_first(&parts));
}

/* A request that another part sent would be counted twice. */
static void test_a_request_of_another_part_is_refused(void **state) {
    write_part(1, 2, folders[0], plan.count);
    write_part(2, 2, folders[1], plan.count);
    add(2);
    parts.items[0].history->rounds[0].recorder->records[5].number = 1;
    assert_int_equal(parts_merge(&parts, &plan, &merged, &why), -1);
    assert_non_null(strstr(why.text, "has request 1, which is not in this part"));
}

/* ---- clocks of several machines */

/* The true moments, from the start of `merged`. */
static int64_t true_ns(int64_t at_ns) {
    return at_ns + 1795248957000000000 - merged.started_us * 1000;
}

/* Whether each interval contains the true moment, with this much slack at most. */
static void assert_contains(int64_t most_ns) {
    struct recorder *one = recorder_make(plan.count);

    assert_non_null(one);
    for (size_t number = 0; number < plan.count; number++)
        answer(one, number);
    for (size_t i = 0; i < merged.recorder->ended; i++) {
        const struct record *record = &merged.recorder->records[i];
        const struct record *other = &one->records[record->number];

        assert_true(record->sent_ns > 0);
        assert_true(record->sent_ns <= true_ns(other->sent_ns) + 1000);
        assert_true(record->received_ns >= true_ns(other->received_ns));
        assert_in_range(record_slack_ns(record), 1, most_ns);
    }
    recorder_free(one);
}

static void merge_clocks(void) {
    parts.is_one_clock = false;
    has_samples = true;
    for (size_t i = 0; i < PARTS; i++)
        write_part(i + 1, PARTS, folders[i], plan.count);
    add(PARTS);
    merge();
}

static void test_clocks_that_are_apart_give_intervals_with_the_true_moments(void **state) {
    off_ns[0] = 100 * MS;
    off_ns[1] = 50 * MS;
    merge_clocks();
    assert_contains(300000);
    assert_int_equal(merged.doubt_count, 0);
}

/* Between the two samples about the step the clock may have either offset. */
static void test_a_clock_that_steps_says_so(void **state) {
    step_ns[1] = 31 * MS;
    merge_clocks();
    assert_contains(40 * MS);
    assert_int_equal(merged.doubt_count, 1);
    assert_non_null(strstr(merged.doubts[0].text,
                           "the clock of part 2 of 3, or that of the database, stepped by 31 ms, "
                           "0.5 s after its start"));
}

/* Latencies are those of one clock. */
static void test_latencies_do_not_depend_on_the_clocks(void **state) {
    struct recorder *one = recorder_make(plan.count);

    assert_non_null(one);
    for (size_t number = 0; number < plan.count; number++)
        answer(one, number);
    off_ns[0] = 70 * MS;
    merge_clocks();
    assert_memory_equal(&merged.recorder->service, &one->service, sizeof one->service);
    recorder_free(one);
}

static void test_parts_of_several_machines_must_know_the_clock_of_the_database(void **state) {
    parts.is_one_clock = false;
    for (size_t i = 0; i < PARTS; i++)
        write_part(i + 1, PARTS, folders[i], plan.count);
    add(PARTS);
    assert_int_equal(parts_merge(&parts, &plan, &merged, &why), -1);
    assert_non_null(strstr(why.text, "does not tell how its clock differs"));
}

static void test_a_file_that_exists_is_kept(void **state) {
    struct round round = {.item = &options.list.items[0],
                          .items = 2,
                          .products = products,
                          .recorder = merged.recorder};
    char path[260];

    write_part(1, 2, folders[0], plan.count);
    snprintf(path, sizeof path, "%s/history.ndjson", folders[0]);
    assert_int_equal(parts_write_file(path, &options, 1, &round, &why), -1);
    assert_non_null(strstr(why.text, "File exists"));
    add(1);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_the_parts_make_the_run_of_one_process),
        IN_FOLDER(test_percentiles_of_parts_are_those_of_all_their_requests),
        IN_FOLDER(test_each_request_is_of_one_part_and_repeats_of_the_same),
        IN_FOLDER(test_a_lost_part_is_told_and_its_requests_are_unknown),
        IN_FOLDER(test_a_part_without_a_folder_is_told),
        IN_FOLDER(test_a_cut_part_is_lost),
        IN_FOLDER(test_a_part_that_stopped_has_unsent_requests),
        IN_FOLDER(test_parts_that_do_not_belong_together_are_refused),
        IN_FOLDER(test_a_part_of_another_plan_with_the_same_settings_is_refused),
        IN_FOLDER(test_a_run_is_no_part),
        IN_FOLDER(test_a_request_of_another_part_is_refused),
        IN_FOLDER(test_clocks_that_are_apart_give_intervals_with_the_true_moments),
        IN_FOLDER(test_a_clock_that_steps_says_so),
        IN_FOLDER(test_latencies_do_not_depend_on_the_clocks),
        IN_FOLDER(test_parts_of_several_machines_must_know_the_clock_of_the_database),
        IN_FOLDER(test_a_file_that_exists_is_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
