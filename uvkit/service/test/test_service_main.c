/* The program around a service, in a child process: its messages, its exit code, and its closing.
 */
#include "service.h"
#include "test.h"

#include "metrics.h"
#include "own_port.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

static struct service_settings set;
static const struct setting table[] = {
    SERVICE_SETTINGS(set, "8000"),
    {"db", 0, SETTING_SECRET, &set.db, "host=127.0.0.1 port=1", "the database", NULL},
    {"db-connections", 0, SETTING_INT, &set.db_connections, "1", "connections to it", "1..10"},
    {.name = NULL},
};

static char name[16];
static int check_code, open_code; /* these functions shall return them */
static int opened, closed;
static int dumpable; /* the kernel's flag while it serves */

static int check(void) {
    strcpy(name, "test-7");
    return check_code;
}

static int open_all(uv_loop_t *loop, struct pg_pool *pool) {
    opened += pool != NULL;
    return open_code;
}

static void close_all(void *data) {
    closed++;
    service_close_pool();
}

/* The pool's metrics exist. Then the program is told to stop. */
static void on_listening(void *data, int port) {
    size_t length;
    char *text = metrics_text(&length);

    if (text == NULL || strstr(text, "\ntest_db_connections 0\n") == NULL)
        _exit(99);
    free(text);
    if (prctl(PR_GET_DUMPABLE) != dumpable)
        _exit(97);
    (void)raise(SIGTERM);
}

static const struct http_route no_routes[] = {{.method = NULL}};

static const struct service service = {
    .name = "test-svc",
    .routes = no_routes,
    .on_listening = on_listening,
    .about = "test-svc: nothing",
    .variables = "TEST_SVC",
    .metrics = "test",
    .table = table,
    .set = &set,
    .instance = name,
    .check = check,
    .open = open_all,
    .close = close_all,
};

static char said[4096]; /* by the last child, on stderr */

/* Run it with up to two arguments. Returns its exit code, plus 1000 for each time that it has
 * opened, and 100 for each time that it has closed its own part. */
static int run(const char *first, const char *second) {
    char *argv[] = {strdup("bin/test-svc"), first != NULL ? strdup(first) : NULL,
                    second != NULL ? strdup(second) : NULL, NULL};
    int argc = 1 + (first != NULL) + (second != NULL), fds[2], status;
    FILE *errors = tmpfile();
    size_t length;
    pid_t child;

    assert_non_null(errors);
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)dup2(fileno(errors), STDERR_FILENO);
        status = service_main(&service, argc, argv);
        status += 1000 * opened + 100 * closed;
        _exit(write(fds[1], &status, sizeof status) == sizeof status ? 0 : 98);
    }
    (void)close(fds[1]);
    if (read(fds[0], &status, sizeof status) != sizeof status)
        status = -1;
    (void)close(fds[0]);
    assert_int_equal(waitpid(child, NULL, 0), child);
    rewind(errors);
    length = fread(said, 1, sizeof said - 1, errors);
    said[length] = '\0';
    (void)fclose(errors);
    for (int i = 0; i < argc; i++)
        free(argv[i]);
    return status;
}

static void test_a_bad_setting_ends_it_before_anything_is_opened(void **state) {
    assert_int_equal(run("--log-level", "loud"), EX_USAGE);
    assert_string_equal(said, "test-svc: --log-level must be debug, info, warn or error\n");
    assert_int_equal(run("--port", "0"), EX_USAGE);
    check_code = EX_CONFIG;
    assert_int_equal(run(NULL, NULL), EX_CONFIG);
    check_code = 0;
    assert_int_equal(run("--help", NULL), 0);
}

static void test_a_log_that_may_not_grow_loses_lines_and_not_the_service(void **state) {
    struct rlimit before, small;

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = (struct rlimit){.rlim_cur = 10, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(run("--log-level", "loud"), EX_USAGE);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_string_equal(said, "test-svc: ");
}

static void test_a_connection_string_that_is_none_is_told_by_its_variable(void **state) {
    assert_int_equal(setenv("TEST_SVC_DB", "database", 1), 0);
    assert_int_equal(run(NULL, NULL), EX_USAGE);
    assert_string_equal(said, "test-svc: TEST_SVC_DB: not a libpq connection string\n");
    assert_int_equal(unsetenv("TEST_SVC_DB"), 0);
}

static void test_what_does_not_open_is_closed_and_names_the_exit_code(void **state) {
    open_code = EX_CONFIG;
    assert_int_equal(run(NULL, NULL), 1000 + 100 + EX_CONFIG);
    open_code = 0;
}

static void test_what_cannot_serve_is_closed(void **state) {
    assert_int_equal(run("--listen", "nowhere"), 1000 + 100 + 1);
    assert_non_null(strstr(said, "test-svc: \"nowhere\" is not an address to listen on"));
}

static void test_after_the_drain_all_is_closed_once_under_its_own_name(void **state) {
    char port[8];

    (void)snprintf(port, sizeof port, "%d", own_port());
    assert_int_equal(run("--port", port), 1000 + 100 + 0);
    assert_non_null(strstr(said, "svc=test-7 msg=\"draining\""));
    assert_non_null(strstr(said, "svc=test-7 msg=\"stopped\""));
}

/* Core files would hold the secrets. */
static void test_core_files_are_written_only_on_request(void **state) {
    char port[16];

    (void)snprintf(port, sizeof port, "--port=%d", own_port());
    dumpable = 1;
    assert_int_equal(run(port, "--cores"), 1000 + 100 + 0);
    dumpable = 0;
    assert_int_equal(run(port, NULL), 1000 + 100 + 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_bad_setting_ends_it_before_anything_is_opened),
        cmocka_unit_test(test_a_log_that_may_not_grow_loses_lines_and_not_the_service),
        cmocka_unit_test(test_a_connection_string_that_is_none_is_told_by_its_variable),
        cmocka_unit_test(test_what_does_not_open_is_closed_and_names_the_exit_code),
        cmocka_unit_test(test_what_cannot_serve_is_closed),
        cmocka_unit_test(test_after_the_drain_all_is_closed_once_under_its_own_name),
        cmocka_unit_test(test_core_files_are_written_only_on_request),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
