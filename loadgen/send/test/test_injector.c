/* Faults of servers; a script replaces scripts/stack, and notes its commands. */
#include "injector.h"
#include "test.h"

#include "clock.h"
#include "fiber.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static uv_loop_t loop;
static struct fault_list faults;
static struct injector injector;
static char folder[64], stack[128], notes[128];
static int opened;
static int64_t started_ns;
static const char *awaited =
    "start"; /* a note to wait for before the round ends; "start" ends it */
static bool is_left_out;

static void write_script(const char *text) {
    FILE *to = fopen(stack, "w");

    assert_non_null(to);
    fprintf(to, "#!/bin/sh\n%s\n", text);
    assert_int_equal(fclose(to), 0);
    assert_int_equal(chmod(stack, 0700), 0);
}

/* `body` is its work after the wait. */
static void write_stack(const char *body) {
    char text[512];

    snprintf(text, sizeof text,
             "echo waiting\nmode=$1; shift\n"
             "if [ $mode = --on-line ]; then read -r _ || exit 0; else cat >/dev/null; fi\n"
             "echo \"$*\" >>%s\n%s",
             notes, body);
    write_script(text);
}

static bool is_noted(const char *line) {
    char text[512] = "\n", wanted[64];
    FILE *from = fopen(notes, "r");

    if (from != NULL) {
        text[1 + fread(text + 1, 1, sizeof text - 2, from)] = '\0';
        (void)fclose(from);
    }
    snprintf(wanted, sizeof wanted, "\n%s\n", line);
    return strstr(text, wanted) != NULL;
}

static bool is_over(void) {
    if (strcmp(awaited, "start") != 0 && !is_noted(awaited))
        return false;
    for (size_t i = 0; i < injector.act_count; i++)
        if (injector.acts[i].ended_ns == 0)
            return false;
    return true;
}

static void inject(void *arg) {
    (void)arg;
    opened = injector_open(&injector, &loop, stack, &faults);
    if (opened != 0)
        return;
    started_ns = clock_now_ns();
    if (!is_left_out)
        injector_start(&injector, started_ns);
    for (int64_t deadline_ms = clock_now_ms() + 20000;
         !is_left_out && !is_over() && clock_now_ms() < deadline_ms;)
        fiber_sleep(&loop, 1);
    injector_close(&injector);
}

static void run(const char *text) {
    struct why why;

    assert_int_equal(fault_list_parse(text, 60 * INT64_C(1000000000), &faults, &why), 0);
    assert_int_equal(fiber_start(inject, NULL), 0);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(injector.open_handles, 0);
}

static void test_each_is_told_to_the_script_at_its_moment(void **state) {
    write_stack("");
    run("redis:cut@200ms,inventory-1:restart@1ms,redis:failover@400ms");
    assert_int_equal(opened, 0);
    assert_string_equal(injector.why.text, "");
    assert_true(is_noted("restart inventory-1") && is_noted("cut redis") && is_noted("failover"));
    assert_true(is_noted("start"));
    assert_int_equal(injector.act_count, 3);
    for (size_t i = 0; i < 3; i++) {
        const struct injector_act *act = &injector.acts[i];

        assert_ptr_equal(act->fault, &faults.items[i]);
        assert_true(act->began_ns - started_ns >= act->fault->at_ns);
        assert_true(act->began_ns <= act->ended_ns);
        assert_int_equal(act->until_ns, act->ended_ns);
    }
    assert_true(injector.acts[1].began_ns < injector.acts[0].began_ns);
    assert_true(injector.acts[0].began_ns < injector.acts[2].began_ns);
}

static void test_a_pause_ends_after_its_time_or_with_the_round(void **state) {
    write_stack("");
    awaited = "resume postgres";
    run("postgres:pause=1ms@1ms");
    assert_string_equal(injector.why.text, "");
    assert_true(is_noted("pause postgres") && is_noted("start"));
    assert_true(injector.acts[0].until_ns > injector.acts[0].ended_ns);
    assert_int_equal(unlink(notes), 0);
    awaited = "pause postgres";
    run("postgres:pause=1h@1ms");
    assert_true(is_noted("start") && !is_noted("resume postgres"));
    assert_true(injector.acts[0].until_ns > injector.acts[0].ended_ns);
}

static void test_what_is_started_again_is_down_until_then(void **state) {
    write_stack("");
    run("redis:start@900ms,redis:kill@1ms,postgres:kill@1ms");
    assert_int_equal(injector.acts[1].until_ns, injector.acts[0].ended_ns);
    assert_true(injector.acts[2].until_ns > injector.acts[0].ended_ns);
}

static void test_a_fault_that_failed_says_why(void **state) {
    write_stack("[ \"$1\" != kill ] || { echo \"stack: no luck\"; exit 3; }");
    run("redis:kill@1ms");
    assert_int_equal(opened, 0);
    assert_string_equal(injector.why.text, "the fault redis:kill@1ms failed: stack: no luck");
    assert_true(is_noted("kill redis") && is_noted("start"));
}

static void test_servers_that_stay_down_are_told(void **state) {
    write_stack("[ \"$1\" != start ] || { printf 'stack: redis is\\033 not ready'; exit 1; }");
    run("redis:kill@1ms");
    assert_string_equal(injector.why.text, "not all servers came up again after the faults: "
                                           "stack: redis is? not ready");
}

static void test_what_has_not_begun_is_left_out_and_all_is_mended(void **state) {
    write_stack("");
    is_left_out = true;
    run("redis:kill@1ms,redis:pause=1s@2ms");
    assert_string_equal(injector.why.text, "");
    assert_true(is_noted("start") && !is_noted("kill redis") && !is_noted("pause redis"));
    assert_int_equal(injector.acts[0].began_ns, 0);
}

static void test_a_script_that_cannot_wait_is_told_before_the_round(void **state) {
    run("redis:kill@1ms");
    assert_int_equal(opened, -1);
    assert_non_null(strstr(injector.why.text, "no such file"));
    write_script("echo 'stack: there is none'\nexit 1");
    run("redis:kill@1ms");
    assert_int_equal(opened, -1);
    assert_string_equal(injector.why.text, "the fault redis:kill@1ms failed: stack: there is none");
    assert_false(is_noted("start"));
}

static int set_up(void **state) {
    strcpy(folder, "/tmp/test-injector-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(stack, sizeof stack, "%s/stack", folder);
    snprintf(notes, sizeof notes, "%s/notes", folder);
    injector = (struct injector){.act_count = 0};
    is_left_out = false;
    awaited = "start";
    return uv_loop_init(&loop);
}

static int tear_down(void **state) {
    (void)unlink(stack);
    (void)unlink(notes);
    assert_int_equal(rmdir(folder), 0);
    fiber_cleanup();
    assert_int_equal(uv_loop_close(&loop), 0);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_each_is_told_to_the_script_at_its_moment),
        TEST(test_a_pause_ends_after_its_time_or_with_the_round),
        TEST(test_what_is_started_again_is_down_until_then),
        TEST(test_a_fault_that_failed_says_why),
        TEST(test_servers_that_stay_down_are_told),
        TEST(test_what_has_not_begun_is_left_out_and_all_is_mended),
        TEST(test_a_script_that_cannot_wait_is_told_before_the_round),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
