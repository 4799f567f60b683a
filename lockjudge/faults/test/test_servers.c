/* The user's command for servers: how it ends, and what it says. */
#include "fiber.h"
#include "servers.h"
#include "test.h"

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
    const struct servers servers = {&loop, command};

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
    const struct servers servers = {&loop, "can() { test $1 = kill; };"};
    const struct servers none = {&loop, "/no/such/program"};

    assert_true(servers_can(&servers, "kill"));
    assert_false(servers_can(&servers, "flush"));
    assert_false(servers_can(&none, "kill"));
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

static void test_command_that_is_too_long_is_refused(void **state) {
    in_a_fiber(refuses_a_long_one);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    static const struct CMUnitTest tests[] = {
        TEST(test_command_gets_the_words),
        TEST(test_failure_has_the_last_line_of_the_command),
        TEST(test_command_is_asked_what_it_can),
        TEST(test_command_that_is_too_long_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
