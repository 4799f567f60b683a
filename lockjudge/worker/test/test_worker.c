/* Workers that keep the protocol, and workers that talk nonsense, are silent, flood or die: each of
 * these is told by a clear error, and no process of theirs is left. */
#include "fiber.h"
#include "test.h"
#include "worker.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE_MS 20000

static uv_loop_t loop;
static struct worker *worker;
static struct why why;
static unsigned told, deaths;

static void on_told(struct worker *one, enum line_word word, void *data) {
    told += word == LINE_LOST;
}

static void on_death(struct worker *one, void *data) {
    deaths++;
}

static int set_up(void **state) {
    told = deaths = 0;
    why.text[0] = '\0';
    return uv_loop_init(&loop);
}

static int tear_down(void **state) {
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&loop), 0);
    fiber_cleanup();
    return 0;
}

static int start(const char *script) {
    char shell[] = "/bin/sh", option[] = "-c";
    char *argv[] = {shell, option, (char *)(uintptr_t)script, NULL};
    const struct worker_events events = {on_told, on_death, NULL};

    return worker_start(&worker, &loop, argv, 0, &events, NULL, &why);
}

/* ---- each test's course, in a fiber */

static void keeps_the_protocol(void *arg) {
    struct worker_answer answer;

    assert_int_equal(start("echo ready caps=ttl,fence; while read -r verb rest; do case $verb in "
                           "acquire) echo held 7;; check) echo '!lost'; echo lost;; release) echo "
                           "error no such lock;; esac; done"),
                     0);
    assert_int_equal(worker_await_ready(worker, PATIENCE_MS, &why), 0);
    assert_int_equal(worker_caps(worker), LINE_CAP_TTL | LINE_CAP_FENCE);
    assert_int_equal(worker_ask(worker, "acquire a 2000 0", PATIENCE_MS, &answer, &why), 0);
    assert_int_equal(answer.line.word, LINE_HELD);
    assert_int_equal(answer.line.fence, 7);
    assert_true(answer.sent_ns <= answer.answered_ns);
    assert_int_equal(worker_ask(worker, "check", PATIENCE_MS, &answer, &why), 0);
    assert_int_equal(answer.line.word, LINE_LOST);
    assert_int_equal(told, 1);
    assert_int_equal(worker_ask(worker, "release", PATIENCE_MS, &answer, &why), 0);
    assert_string_equal(answer.line.text, "no such lock");
    assert_null(worker_broken(worker));
    worker_close(worker);
}

static void test_a_worker_is_asked_and_answers(void **state) {
    assert_int_equal(fiber_start(keeps_the_protocol, NULL), 0);
}

/* Starts a bad worker, and asks it until it fails. */
static const struct {
    const char *script, *reason;
} bad[] = {
    {"echo hello", "\"hello\" begins with no word of the protocol"},
    {"echo ready caps=gold; cat >/dev/null", "no capability \"gold\""},
    {"echo held -; cat >/dev/null", "it said \"held\", which is no answer"},
    {"echo ready; echo ready; cat >/dev/null", "it said \"ready\", which is no answer"},
    {"printf 'ready\\nheld -\\n'; cat >/dev/null", "it said \"held\", which is no answer"},
    {"echo ready; read -r a; printf '\\033[2J\\n'; cat >/dev/null", "begins with no word"},
    {"echo ready; read -r a; yes busy", "it said \"busy\", which is no answer"},
    {"echo ready; read -r a; yes '!held'", "it floods: it said more than 10000 lines unasked"},
    {"echo ready; read -r a; head -c 5000 /dev/zero | tr '\\0' x; cat >/dev/null",
     "it floods: a line has more than 1023 bytes"},
    {"echo ready; read -r a; echo it broke >&2; exit 3", "it ended with exit code 3: it broke"},
    {"echo no such library >&2; exit 1", "exit code 1: no such library"},
    {"echo ready; kill -9 $$", "it ended with signal 9"},
    {"echo ready; read -r a; echo no pipe >&2; exec >&-; exec sleep 1000",
     "it closed its output, and runs on: no pipe"},
};

