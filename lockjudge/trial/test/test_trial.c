/* A trial calls prepare() before its workers start, and restore() after they have ended, in
 * whichever way it ends. */
#include "clock.h"
#include "fiber.h"
#include "line.h"
#include "own_folder.h"
#include "plan.h"
#include "test.h"
#include "trial.h"
#include "worker.h"

#include <string.h>
#include <unistd.h>

#define TTL_MS    50
#define LENGTH_MS 250
#define FOLDER    128

static uv_loop_t loop;
static struct why why;
static struct trial_outcome outcome;
static char calls[64]; /* a letter for each call of the fault */
static bool is_stopped;
static uint64_t setup_seed = 1;
static int prepare_code, restore_code, trial_code;
static enum fault_moment moment;
static bool second_hits_a_release; /* its victim had asked for it, and had no answer */

static void note(const char *letter) {
    (void)strncat(calls, letter, sizeof calls - strlen(calls) - 1);
}

static int prepare(struct fault_site *site, struct why *text) {
    note("p");
    assert_null(site->victim);
    assert_null(site->kept);
    assert_string_equal(site->lock_name, "stock");
    site->kept = calls;
    return prepare_code == 0 ? 0 : why_set(text, "it cannot be prepared");
}

static int begin(struct fault_site *site, struct why *text) {
    note("b");
    assert_non_null(site->victim);
    assert_ptr_equal(site->kept, calls);
    return 0;
}

static int end(struct fault_site *site, struct why *text) {
    note("e");
    return 0;
}

static int restore(struct fault_site *site, struct why *text) {
    note("r");
    assert_null(site->victim);
    assert_ptr_equal(site->kept, calls);
    trial_kill(); /* a signal may come here: no worker is left */
    return restore_code == 0 ? 0 : why_set(text, "it cannot be restored");
}

static int stop_and_begin(struct fault_site *site, struct why *text) {
    is_stopped = true;
    return begin(site, text);
}

static struct fault fault, second; /* without a name: no pair */

/* ---- the second fault of a pair */

static int prepare_code_2;

static int prepare_2(struct fault_site *site, struct why *text) {
    note("P");
    return prepare_code_2 == 0 ? 0 : why_set(text, "it cannot be prepared");
}

static int begin_2(struct fault_site *site, struct why *text) {
    note("B");
    assert_non_null(site->victim);
    return 0;
}

static int end_2(struct fault_site *site, struct why *text) {
    note("E");
    return 0;
}

static int restore_2(struct fault_site *site, struct why *text) {
    note("R");
    return 0;
}

static int set_up(void **state) {
    fault = (struct fault){.name = "test",
                           .about = "a test",
                           .prepare = prepare,
                           .begin = begin,
                           .end = end,
                           .restore = restore};
    calls[0] = why.text[0] = '\0';
    second = (struct fault){.name = NULL};
    prepare_code = prepare_code_2 = restore_code = 0;
    is_stopped = second_hits_a_release = false;
    moment = FAULT_AT_HELD;
    return uv_loop_init(&loop);
}

static int tear_down(void **state) {
    assert_int_equal(uv_loop_close(&loop), 0);
    fiber_cleanup();
    return 0;
}

static size_t checks_of_victim;

/* The checks of the worker that the fault hit, from its last grant before the fault to its release. */
static size_t count_checks(const struct history *history) {
    size_t hit = 0, checks = 0;

    while (hit < history->count && history->items[hit].kind != HISTORY_FAULT)
        hit++;
    for (size_t i = 0; hit < history->count && i < history->count; i++) {
        const struct history_item *item = &history->items[i];

        if (item->worker != history->items[hit].worker)
            continue;
        if (item->kind == HISTORY_ACQUIRE && i < hit)
            checks = 0;
        checks += item->kind == HISTORY_CHECK;
        if (item->kind == HISTORY_RELEASE && i > hit)
            break;
    }
    return checks;
}

static void look_at_releases(const struct history *history) {
    int64_t struck_ns = HISTORY_OPEN;

    for (size_t i = 0; i < history->count; i++)
        if (strcmp(history->items[i].text, "a second test") == 0)
            struck_ns = history->items[i].at_ns;
    for (size_t i = 0; i < history->count; i++) {
        const struct history_item *item = &history->items[i];

        if (item->kind == HISTORY_RELEASE && item->worker == outcome.second_victim &&
            item->at_ns < struck_ns && item->end_ns > struck_ns)
            second_hits_a_release = true;
    }
}

static char lock_folder[FOLDER]; /* it exists while a worker holds the lock */
static uint32_t heir;            /* the worker that gets the lock of the dead one */
static bool is_short, outlives;  /* the fault; the heir's hold outlives it */

static void find_heir(int64_t begun_ns) {
    const struct history *history = &outcome.history;

    for (size_t i = 0; i < history->count; i++)
        if (history->items[i].result == HISTORY_RESULT_HELD &&
            history->items[i].kind == HISTORY_ACQUIRE && history->items[i].end_ns > begun_ns)
            heir = history->items[i].worker;
}

