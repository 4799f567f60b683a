/* Claims start programs: their exit codes are known, their output is in the log, and the evidence
 * comes from the summary. */
#include "claims.h"
#include "exit_code.h"
#include "test.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUMMARY(firings, counterexamples)                                                          \
    "{\"strategies\": [{\"strategy\": \"none\", \"verdict\": \"VIOLATED\", \"expected\": "         \
    "\"TWIN\", \"as_expected\": true, \"sentence\": \"none: sold 2 of 1 units\", "                 \
    "\"anomalies\": [{\"name\": \"TWIN\", \"count\": 1}], \"firings\": [" firings                  \
    "], \"counterexamples\": [" counterexamples "]}], \"thresholds\": [{\"text\": \"busy<5\", "    \
    "\"measured\": 3, \"holds\": true}]}"
#define STRUCK                                                                                     \
    "{\"armed\": \"after-read:crash@1\", \"in_time\": 1, \"first\": {\"who\": \"inventory-1\", "   \
    "\"at_ms\": 250}}"
#define NOT_STRUCK "{\"armed\": \"redis:kill@2s\", \"in_time\": 0, \"first\": null}"
#define PAIR       "{\"has_chain\": true, \"order_ids\": [\"a\", \"b\"], \"lines\": [\"A and B\"]}"
#define CHAIN                                                                                      \
    "{\"has_chain\": true, \"order_ids\": [\"a\", \"b\", \"c\"], \"lines\": [\"A, B and C\"]}"

static uv_loop_t loop;
static sigset_t signals;
static char folder[32], stack[64], *said;

static void write_script(const char *name, const char *body) {
    char path[64];
    FILE *to;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    to = fopen(path, "w");
    assert_non_null(to);
    fprintf(to, "#!/bin/sh\n%s\n", body);
    assert_int_equal(fclose(to), 0);
    assert_int_equal(chmod(path, 0700), 0);
}

static int set_up(void **state) {
    snprintf(folder, sizeof folder, "/tmp/sale-claims-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(stack, sizeof stack, "%s/stack", folder);
    write_script("stack", "exit 0");
    assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &signals), 0);
    return uv_loop_init(&loop);
}

static int tear_down(void **state) {
    char command[64];

    free(said);
    said = NULL;
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
    assert_int_equal(pthread_sigmask(SIG_SETMASK, &signals, NULL), 0);
    return uv_loop_close(&loop);
}

/* Shows the claim `id`; the script `loadgen` acts as loadgen. */
static int show(const char *id, const char *loadgen) {
    char text[] = "text", empty[] = "", run_dir[64], name[32], *arguments[] = {name};
    struct options options = {.argument_count = 1,
                              .arguments = arguments,
                              .output_format = text,
                              .stack = stack,
                              .run_dir = run_dir,
                              .results = empty};
    size_t size;
    FILE *to;
    int exit_code;

    snprintf(name, sizeof name, "%s", id);
    if (loadgen != NULL)
        write_script("loadgen", loadgen);
    snprintf(run_dir, sizeof run_dir, "%s/run", folder);
    free(said);
    to = open_memstream(&said, &size);
    assert_non_null(to);
    exit_code = claims_show(&loop, &options, to);
    assert_int_equal(fclose(to), 0);
    return exit_code;
}

static void assert_says(const char *expected) {
    if (strstr(said, expected) == NULL)
        fail_msg("not said: %s\n%s", expected, said);
}

static void test_one_that_runs_can_be_interrupted(void **state) {
    assert_int_equal(show("setnx-crash", "kill -INT $PPID; exec sleep 60"), EXIT_INTERRUPTED);
    assert_null(strstr(said, "SHOWN"));
}

static void test_how_a_program_ended_is_told(void **state) {
    static const struct {
        const char *script, *told;
    } cases[] = {
        {NULL, "setnx-crash: NOT SHOWN: its failure ended with 127\n"}, /* no such script */
        {"echo a; echo b >&2; exit 3", "setnx-crash: NOT SHOWN: its failure ended with 3\n"},
        {"kill -9 $$", "setnx-crash: NOT SHOWN: its failure ended with 137\n"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(show("setnx-crash", cases[i].script), EXIT_UNEXPECTED);
        assert_says(cases[i].told);
    }
}

static void test_scripts_may_be_in_the_root_folder(void **state) {
    snprintf(stack, sizeof stack, "/proc"); /* no program, so it cannot start */
    assert_int_equal(show("setnx-crash", NULL), EXIT_UNREACHABLE);
}

static void test_both_outputs_of_a_program_are_kept(void **state) {
    char path[64], log[16] = "";
    FILE *from;

    (void)show("setnx-crash", "echo a; echo b >&2; exit 3");
    snprintf(path, sizeof path, "%s/run/claims.log", folder);
    from = fopen(path, "r");
    assert_non_null(from);
    assert_int_equal(fread(log, 1, sizeof log - 1, from), 4);
    assert_string_equal(log, "a\nb\n");
    assert_int_equal(fclose(from), 0);
}

/* A script that writes this summary. */
#define LEAVE(summary) "cat >\"$LOADGEN_OUTPUT\" <<'END'\n" summary "\nEND"
#define UNSTRUCK       "  a fault did not strike before the last unit was sold\n"
#define UNCHAINED      "  no counterexample shows which order freed another's lock\n"

/* abc needs a chain of three orders. */
static void test_each_fault_must_have_struck_and_a_chain_be_told(void **state) {
    static const struct {
        const char *id, *loadgen, *missing;
    } cases[] = {{"setnx-crash", LEAVE(SUMMARY("", "")), NULL},
                 {"setnx-crash", LEAVE(SUMMARY(STRUCK, "")), NULL},
                 {"setnx-crash", LEAVE(SUMMARY(NOT_STRUCK, "")), UNSTRUCK},
                 {"setnx-crash", LEAVE(SUMMARY(STRUCK ", " NOT_STRUCK, "")), UNSTRUCK},
                 {"abc", LEAVE(SUMMARY("", PAIR)), UNCHAINED},
                 {"abc", LEAVE(SUMMARY("", PAIR ", " CHAIN)), NULL}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const bool is_shown = show(cases[i].id, cases[i].loadgen) == EXIT_AS_EXPECTED;

        if (is_shown != (cases[i].missing == NULL))
            fail_msg("case %zu: %s", i, said);
        assert_says(is_shown ? "1 of 1 claims shown\n" : cases[i].missing);
    }
}

static void test_verdict_example_faults_and_thresholds_are_printed(void **state) {
    (void)show("setnx-crash", LEAVE(SUMMARY(STRUCK ", " NOT_STRUCK, PAIR)));
    assert_says("  VIOLATED TWIN 1: none: sold 2 of 1 units\n"
                "    A and B\n"
                "  after-read:crash@1 struck at 0.250 s: inventory-1\n"
                "  redis:kill@2s did not strike before the end of the sale\n"
                "  busy<5 holds: 3\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_one_that_runs_can_be_interrupted),
        TEST(test_how_a_program_ended_is_told),
        TEST(test_scripts_may_be_in_the_root_folder),
        TEST(test_both_outputs_of_a_program_are_kept),
        TEST(test_each_fault_must_have_struck_and_a_chain_be_told),
        TEST(test_verdict_example_faults_and_thresholds_are_printed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