static void is_bad(void *arg) {
    const size_t i = *(size_t *)arg;
    struct worker_answer answer;
    int code = start(bad[i].script);

    assert_int_equal(code, 0);
    code = worker_await_ready(worker, PATIENCE_MS, &why);
    for (int asks = 0; code == 0 && asks < PATIENCE_MS; asks++) {
        code = worker_ask(worker, "check", PATIENCE_MS, &answer, &why);
        if (code == 0)
            fiber_sleep(&loop, 1); /* what it says too much may come a little later */
    }
    assert_int_equal(code, -1);
    if (strstr(why.text, bad[i].reason) == NULL)
        (void)fprintf(stderr, "%s\n", why.text);
    assert_non_null(strstr(why.text, "worker 1: "));
    assert_non_null(strstr(why.text, bad[i].reason));
    assert_int_equal(worker_ask(worker, "check", PATIENCE_MS, &answer, &why), -1);
    worker_close(worker);
}

static void test_a_bad_worker_is_told_with_the_reason(void **state) {
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(fiber_start(is_bad, &i), 0);
        assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    }
}

static void is_silent(void *arg) {
    struct worker_answer answer;

    assert_int_equal(start("echo ready; exec cat >/dev/null"), 0);
    assert_int_equal(worker_await_ready(worker, PATIENCE_MS, &why), 0);
    assert_int_equal(worker_ask(worker, "check", 20, &answer, &why), -1);
    assert_non_null(strstr(why.text, "it is silent: no answer to \"check\" within 20 ms"));
    worker_close(worker);
}

static void test_a_silent_worker_is_told(void **state) {
    assert_int_equal(fiber_start(is_silent, NULL), 0);
}

static void never_starts(void *arg) {
    char program[] = "/no/such/program";
    char *argv[] = {program, NULL};
    const struct worker_events events = {NULL, NULL, NULL};

    assert_int_equal(worker_start(&worker, &loop, argv, 0, &events, NULL, &why), -1);
    assert_non_null(strstr(why.text, "cannot start \"/no/such/program\": no such file"));
}

static void test_a_program_that_is_not_there_is_told(void **state) {
    assert_int_equal(fiber_start(never_starts, NULL), 0);
}

/* It may be a zombie that its new parent has not reaped. */
static bool is_dead(pid_t child) {
    char path[64], line[256];
    FILE *file;
    bool is_zombie;

    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)child);
    file = fopen(path, "r");
    if (file == NULL)
        return true;
    is_zombie = fgets(line, sizeof line, file) == NULL || strstr(line, ") Z ") != NULL;
    (void)fclose(file);
    return is_zombie;
}

/* The child of the worker is in its group. */
static void has_a_child(void *arg) {
    struct worker_answer answer;
    pid_t child;

    assert_int_equal(start("sleep 1000 & echo ready; read -r a; echo error $!; cat >/dev/null"), 0);
    assert_int_equal(worker_await_ready(worker, PATIENCE_MS, &why), 0);
    assert_int_equal(worker_ask(worker, "release", PATIENCE_MS, &answer, &why), 0);
    child = (pid_t)strtol(answer.line.text, NULL, 10);
    assert_true(child > 1);
    assert_int_equal(kill(child, 0), 0);
    worker_kill(worker);
    assert_false(worker_is_alive(worker));
    assert_int_equal(worker_ask(worker, "check", PATIENCE_MS, &answer, &why), -1);
    assert_string_equal(why.text, "worker 1 was killed");
    assert_null(worker_broken(worker));
    worker_close(worker);
    for (int i = 0; !is_dead(child); i++) {
        assert_true(i < PATIENCE_MS);
        fiber_sleep(&loop, 1);
    }
}

static void test_a_kill_reaches_the_children(void **state) {
    assert_int_equal(fiber_start(has_a_child, NULL), 0);
}

static struct worker_answer late;
static struct fiber_event has_answered;
static bool is_answered;