static void look_at_heir(const struct history *history) {
    int64_t begun_ns = 0, ended_ns = 0;

    is_short = true;
    for (size_t i = 0; i < history->count; i++)
        if (strcmp(history->items[i].text, "a second test") == 0) {
            begun_ns = history->items[i].at_ns;
            ended_ns = history->items[i].end_ns;
            is_short = ended_ns - begun_ns < LENGTH_MS * 1000000;
        }
    for (size_t i = 0; i < history->count; i++)
        if (history->items[i].worker == heir && history->items[i].kind == HISTORY_RELEASE &&
            history->items[i].at_ns > begun_ns) {
            outlives = history->items[i].at_ns > ended_ns;
            break;
        }
}

static void runs(void *script) {
    char shell[] = "/bin/sh", option[] = "-c";
    char *command[] = {shell, option, script, NULL};
    const struct trial_setup setup = {
        .loop = &loop,
        .command = command,
        .url = "",
        .workers = 2,
        .ttl_ms = TTL_MS,
        .start_ms = 60000,
        .seed = setup_seed,
        .cases = {{&fault, moment}, {second.name != NULL ? &second : NULL, FAULT_AT_HELD}},
        .lock_name = "stock",
        .is_stopped = &is_stopped};

    trial_code = trial_run(&setup, &outcome, &why);
    checks_of_victim = count_checks(&outcome.history);
    look_at_releases(&outcome.history);
    look_at_heir(&outcome.history);
    history_free(&outcome.history);
}

static void run(const char *script) {
    assert_int_equal(fiber_start(runs, (void *)(uintptr_t)script), 0);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
}

/* Each worker gets the lock at once. */
static const char grants[] = "echo ready; while read -r verb rest; do case $verb in "
                             "release) echo released;; *) echo held -;; esac; done";

static void test_a_trial_prepares_and_restores(void **state) {
    run(grants);
    assert_string_equal(why.text, "");
    assert_int_equal(trial_code, 0);
    assert_string_equal(calls, "pber");
}

static void test_without_a_preparation_no_worker_starts(void **state) {
    prepare_code = -1;
    run("echo nonsense");
    assert_int_equal(trial_code, -1);
    assert_string_equal(why.text, "it cannot be prepared");
    assert_string_equal(calls, "pr");
}

static void test_a_broken_worker_is_no_reason_to_leave_the_server_broken(void **state) {
    run("echo nonsense");
    assert_int_equal(trial_code, -1);
    assert_string_equal(calls, "pr");
    calls[0] = '\0';
    run("echo ready; read -r acquire; echo held -; read -r check; echo nonsense");
    assert_int_equal(trial_code, -1);
    assert_non_null(strchr(calls, 'r'));
}

static void test_a_worker_that_closes_its_output_is_told(void **state) {
    run("echo ready; read -r acquire; echo too many locks >&2; exec 1>&-; read -r end");
    assert_int_equal(trial_code, -1);
    assert_memory_equal(why.text, "worker ", 7);
    assert_string_equal(why.text + 8, ": it closed its output, and runs on: too many locks");
}

static void test_an_end_by_the_user_restores(void **state) {
    fault.begin = stop_and_begin;
    run(grants);
    assert_string_equal(calls, "pber");
    calls[0] = '\0';
    run(grants); /* it is stopped from the beginning */
    assert_string_equal(calls, "pr");
}

static void test_a_server_that_cannot_be_restored_spoils_the_trial(void **state) {
    restore_code = -1;
    run(grants);
    assert_int_equal(trial_code, -1);
    assert_string_equal(why.text, "it cannot be restored");
}

/* The TTL of a lock may begin when the worker asks. */
static void test_a_holder_that_got_its_lock_late_does_not_outlive_its_ttl(void **state) {
    fault.most_pct = 50;
    do { /* a stall of the machine may end a trial early */
        calls[0] = '\0';
        run("echo ready; while read -r verb rest; do case $verb in release) echo released;; "
            "acquire) sleep 0.05; echo held -;; *) echo held -;; esac; done");
        assert_int_equal(trial_code, 0);
    } while (!outcome.has_struck);
    assert_int_equal(checks_of_victim, 1);
}

static int cannot_begin(struct fault_site *site, struct why *text) {
    note("b");
    (void)why_set(text, "no clock");
    return FAULT_UNASKED;
}

static void test_a_fault_that_cannot_be_asked_is_told(void **state) {
    fault.begin = cannot_begin;
    run(grants);
    assert_int_equal(trial_code, -1);
    assert_true(outcome.is_unasked);
    assert_string_equal(why.text, "no clock");
    assert_string_equal(calls, "pbr");
    fault.begin = begin;
    fault.caps = LINE_CAP_FORK | LINE_CAP_LOAD;
    calls[0] = '\0';
    run(grants);
    assert_true(outcome.is_unasked);
    assert_string_equal(why.text, "the worker does not say `fork,load`");
    assert_string_equal(calls, "pr");
}

static void make_pair(unsigned flags) {
    fault.least_pct = fault.most_pct = LENGTH_MS * 100 / TTL_MS;
    fault.flags = flags;
    second = (struct fault){.name = "second",
                            .about = "a second test",
                            .prepare = prepare_2,
                            .begin = begin_2,
                            .end = end_2,
                            .restore = restore_2};
}

