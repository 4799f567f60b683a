/* The results folder: its name, its files, and its behaviour if it cannot be written. */
#include "folder.h"

#include "fault.h"
#include "options_fixture.h"
#include "own_folder.h"
#include "summary_json.h"

#include "verdict_fixture.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOON INT64_C(1795262462000000) /* 2026-11-21T12:01:02Z */

static char root[200], deep[208], name[400];
static struct why why;
static struct options options;
static struct folder folder;
static struct product product;
static struct round one;

static int set_up_folder(void **state) {
    (void)verdict_set_up(state);
    own_folder_make(root, sizeof root, "sale-results");
    snprintf(deep, sizeof deep, "%s/a/b", root);
    name[0] = '\0';
    options_fill(&options, "none,redis,ttl=2s", "");
    options.name = name;
    options.results = deep;
    sell(10)->status = 201;
    one = (struct round){.item = &options.list.items[0],
                         .items = 1,
                         .products = &product,
                         .recorder = recorder,
                         .ledgers = &ledger};
    return round_judge(&one, NULL) == 0 ? 0 : -1;
}

static int tear_down_folder(void **state) {
    folder_close(&folder);
    own_folder_remove(root);
    return verdict_tear_down(state);
}

static void open_folder(void) {
    assert_int_equal(folder_open(&folder, &options, NOON, &why), 0);
}

