/* The processes of a worker stop, go on and end together: in a cgroup also a child that left its
 * process group, and without a cgroup the process group. */
#include "cgroup.h"
#include "fiber.h"
#include "test.h"
#include "worker.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE_MS 20000

static uv_loop_t loop;
static struct worker *worker;
static struct why why;
static bool has_cgroup;

static int set_up(void **state) {
    has_cgroup = false;
    return uv_loop_init(&loop);
}

static int tear_down(void **state) {
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&loop), 0);
    fiber_cleanup();
    return 0;
}

/* The beginning of the file; "" if there is none. */
static void read_file(const char *path, char *text, size_t size) {
    FILE *file = fopen(path, "re");
    size_t length = 0;

    if (file != NULL) {
        length = fread(text, 1, size - 1, file);
        (void)fclose(file);
    }
    text[length] = '\0';
}

static void read_of_process(pid_t pid, const char *name, char *text, size_t size) {
    char path[64];

    (void)snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    read_file(path, text, size);
}

/* ---- with a cgroup */

/* The `cgroup.events` of its cgroup, or "" without one of lockjudge. */
static void events_of(pid_t pid, char *events, size_t size) {
    char own[600], mounts[8000], path[1500], *name;

    events[0] = '\0';
    read_of_process(pid, "cgroup", own, sizeof own);
    name = strstr(own, "0::/");
    if (name == NULL || strstr(name, "/lockjudge-") == NULL)
        return;
    name[strcspn(name, "\n")] = '\0';
    read_of_process(getpid(), "mounts", mounts, sizeof mounts);
    for (char *line = strtok(mounts, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        char mount[500], type[32];

        if (sscanf(line, "%*s %499s %31s", mount, type) != 2 || strcmp(type, "cgroup2") != 0)
            continue;
        (void)snprintf(path, sizeof path, "%s%s/cgroup.events", mount, name + 3);
        read_file(path, events, size);
        return;
    }
}

static bool has_left(pid_t child) {
    return getpgid(child) == child && getsid(child) == child;
}

/* It may be a zombie that its new parent has not reaped. */
static bool is_dead(pid_t child) {
    char stat[256];

    read_of_process(child, "stat", stat, sizeof stat);
    return stat[0] == '\0' || strstr(stat, ") Z ") != NULL;
}

static void await(bool (*is_so)(pid_t child), pid_t child) {
    for (int i = 0; !is_so(child); i++) {
        assert_true(i < PATIENCE_MS);
        fiber_sleep(&loop, 1);
    }
}

static void start(void) {
    char shell[] = "/bin/sh", option[] = "-c";
    char script[] = "setsid sleep 1000 & echo ready; while read -r a; do echo error $!; done";
    char *argv[] = {shell, option, script, NULL};
    const struct worker_events events = {NULL, NULL, NULL};

    assert_int_equal(worker_start(&worker, &loop, argv, 0, &events, NULL, &why), 0);
    assert_int_equal(worker_await_ready(worker, PATIENCE_MS, &why), 0);
}

static void leaves(void *arg) {
    struct worker_answer answer;
    char events[200];
    pid_t child;

    start();
    assert_int_equal(worker_ask(worker, "release", PATIENCE_MS, &answer, &why), 0);
    child = (pid_t)strtol(answer.line.text, NULL, 10);
    await(has_left, child);
    events_of(child, events, sizeof events);
    has_cgroup = events[0] != '\0';
    if (has_cgroup) {
        assert_int_equal(worker_stop(worker), 0);
        events_of(child, events, sizeof events);
        assert_non_null(strstr(events, "frozen 1"));
        worker_continue(worker);
        assert_int_equal(worker_ask(worker, "release", PATIENCE_MS, &answer, &why), 0);
        assert_int_equal(worker_stop(worker), 0);
    }
    worker_close(worker); /* it is stopped */
    if (has_cgroup)
        await(is_dead, child);
    else
        (void)kill(child, SIGKILL);
}

static void test_a_child_that_left_by_setsid_is_stopped_and_killed(void **state) {
    assert_int_equal(fiber_start(leaves, NULL), 0);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    if (!has_cgroup) {
        print_message("no cgroup can be made here: see docs/lockjudge.md\n");
        skip();
    }
}

static void ends_itself(void *arg) {
    struct worker_answer answer;
    char events[200];
    pid_t child;

    start();
    assert_int_equal(worker_ask(worker, "release", PATIENCE_MS, &answer, &why), 0);
    child = (pid_t)strtol(answer.line.text, NULL, 10);
    await(has_left, child);
    events_of(child, events, sizeof events);
    has_cgroup = events[0] != '\0';
    (void)kill(-worker_group(worker), SIGTERM);
    while (worker_is_alive(worker))
        fiber_sleep(&loop, 1);
    if (has_cgroup)
        await(is_dead, child);
    else
        (void)kill(child, SIGKILL);
    worker_close(worker);
}

static void test_the_end_of_a_worker_is_the_end_of_a_child_that_left(void **state) {
    assert_int_equal(fiber_start(ends_itself, NULL), 0);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    if (!has_cgroup)
        skip();
}

/* ---- without a cgroup */

static uv_process_t process;
static int ended_by;

static void on_end(uv_process_t *one, int64_t code, int number) {
    ended_by = number;
    uv_close((uv_handle_t *)one, NULL);
}

static void await_state(const struct cgroup *cgroup, int state) {
    for (int i = 0; cgroup_has_stopped(cgroup) != state; i++) {
        assert_true(i < PATIENCE_MS);
        (void)usleep(1000);
    }
}

static void test_without_a_cgroup_the_process_group_stops_and_ends(void **state) {
    char program[] = "sleep", seconds[] = "1000", *argv[] = {program, seconds, NULL};
    const uv_process_options_t options = {
        .exit_cb = on_end, .file = program, .args = argv, .flags = UV_PROCESS_DETACHED};
    struct cgroup cgroup = {.pid = 0};

    assert_int_equal(uv_spawn(&loop, &process, &options), 0);
    cgroup.pid = process.pid;
    assert_int_equal(cgroup_has_stopped(&cgroup), 0);
    assert_int_equal(cgroup_stop(&cgroup), 0);
    await_state(&cgroup, 1);
    cgroup_continue(&cgroup);
    await_state(&cgroup, 0);
    cgroup_kill(&cgroup);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(ended_by, SIGKILL);
    assert_true(cgroup_remove(&cgroup));
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(test_a_child_that_left_by_setsid_is_stopped_and_killed),
        TEST(test_the_end_of_a_worker_is_the_end_of_a_child_that_left),
        TEST(test_without_a_cgroup_the_process_group_stops_and_ends),
#undef TEST
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
