/* The user's command for servers: how it ends, and what it says. */
#include "fiber.h"
#include "servers.h"
#include "test.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static uv_loop_t loop;
static struct why why;

static int set_up(void **state) {
    why.text[0] = '\0';
    return uv_loop_init(&loop);
}

static int tear_down(void **state) {
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&loop), 0);
    fiber_cleanup();
    return 0;
}

static int run(const char *command, const char *words) {
    struct servers servers = {&loop, command, 0};

    return servers_do(&servers, words, &why);
}

static void gets_the_words(void *arg) {
    assert_int_equal(run("test kill =", "kill"), 0);
    assert_int_equal(run("test kill =", "start"), -1);
}

static void says_why(void *arg) {
    assert_int_equal(run("printf 'one\\nno such server\\n' >&2; exit 7 #", "kill"), -1);
    assert_string_equal(why.text, "the server's command \"kill\" ended with 7: no such server");
    assert_int_equal(run("kill -KILL $$ #", "kill"), -1);
    assert_string_equal(why.text, "the server's command \"kill\" ended by signal 9");
}

static void is_asked_what_it_can(void *arg) {
    struct servers servers = {&loop, "can() { test $1 = kill; };", 0};
    struct servers none = {&loop, "/no/such/program", 0};

    assert_true(servers_can(&servers, "kill"));
    assert_false(servers_can(&servers, "flush"));
    assert_false(servers_can(&none, "kill"));
}

/* A server has the stderr of the command that started it. */
static void leaves_a_server(void *arg) {
    char number[16] = "";
    FILE *file = tmpfile();
    char command[100];

    assert_non_null(file);
    (void)snprintf(command, sizeof command, "sleep 1000 & echo $! >/proc/%d/fd/%d; #",
                   (int)getpid(), fileno(file));
    assert_int_equal(run(command, "start"), 0);
    assert_non_null(fgets(number, sizeof number, file));
    assert_int_equal(kill((pid_t)strtol(number, NULL, 10), SIGKILL), 0);
    assert_int_equal(fclose(file), 0);
}

static struct servers hanging = {&loop, "exec sleep 1000;", 0};

static void hangs(void *arg) {
    servers_kill(&hanging); /* nothing runs */
    assert_int_equal(servers_do(&hanging, "pause", &why), -1);
    assert_string_equal(why.text, "the server's command \"pause\" ended by signal 9");
}

static void refuses_a_long_one(void *arg) {
    static char command[2000];

    memset(command, 'x', sizeof command - 1);
    assert_int_equal(run(command, "kill"), -1);
    assert_string_equal(why.text, "the command of the server is too long");
}

static void in_a_fiber(fiber_fn fn) {
    assert_int_equal(fiber_start(fn, NULL), 0);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
}

static void test_command_gets_the_words(void **state) {
    in_a_fiber(gets_the_words);
}

static void test_failure_has_the_last_line_of_the_command(void **state) {
    in_a_fiber(says_why);
}

static void test_command_is_asked_what_it_can(void **state) {
    in_a_fiber(is_asked_what_it_can);
}

static void test_command_may_leave_a_server(void **state) {
    in_a_fiber(leaves_a_server);
}

static void test_command_that_hangs_is_killed(void **state) {
    assert_int_equal(fiber_start(hangs, NULL), 0);
    servers_kill(&hanging);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
}

static void test_command_that_is_too_long_is_refused(void **state) {
    in_a_fiber(refuses_a_long_one);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    static const struct CMUnitTest tests[] = {
        TEST(test_command_gets_the_words),
        TEST(test_failure_has_the_last_line_of_the_command),
        TEST(test_command_is_asked_what_it_can),
        TEST(test_command_may_leave_a_server),
        TEST(test_command_that_hangs_is_killed),
        TEST(test_command_that_is_too_long_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
