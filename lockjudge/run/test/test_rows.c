/* The rows of a run are chosen by their names; pairs are sensible ones, and a sample is the seed's. */
#include "rows.h"
#include "test.h"

#include <string.h>

#define ALL (FAULT_NEEDS_PROXY | FAULT_NEEDS_SERVER)

static struct report report;
static struct why why;

static int tear_down(void **state) {
    rows_free(&report);
    return 0;
}

static int plan(const struct rows_wish *wish) {
    rows_free(&report);
    return rows_plan(&report, wish, &why);
}

/* "stop-held kill-held stop-held+kill-held" */
static const char *names(void) {
    static char all[4000];

    all[0] = '\0';
    for (size_t i = 0; i < report.count; i++) {
        (void)strncat(all, i > 0 ? " " : "", sizeof all - strlen(all) - 1);
        (void)strncat(all, report.rows[i].name, sizeof all - strlen(all) - 1);
    }
    return all;
}

static void test_without_names_each_row_is_there_once(void **state) {
    assert_int_equal(plan(&(struct rows_wish){.names = ""}), 0);
    assert_string_equal(report.rows[0].name, "none");
    assert_int_equal(rows_pairs(&report), 0);
    for (size_t i = 0; i < report.count; i++)
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(report.rows[i].name, report.rows[j].name);
}

static void test_named_rows_come_in_the_order_of_the_table_then_pairs(void **state) {
    assert_int_equal(
        plan(&(struct rows_wish){.names = "kill-held,restart-held+stop-held,stop-held"}), 0);
    assert_string_equal(names(), "stop-held kill-held restart-held+stop-held");
    assert_string_equal(report.rows[2].cases[0].fault->name, "restart");
    assert_string_equal(report.rows[2].cases[1].fault->name, "stop");
    assert_int_equal(rows_pairs(&report), 1);
}

static void test_a_row_that_is_named_twice_is_there_once(void **state) {
    assert_int_equal(plan(&(struct rows_wish){
                         .names = "stop-held+kill-held,stop-held,stop-held+kill-held,stop-held"}),
                     0);
    assert_string_equal(names(), "stop-held stop-held+kill-held");
    assert_int_equal(plan(&(struct rows_wish){.names = "kill-held,stop-held,stop-held+kill-held",
                                              .has_pairs = true}),
                     0);
    assert_string_equal(names(), "stop-held kill-held stop-held+kill-held");
}

static void test_pairs_are_those_of_the_rows_that_can_be_asked(void **state) {
    struct rows_wish wish = {.names = "stop-held,kill-wait,cut-held,pause-held,down-held",
                             .has_pairs = true};

    assert_int_equal(plan(&wish), 0);
    assert_string_equal(names(), "stop-held kill-wait cut-held pause-held down-held "
                                 "stop-held+kill-wait");
    wish.needs = ALL;
    assert_int_equal(plan(&wish), 0);
    assert_int_equal(rows_pairs(&report), 9); /* all of 10 but pause-held+down-held */
    assert_null(strstr(names(), "pause-held+down-held"));
    wish.names = "stop-held";
    assert_int_equal(plan(&wish), -1);
    assert_string_equal(why.text, "--pairs: the rows of this run make no pair");
}

static void test_a_seed_chooses_its_sample(void **state) {
    struct rows_wish wish = {.names = "", .has_pairs = true, .needs = ALL, .sample = 12};
    char first[4000];

    report.seed = 1;
    assert_int_equal(plan(&wish), 0);
    assert_int_equal(rows_pairs(&report), 12);
    (void)strcpy(first, names());
    assert_int_equal(plan(&wish), 0);
    assert_string_equal(names(), first);
    report.seed = 2;
    assert_int_equal(plan(&wish), 0);
    assert_int_equal(rows_pairs(&report), 12);
    assert_string_not_equal(names(), first);
    wish.sample = 100000;
    assert_int_equal(plan(&wish), 0);
    assert_true(rows_pairs(&report) > 12); /* all of them */
}

static void test_pairs_take_longer_than_their_rows(void **state) {
    int64_t rows_alone;

    report.ttl_ms = 2000;
    report.trials = 1;
    assert_int_equal(plan(&(struct rows_wish){.names = "stop-held,pause-held"}), 0);
    rows_alone = rows_ms(&report);
    assert_int_equal(plan(&(struct rows_wish){.names = "stop-held+pause-held"}), 0);
    assert_in_range(rows_ms(&report), rows_alone / 2, rows_alone);
}

static void test_a_mistake_is_told_with_what_there_is(void **state) {
    static const struct {
        const char *names, *reason;
    } rows[] = {
        {"stop-hel", "there is no row \"stop-hel\"; these are: none work-held stop-held"},
        {"stop-held+kill", "there is no row \"kill\""},
        {"+kill-held", "there is no row \"\""},
        {"stop-held,kill-held+none", "\"kill-held+none\" is no pair: one of them is no fault"},
        {"stop-held+stop-held", "they are the same"},
        {"stop-held+work-held", "the second one can only be the first"},
        {"pause-held+down-held", "both break the server"},
        {"stop-held+kill-wait+cut-held", "there is no row \"kill-wait+cut-held\""},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(plan(&(struct rows_wish){.names = rows[i].names}), -1);
        assert_non_null(strstr(why.text, rows[i].reason));
    }
}

int main(void) {
    static const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_teardown(name, tear_down)
        TEST(test_without_names_each_row_is_there_once),
        TEST(test_named_rows_come_in_the_order_of_the_table_then_pairs),
        TEST(test_a_row_that_is_named_twice_is_there_once),
        TEST(test_pairs_are_those_of_the_rows_that_can_be_asked),
        TEST(test_a_seed_chooses_its_sample),
        TEST(test_pairs_take_longer_than_their_rows),
        TEST(test_a_mistake_is_told_with_what_there_is),
#undef TEST
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