/* The last part of the folder's path. */
static const char *opened_name(void) {
    struct stat status;

    open_folder();
    assert_memory_equal(folder.path, deep, strlen(deep));
    assert_int_equal(stat(folder.path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0755);
    return folder.path + strlen(deep) + 1;
}

/* A name becomes a plain word. */
static void test_the_folder_is_named_after_the_moment_and_the_strategies(void **state) {
#define AT_NOON "20261121T120102Z-"
    static const struct {
        const char *name, *folder;
    } cases[] = {{"", AT_NOON "none-redis"},
                 {"Friday night", AT_NOON "Friday-night"},
                 {"../../x", AT_NOON "x"},
                 {"a//b\n--c.d_e-", AT_NOON "a-b-c.d_e"},
                 {"\xe9\xbb\x84", AT_NOON "none-redis"},
                 {"..", AT_NOON "none-redis"},
                 {".hidden", AT_NOON "hidden"}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        snprintf(name, sizeof name, "%s", cases[i].name);
        assert_string_equal(opened_name(), cases[i].folder);
        folder_close(&folder);
    }
}

static void test_the_folder_of_a_shop_has_its_name(void **state) {
    static const char *const cases[][3] = {{"Vendure, a shop", "", AT_NOON "Vendure-a-shop"},
                                           {"\xe9\xbb\x84", "", AT_NOON "none-redis"},
                                           {"Vendure", "mine", AT_NOON "mine"}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(shop_about_make(&options.about, cases[i][0], "", "", "a.shop"), 0);
        snprintf(name, sizeof name, "%s", cases[i][1]);
        assert_string_equal(opened_name(), cases[i][2]);
        folder_close(&folder);
        shop_about_free(&options.about);
    }
}

static void test_an_empty_place_is_here(void **state) {
    assert_int_equal(chdir(root), 0);
    options.results = deep + strlen(deep); /* "" */
    open_folder();
    assert_string_equal(folder.path, "./20261121T120102Z-none-redis");
    assert_int_equal(access("20261121T120102Z-none-redis/history.ndjson", R_OK), 0);
    folder_close(&folder);
    assert_int_equal(chdir("/"), 0);
}

static void test_folders_of_one_second_differ(void **state) {
    char first[FOLDER_PATH];

    open_folder();
    assert_int_equal(folder_add(&folder, &one, &why), 0);
    folder_close(&folder);
    memcpy(first, folder.path, sizeof first);
    open_folder();
    assert_memory_equal(folder.path, first, strlen(first));
    assert_string_equal(folder.path + strlen(first), "-2");
}

static void test_a_folder_without_a_round_is_removed(void **state) {
    open_folder();
    assert_int_equal(access(folder.path, F_OK), 0);
    folder_close(&folder);
    assert_string_equal(folder.path, "");
    assert_int_equal(rmdir(deep), 0); /* it is empty */
}

static void test_nothing_is_made_when_none_is_wanted(void **state) {
    options.no_results = true;
    open_folder();
    assert_string_equal(folder.path, "");
    assert_int_equal(folder_add(&folder, &one, &why), 0);
    assert_int_equal(access(deep, F_OK), -1);
}

static void test_a_place_that_cannot_be_written_is_told(void **state) {
    char file[208];

    snprintf(file, sizeof file, "%s/file", root);
    assert_int_equal(fclose(fopen(file, "w")), 0);
    options.results = file;
    assert_int_equal(folder_open(&folder, &options, NOON, &why), -1);
    assert_non_null(strstr(why.text, "--no-results"));
    assert_non_null(strstr(why.text, file));
}

static off_t history_size(void) {
    char path[FOLDER_PATH + 32];
    struct stat status;

    snprintf(path, sizeof path, "%s/history.ndjson", folder.path);
    assert_int_equal(stat(path, &status), 0);
    return status.st_size;
}

/* Files may grow only to `bytes`: like a full disk. */
static void limit_files(rlim_t bytes) {
    struct rlimit limit;

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void test_a_round_that_does_not_fit_is_taken_back(void **state) {
    off_t one_round, two_rounds;
    int rc;

    (void)signal(SIGXFSZ, SIG_IGN);
    open_folder();
    assert_int_equal(folder_add(&folder, &one, &why), 0);
    one_round = history_size();
    limit_files((rlim_t)one_round + 100);
    rc = folder_add(&folder, &one, &why);
    limit_files(RLIM_INFINITY);
    assert_int_equal(rc, -1);
    assert_non_null(strstr(why.text, "history.ndjson: File too large"));
    assert_int_equal(history_size(), one_round);
    assert_int_equal(folder_add(&folder, &one, &why), 0);
    two_rounds = history_size();
    assert_true(two_rounds > one_round);
    assert_int_equal(folder.rounds, 2);
}

static void test_what_can_be_written_is_and_latest_points_to_it(void **state) {
    struct summary summary;
    char path[FOLDER_PATH + 32], target[FOLDER_PATH] = "";

    open_folder();
    assert_int_equal(folder_add(&folder, &one, &why), 0);
    assert_int_equal(summary_make(&summary, &options, &one, 1), 0);
    snprintf(path, sizeof path, "%s/rounds.csv", folder.path);
    assert_int_equal(mkdir(path, 0755), 0); /* in the way */
    assert_int_equal(folder_write(&folder, &summary, &why), -1);
    assert_non_null(strstr(why.text, "rounds.csv could not be written"));
    snprintf(path, sizeof path, "%s/env.json", folder.path);
    assert_int_equal(access(path, R_OK), 0);
    snprintf(path, sizeof path, "%s/latest", deep);
    assert_true(readlink(path, target, sizeof target - 1) > 0);
    assert_string_equal(target, "20261121T120102Z-none-redis");
    summary_free(&summary);
}

struct attempt {
    struct summary summary;
    json_t *whole;
    size_t failed;
};

static void compare_summary(void *arg) {
    struct attempt *attempt = arg;
    json_t *json = summary_json(&attempt->summary);

    if (json == NULL)
        attempt->failed++;
    else
        assert_true(json_equal(json, attempt->whole));
    json_decref(json);
}

static void test_a_summary_is_whole_or_not_there(void **state) {
    struct attempt attempt = {.failed = 0};

    json_set_alloc_funcs(malloc, free); /* writes of this test, which fail */
    assert_int_equal(summary_make(&attempt.summary, &options, &one, 1), 0);
    attempt.whole = summary_json(&attempt.summary);
    assert_non_null(attempt.whole);
    fault_each_allocation(compare_summary, &attempt);
    assert_true(attempt.failed > 200);
    json_decref(attempt.whole);
    summary_free(&attempt.summary);
}

#define FOLDER(test) cmocka_unit_test_setup_teardown(test, set_up_folder, tear_down_folder)

int main(void) {
    const struct CMUnitTest tests[] = {
        FOLDER(test_the_folder_is_named_after_the_moment_and_the_strategies),
        FOLDER(test_the_folder_of_a_shop_has_its_name),
        FOLDER(test_an_empty_place_is_here),
        FOLDER(test_folders_of_one_second_differ),
        FOLDER(test_a_folder_without_a_round_is_removed),
        FOLDER(test_nothing_is_made_when_none_is_wanted),
        FOLDER(test_a_place_that_cannot_be_written_is_told),
        FOLDER(test_a_round_that_does_not_fit_is_taken_back),
        FOLDER(test_what_can_be_written_is_and_latest_points_to_it),
        FOLDER(test_a_summary_is_whole_or_not_there),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