static void asks(void *arg) {
    assert_int_equal(worker_ask(worker, "check", 5000, &late, &why), 0);
    is_answered = true;
    fiber_event_set(&has_answered);
}

static void is_stopped(void *arg) {
    assert_int_equal(start("echo ready; while read -r a; do echo held; done"), 0);
    assert_int_equal(worker_await_ready(worker, PATIENCE_MS, &why), 0);
    assert_int_equal(worker_stop(worker), 0);
    is_answered = false;
    has_answered = (struct fiber_event)FIBER_EVENT_INIT;
    assert_int_equal(fiber_start(asks, NULL), 0);
    for (int i = 0; i < 30; i++)
        fiber_sleep(&loop, 1);
    assert_false(is_answered); /* a stopped process cannot answer */
    worker_continue(worker);
    fiber_event_wait(&has_answered);
    assert_int_equal(late.line.word, LINE_HELD);
    worker_close(worker);
}

static void test_a_stopped_worker_answers_when_it_runs_again(void **state) {
    assert_int_equal(fiber_start(is_stopped, NULL), 0);
}

/* ---- a worker that forks: the child is one more worker */

static int start_forking(const char *script) {
    const struct worker_options options = {.child_number = 3};
    const struct worker_events events = {on_told, on_death, NULL};
    char shell[] = "/bin/sh", option[] = "-c";
    char *argv[] = {shell, option, (char *)(uintptr_t)script, NULL};

    return worker_start(&worker, &loop, argv, 0, &events, &options, &why);
}

static void forks(void *arg) {
    struct worker *child;
    struct worker_answer answer;
    pid_t pid;

    assert_int_equal(start_forking("serve() { echo ready; while read -r verb; do case $verb in "
                                   "fork) who=child; serve <&3 >&4 & who=parent; echo forked $!;; "
                                   "check) echo error ${who:-nobody};; esac; done; }; serve"),
                     0);
    assert_int_equal(worker_await_ready(worker, PATIENCE_MS, &why), 0);
    assert_int_equal(worker_fork(worker, PATIENCE_MS, &child, &why), 0);
    assert_int_equal(worker_number(child), 3);
    assert_int_equal(worker_ask(worker, "check", PATIENCE_MS, &answer, &why), 0);
    assert_string_equal(answer.line.text, "parent");
    assert_int_equal(worker_ask(child, "check", PATIENCE_MS, &answer, &why), 0);
    assert_string_equal(answer.line.text, "child");
    pid = worker_group(child);
    assert_false(is_dead(pid));
    worker_end_child(child, PATIENCE_MS);
    assert_true(is_dead(pid));
    worker_close(child);
    assert_int_equal(worker_ask(worker, "check", PATIENCE_MS, &answer, &why), 0);
    assert_string_equal(answer.line.text, "parent");
    worker_close(worker);
}

static void test_a_worker_forks(void **state) {
    assert_int_equal(fiber_start(forks, NULL), 0);
}

/* A child that does not end is killed, and a child that nobody closed ends with its parent. */
static void has_stubborn_children(void *arg) {
    static const char script[] =
        "echo ready; while read -r verb; do (echo ready >&4; exec sleep 1000) & "
        "echo forked $!; done";
    struct worker *child;
    pid_t pid;

    assert_int_equal(start_forking(script), 0);
    assert_int_equal(worker_await_ready(worker, PATIENCE_MS, &why), 0);
    assert_int_equal(worker_fork(worker, PATIENCE_MS, &child, &why), 0);
    pid = worker_group(child);
    worker_end_child(child, 1);
    for (int i = 0; !is_dead(pid); i++) {
        assert_true(i < PATIENCE_MS);
        fiber_sleep(&loop, 1);
    }
    worker_close(child);
    worker_close(worker);
}

static void test_a_child_that_does_not_end_is_killed(void **state) {
    assert_int_equal(fiber_start(has_stubborn_children, NULL), 0);
}