static void test_the_second_fault_of_a_pair_strikes_before_the_trial_goes_on(void **state) {
    make_pair(0);
    run(grants);
    assert_int_equal(trial_code, 0);
    assert_true(outcome.has_struck);
    assert_int_equal(strlen(calls), 8);
    assert_memory_equal(calls, "pPb", 3); /* no stall decides the order of the ends */
    assert_non_null(strchr(calls, 'e'));
    assert_true(strchr(calls, 'B') < strchr(calls, 'E'));
    assert_string_equal(calls + 6, "Rr");
    assert_true(outcome.has_second_hit);
}

static void test_the_second_fault_leaves_a_stopped_worker_alone(void **state) {
    for (setup_seed = 1; setup_seed <= 4; setup_seed++) {
        calls[0] = '\0';
        make_pair(HISTORY_STOPS);
        run(grants);
        assert_int_equal(trial_code, 0);
        assert_true(outcome.has_second_hit);
        assert_int_not_equal(outcome.second_victim, plan_make(setup_seed, 2).victim);
    }
    setup_seed = 1;
}

static void test_a_worker_that_releases_is_no_holder(void **state) {
    moment = FAULT_AT_RELEASE;
    for (setup_seed = 1; setup_seed <= 4; setup_seed++) {
        calls[0] = '\0';
        make_pair(0);
        run("echo ready; while read -r verb rest; do case $verb in "
            "release) sleep 0.1; echo released;; *) echo held -;; esac; done");
        assert_int_equal(trial_code, 0);
        assert_true(outcome.has_second_hit);
        assert_false(second_hits_a_release);
    }
    setup_seed = 1;
}

/* ---- a server that takes long to forget */

static int kills(struct fault_site *site, struct why *text) {
    note("b");
    worker_kill(site->victim);
    return 0;
}

/* The lock ends of itself. It takes effect when another worker has got it. */
static int forgets_late(struct fault_site *site, struct why *text) {
    const int64_t begun_ns = clock_now_ns();

    note("B");
    heir = HISTORY_NOBODY;
    (void)rmdir(lock_folder);
    for (int turn = 0; heir == HISTORY_NOBODY && turn < 2000; turn++) {
        fiber_sleep(site->loop, 1);
        find_heir(begun_ns);
    }
    return 0;
}

static void test_a_server_that_forgets_keeps_each_earlier_holder(void **state) {
    char script[512], folder[FOLDER - 8];

    own_folder_make(folder, sizeof folder, "lockjudge-trial");
    (void)snprintf(lock_folder, sizeof lock_folder, "%s/lock", folder);
    (void)snprintf(script, sizeof script,
                   "echo ready caps=renew; while read -r verb rest; do case $verb in acquire) if "
                   "mkdir %s 2>/dev/null; then echo held -; else sleep .005; echo busy; fi;; "
                   "release) rmdir %s; echo released;; *) echo held -;; esac; done",
                   lock_folder, lock_folder);
    do { /* a stall of the machine may end a trial early */
        calls[0] = '\0';
        make_pair(HISTORY_KILLS);
        fault.begin = kills;
        fault.end = NULL;
        second.needs = FAULT_NEEDS_SERVER;
        second.flags = HISTORY_FORGETS;
        second.least_pct = second.most_pct = LENGTH_MS * 100 / TTL_MS;
        second.begin = forgets_late;
        second.end = end_2;
        (void)rmdir(lock_folder);
        run(script);
        assert_int_equal(trial_code, 0);
    } while (!outcome.has_struck || heir == HISTORY_NOBODY || is_short);
    assert_true(outlives);
    own_folder_remove(folder);
}

static void test_both_faults_of_a_pair_are_restored(void **state) {
    make_pair(0);
    prepare_code_2 = -1;
    run("echo nonsense");
    assert_int_equal(trial_code, -1);
    assert_string_equal(calls, "pPRr");
    calls[0] = '\0';
    make_pair(0);
    prepare_code = -1; /* the second one was never prepared */
    run("echo nonsense");
    assert_string_equal(calls, "pr");
}

int main(void) {
    static const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(test_a_trial_prepares_and_restores),
        TEST(test_without_a_preparation_no_worker_starts),
        TEST(test_a_broken_worker_is_no_reason_to_leave_the_server_broken),
        TEST(test_a_worker_that_closes_its_output_is_told),
        TEST(test_an_end_by_the_user_restores),
        TEST(test_a_server_that_cannot_be_restored_spoils_the_trial),
        TEST(test_a_holder_that_got_its_lock_late_does_not_outlive_its_ttl),
        TEST(test_a_fault_that_cannot_be_asked_is_told),
        TEST(test_the_second_fault_of_a_pair_strikes_before_the_trial_goes_on),
        TEST(test_the_second_fault_leaves_a_stopped_worker_alone),
        TEST(test_a_worker_that_releases_is_no_holder),
        TEST(test_a_server_that_forgets_keeps_each_earlier_holder),
        TEST(test_both_faults_of_a_pair_are_restored),
#undef TEST
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
