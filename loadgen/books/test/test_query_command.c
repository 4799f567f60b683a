/* Commands that answer a query: their output, and each way to fail. */
#include "fault.h"
#include "query_command.h"
#include "test.h"
#include "wait.h"

#define LARGE (1024 * 1024)

static uv_loop_t loop;
static struct buffer input, output;
static struct why why;

struct call {
    const char *command;
    uint64_t ms;
    int code;
};

static void on_call(void *arg) {
    struct call *call = arg;

    call->code = query_command_run(&loop, call->command, &input, call->ms, &output, &why);
}

static int run_for(const char *command, uint64_t ms) {
    struct call call = {.command = command, .ms = ms};

    output.length = 0;
    wait_for_fiber(&loop, on_call, &call);
    return call.code;
}

static void expect(const char *command, const char *printed) {
    if (run_for(command, PATIENCE_MS) != 0)
        fail_msg("%s", why.text);
    assert_int_equal(output.length, strlen(printed));
    assert_memory_equal(output.bytes, printed, output.length);
}

static void expect_failure(const char *command, const char *reason) {
    assert_int_equal(run_for(command, PATIENCE_MS), -1);
    assert_string_equal(why.text, reason);
}

static int set_up(void **state) {
    assert_int_equal(uv_loop_init(&loop), 0);
    assert_true(buffer_append_text(&input, "SELECT 1"));
    return 0;
}

static int tear_down(void **state) {
    buffer_free(&input);
    buffer_free(&output);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
    fiber_cleanup();
    return 0;
}

static void test_the_command_reads_the_query(void **state) {
    expect("cat", "SELECT 1");
    expect("  echo\ta  b ", "a b\n");
    expect("cat; echo \"a  b\"", "SELECT 1a  b\n");
    expect("", "");
    expect(" ", "");
}

static void test_a_command_need_not_read_a_large_query(void **state) {
    static char large[LARGE];

    memset(large, 'a', sizeof large);
    assert_true(buffer_append(&input, large, sizeof large));
    expect("echo done", "done\n");
    assert_int_equal(run_for("cat", PATIENCE_MS), 0);
    assert_int_equal(output.length, input.length);
}

static void test_many_words_go_to_a_shell(void **state) {
    char command[256] = "echo", printed[256] = "";

    for (int i = 0; i < 80; i++) {
        strcat(command, " a");
        strcat(printed, i > 0 ? " a" : "a");
    }
    expect(command, strcat(printed, "\n"));
}

static void test_failures(void **state) {
    char command[700] = "sh -c 'echo ";

    expect_failure("sh -c 'exit 3'", "the command ended with exit code 3");
    expect_failure("sh -c 'echo no; echo one >&2; echo two >&2; exit 1'",
                   "the command ended with exit code 1: one");
    expect_failure("kill -9 $$", "the command ended with signal 9");
    expect_failure("/no/such/program", "cannot run the command: no such file or directory");
    expect_failure("yes", "the command printed more than 16 MiB");
    memset(command + strlen("sh -c 'echo "), 'a', 600);
    strcat(command, " >&2; exit 1'");
    expect_failure(command, "the command ended with exit code 1: ");
}

static void test_a_late_command_is_killed(void **state) {
    assert_int_equal(run_for("sleep 1000 & sleep 1000", 1), -1);
    assert_string_equal(why.text, "the command was killed after 1 ms");
}

static void scenario(void *arg) {
    (void)run_for(arg, PATIENCE_MS);
}

static void test_each_allocation_may_fail(void **state) {
    char command[] = "cat";

    fault_each_allocation(scenario, command);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(test_the_command_reads_the_query), TEST(test_a_command_need_not_read_a_large_query),
        TEST(test_many_words_go_to_a_shell),    TEST(test_failures),
        TEST(test_a_late_command_is_killed),    TEST(test_each_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