/* Its child is asked, and will not answer: a kill of the worker ends that wait, too. */
static void kills_a_family(void *arg) {
    struct worker *child;
    struct worker_answer answer;

    assert_int_equal(start_forking("echo ready; read -r verb; (echo ready >&4; exec sleep 1000) & "
                                   "echo forked $!; cat >/dev/null"),
                     0);
    assert_int_equal(worker_await_ready(worker, PATIENCE_MS, &why), 0);
    assert_int_equal(worker_fork(worker, PATIENCE_MS, &child, &why), 0);
    worker_kill(worker);
    assert_int_equal(worker_ask(child, "check", UINT32_MAX, &answer, &why), -1);
    assert_string_equal(why.text, "worker 4: its output has ended");
    worker_close(child);
    worker_close(worker);
}

static void test_a_kill_ends_the_wait_for_a_child(void **state) {
    assert_int_equal(fiber_start(kills_a_family, NULL), 0);
}

static const struct {
    const char *answer, *reason;
} wrong_forks[] = {
    {"held -", "worker 1 answered \"held\" to \"fork\""},
    {"error no memory", "worker 1 cannot fork: no memory"},
    {"forked 1", "process id"},
    {"forked $PPID", "is its child, and it is not in its group"},
    {"forked $$", "worker 4: it is silent: no answer to \"(its start)\""},
};

static void forks_wrongly(void *arg) {
    const size_t i = *(size_t *)arg;
    struct worker *child;
    char script[200];

    (void)snprintf(script, sizeof script, "echo ready; while read -r verb; do echo %s; done",
                   wrong_forks[i].answer);
    assert_int_equal(start_forking(script), 0);
    assert_int_equal(worker_await_ready(worker, PATIENCE_MS, &why), 0);
    assert_int_equal(worker_fork(worker, i == 4 ? 100 : PATIENCE_MS, &child, &why), -1);
    if (strstr(why.text, wrong_forks[i].reason) == NULL)
        (void)fprintf(stderr, "%s\n", why.text);
    assert_non_null(strstr(why.text, wrong_forks[i].reason));
    worker_close(worker);
}

static void test_a_wrong_answer_to_fork_is_told(void **state) {
    for (size_t i = 0; i < sizeof wrong_forks / sizeof *wrong_forks; i++) {
        assert_int_equal(fiber_start(forks_wrongly, &i), 0);
        assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    }
}

static unsigned answers;

static void asks_too(void *arg) {
    struct worker_answer answer;

    assert_int_equal(worker_ask(worker, "check", PATIENCE_MS, &answer, &why), 0);
    answers++;
}

static void is_asked_by_three(void *arg) {
    assert_int_equal(start("echo ready; while read -r a; do echo held; done"), 0);
    assert_int_equal(worker_await_ready(worker, PATIENCE_MS, &why), 0);
    answers = 0;
    for (int i = 0; i < 3; i++)
        assert_int_equal(fiber_start(asks_too, NULL), 0);
    for (int i = 0; answers < 3; i++) {
        assert_true(i < PATIENCE_MS);
        fiber_sleep(&loop, 1);
    }
    worker_close(worker);
}

static void test_requests_of_several_fibers_follow_each_other(void **state) {
    assert_int_equal(fiber_start(is_asked_by_three, NULL), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(test_a_worker_is_asked_and_answers),
        TEST(test_a_bad_worker_is_told_with_the_reason),
        TEST(test_a_silent_worker_is_told),
        TEST(test_a_program_that_is_not_there_is_told),
        TEST(test_a_kill_reaches_the_children),
        TEST(test_a_stopped_worker_answers_when_it_runs_again),
        TEST(test_a_worker_forks),
        TEST(test_a_child_that_does_not_end_is_killed),
        TEST(test_a_kill_ends_the_wait_for_a_child),
        TEST(test_a_kill_ends_the_wait_for_a_child),
        TEST(test_a_wrong_answer_to_fork_is_told),
        TEST(test_requests_of_several_fibers_follow_each_other),
#undef TEST
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
