/* Locks in folders: with killed holders, reused process numbers, full disks, and files that others
 * left behind. */
#include "fixture.h"
#include "holder.h"
#include "log.h"
#include "own_folder.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOG_SIZE 512

static const char *const kinds[] = {"flock", "mkdir"};

struct env {
    struct fixture fixture;
    char folder[64], url[96];
    const char *why;
};

static int set_up(void **state, int kind) {
    struct env *env = fixture_open(state, sizeof *env, NULL);

    own_folder_make(env->folder, sizeof env->folder, "lockkit-file");
    (void)snprintf(env->url, sizeof env->url, "file:%s?kind=%s", env->folder, kinds[kind]);
    (void)snprintf(env->fixture.name, sizeof env->fixture.name, "x");
    env->fixture.client = open_client(&env->fixture, env->url);
    env->fixture.lock = open_lock(&env->fixture, env->fixture.client, 2000);
    return 0;
}

static int set_up_flock(void **state) {
    return set_up(state, 0);
}

static int set_up_mkdir(void **state) {
    return set_up(state, 1);
}

static int tear_down(void **state) {
    struct env *env = *state;

    fixture_end(&env->fixture);
    own_folder_remove(env->folder);
    free(env);
    return 0;
}

/* The path of a file in the folder, until the next call. */
static const char *path_of(const struct env *env, const char *file) {
    static char path[128];

    (void)snprintf(path, sizeof path, "%s/%s", env->folder, file);
    return path;
}

static void write_text(const struct env *env, const char *file, const char *text) {
    FILE *to = fopen(path_of(env, file), "w");

    assert_non_null(to);
    assert_true(fputs(text, to) >= 0);
    assert_int_equal(fclose(to), 0);
}

static enum lk_status attempt(struct env *env, struct caller *caller) {
    return take(&env->fixture, caller, env->fixture.lock, LK_TRY);
}

static void note_refusal(enum log_level level, const char *message, const char *pairs, void *data) {
    if (level == LOG_WARN && strcmp(message, "a lock in a file is refused") == 0)
        (void)snprintf(data, LOG_SIZE, "%s", pairs);
}

/* An attempt is refused, and the log says why. */
static void assert_refused(struct env *env, const char *why) {
    struct caller caller;
    char log[LOG_SIZE] = "";

    log_set_sink(note_refusal, log);
    assert_int_equal(attempt(env, &caller), LK_REFUSED);
    log_set_sink(NULL, NULL);
    assert_non_null(strstr(log, why));
}

static void test_lock_of_a_killed_process_is_free(void **state) {
    struct env *env = *state;
    struct holder holder;
    struct caller caller;

    holder_start(&holder, env->url, env->fixture.name, 1000);
    WAIT_FOR(&env->fixture.loop, holder_has_news(&holder));
    assert_int_equal(attempt(env, &caller), LK_BUSY);
    start(&caller, env->fixture.lock, LK_FOREVER);
    holder_end(&holder);
    WAIT_FOR(&env->fixture.loop, caller.calls == 1);
    assert_int_equal(caller.status, LK_OK);
    assert_true(lk_lease_fence(caller.lease) > holder.news.fence);
    assert_int_equal(give(&env->fixture, &caller), LK_OK);
}

/* There is no TTL: a stopped holder is not dead. */
static void test_stopped_holder_keeps_its_lock(void **state) {
    struct env *env = *state;
    struct holder holder;
    struct caller caller;

    holder_start(&holder, env->url, env->fixture.name, 100);
    WAIT_FOR(&env->fixture.loop, holder_has_news(&holder));
    assert_int_equal(kill(holder.pid, SIGSTOP), 0);
    time_out(&env->fixture, &caller, env->fixture.lock);
    holder_end(&holder);
}

static void test_waiter_is_woken_by_the_release_of_another_client(void **state) {
    struct env *env = *state;
    lk_client *client = open_client(&env->fixture, env->url);
    struct caller first, second;
    lk_lock *lock;

    assert_int_equal(attempt(env, &first), LK_OK);
    lock = open_lock_as(&env->fixture, client, (struct lk_lock_options){.poll_ms = 60000});
    start(&second, lock, LK_FOREVER);
    turn(&env->fixture, 20);
    assert_int_equal(give(&env->fixture, &first), LK_OK);
    await_and_give(&env->fixture, &second);
    close_client(&env->fixture, client);
}

/* The one that gives back keeps its guard longer than a waiter waits, as on a slow disk: waiters
 * hear of the free lock before the guard is free. */
static void test_waiter_comes_again_when_the_guard_is_free(void **state) {
    struct env *env = *state;
    struct caller first, second;
    lk_lock *lock;
    int guard;

    assert_int_equal(attempt(env, &first), LK_OK);
    lock = open_lock_as(&env->fixture, env->fixture.client,
                        (struct lk_lock_options){.poll_ms = 60000});
    start(&second, lock, LK_FOREVER);
    WAIT_FOR(&env->fixture.loop, lk_request_round_trips(second.request) > 0);
    guard = open(path_of(env, "x.guard"), O_RDONLY);
    assert_int_equal(flock(guard, LOCK_EX), 0);
    assert_int_equal(unlink(path_of(env, "x.held/owner")), 0);
    assert_int_equal(rmdir(path_of(env, "x.held")), 0);
    WAIT_FOR(&env->fixture.loop, lk_request_round_trips(second.request) > 4);
    assert_int_equal(second.calls, 0);
    (void)close(guard);
    WAIT_FOR(&env->fixture.loop, second.calls == 1);
    assert_int_equal(second.status, LK_OK);
    assert_int_equal(give(&env->fixture, &first), LK_LOST);
    assert_int_equal(give(&env->fixture, &second), LK_OK);
}

static void test_full_disk_is_told_and_leaves_nothing_held(void **state) {
    struct env *env = *state;
    struct rlimit limit, none;
    struct caller caller;
    uint64_t fence;

    assert_int_equal(attempt(env, &caller), LK_OK);
    fence = lk_lease_fence(caller.lease);
    assert_int_equal(give(&env->fixture, &caller), LK_OK);
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    none = (struct rlimit){0, limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    assert_refused(env, "File too large");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_int_equal(attempt(env, &caller), LK_OK);
    assert_true(lk_lease_fence(caller.lease) > fence);
    assert_int_equal(give(&env->fixture, &caller), LK_OK);
}

static void test_holder_keeps_its_lock_when_descriptors_run_out(void **state) {
    struct env *env = *state;
    struct rlimit limit, none;
    struct caller holder, caller;
    lk_lock *other;
    int next;

    assert_int_equal(lk_lock_open(&other, env->fixture.client, "y", NULL), LK_OK);
    assert_int_equal(take(&env->fixture, &holder, other, LK_TRY), LK_OK);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    next = dup(STDIN_FILENO);
    assert_true(next >= 0);
    (void)close(next);
    none = (struct rlimit){(rlim_t)next, limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    assert_refused(env, "Too many open files: raise RLIMIT_NOFILE (ulimit -n)");
    assert_int_equal(lk_lease_check(holder.lease, 1000), LK_OK);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(attempt(env, &caller), LK_OK);
    assert_int_equal(give(&env->fixture, &caller), LK_OK);
    assert_int_equal(give(&env->fixture, &holder), LK_OK);
    lk_lock_close(other);
}

static void test_damaged_counter_is_refused_and_never_begun_anew(void **state) {
    struct env *env = *state;

    write_text(env, "x.lock", "\001?\n");
    write_text(env, "x.fence", "\001?\n");
    assert_refused(env, "fencing token: Bad message");
}

static void test_folder_that_others_may_write_to_is_refused(void **state) {
    struct env *env = *state;
    struct caller caller;

    assert_int_equal(chmod(env->folder, 0777), 0);
    assert_refused(env, "may write to it: chmod 700");
    assert_int_equal(chmod(env->folder, 0700), 0);
    assert_int_equal(attempt(env, &caller), LK_OK);
    assert_int_equal(give(&env->fixture, &caller), LK_OK);
}

struct process {
    unsigned long long started, space;
    char boot[37];
};

/* This process, from its own record. */
static struct process read_self(struct env *env) {
    struct process self;
    struct caller caller;
    FILE *file;

    obtain(&env->fixture, &caller, env->fixture.lock, LK_TRY);
    file = fopen(path_of(env, "x.held/owner"), "r");
    assert_non_null(file);
    assert_int_equal(
        fscanf(file, "%*s %*s %*s %llu %llu %36s", &self.started, &self.space, self.boot), 3);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(give(&env->fixture, &caller), LK_OK);
    return self;
}

static void remove_held(struct env *env) {
    assert_int_equal(unlink(path_of(env, "x.held/owner")), 0);
    assert_int_equal(rmdir(path_of(env, "x.held")), 0);
}

/* A folder that was left by a holder with our process number. */
static void leave_behind(struct env *env, const struct process *holder) {
    char text[256];

    assert_int_equal(mkdir(path_of(env, "x.held"), 0700), 0);
    (void)snprintf(text, sizeof text, "7 %040d %d %llu %llu %s someone\n", 1, (int)getpid(),
                   holder->started, holder->space, holder->boot);
    write_text(env, "x.held/owner", text);
    write_text(env, "x.fence", text);
}

static void test_holder_that_had_our_number_deceives_nobody(void **state) {
    static const struct {
        const char *what;
        unsigned started, space; /* its start time differs from ours by so much */
        bool is_of_another_boot;
        uint64_t fence; /* the token of the next grant; 0: none */
    } cases[] = {
        {"it lives", 0, 0, false, 0},
        {"it is dead, and its number is in use again", 1, 0, false, 8},
        {"it is of an earlier boot", 0, 0, true, 9},
        {"it is in another namespace: whether it lives cannot be seen", 1, 1, false, 0},
    };
    struct env *env = *state;
    const struct process self = read_self(env);

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct process holder = self;
        struct caller caller;

        holder.started += cases[i].started;
        holder.space += cases[i].space;
        if (cases[i].is_of_another_boot)
            holder.boot[0] = self.boot[0] == '0' ? '1' : '0';
        leave_behind(env, &holder);
        if (attempt(env, &caller) != (cases[i].fence > 0 ? LK_OK : LK_BUSY))
            fail_msg("%s: %s", cases[i].what, lk_status_text(caller.status));
        if (cases[i].fence == 0) {
            remove_held(env);
            continue;
        }
        assert_int_equal(lk_lease_fence(caller.lease), cases[i].fence);
        assert_int_equal(give(&env->fixture, &caller), LK_OK);
    }
}

static void test_folder_of_a_script_excludes_until_it_is_removed(void **state) {
    struct env *env = *state;
    struct caller caller;

    assert_int_equal(mkdir(path_of(env, "x.held"), 0700), 0);
    assert_int_equal(attempt(env, &caller), LK_BUSY);
    assert_int_equal(rmdir(path_of(env, "x.held")), 0);
    assert_int_equal(attempt(env, &caller), LK_OK);
    assert_int_equal(give(&env->fixture, &caller), LK_OK);
}

static void test_what_a_death_in_the_middle_leaves_is_cleared(void **state) {
    struct env *env = *state;
    struct caller caller;

    assert_int_equal(mkdir(path_of(env, "x.coming"), 0700), 0);
    write_text(env, "x.coming/owner", "half");
    assert_int_equal(mkdir(path_of(env, "x.going"), 0700), 0);
    write_text(env, "x.going/owner", "half");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(attempt(env, &caller), LK_OK);
        assert_int_equal(give(&env->fixture, &caller), LK_OK);
    }
    assert_int_not_equal(access(path_of(env, "x.coming"), F_OK), 0);
    assert_int_not_equal(access(path_of(env, "x.going"), F_OK), 0);
    write_text(env, "x.coming", "half");
    assert_int_equal(attempt(env, &caller), LK_OK);
    assert_int_equal(give(&env->fixture, &caller), LK_OK);
}

static void on_state(lk_lease *lease, enum lk_state state, const char *why, void *data) {
    struct env *env = data;

    (void)lease;
    assert_int_equal(state, LK_LOST_STATE);
    env->why = why;
}

static void test_holder_hears_that_its_folder_was_taken_away(void **state) {
    struct env *env = *state;
    struct caller caller;
    char gone[96];

    assert_int_equal(attempt(env, &caller), LK_OK);
    lk_lease_on_state(caller.lease, on_state, env);
    (void)snprintf(gone, sizeof gone, "%s/gone", env->folder);
    assert_int_equal(rename(path_of(env, "x.held"), gone), 0);
    WAIT_FOR(&env->fixture.loop, env->why);
    assert_int_equal(give(&env->fixture, &caller), LK_LOST);
}

static void assert_label(struct env *env, const char *before, pid_t pid, const char *after) {
    struct inspected seen = inspect_lock(&env->fixture, env->fixture.lock);
    char label[64];

    (void)snprintf(label, sizeof label, "%s process %d%s", before, (int)pid, after);
    assert_int_equal(seen.holders, 1);
    assert_string_equal(seen.label, label);
}

static void test_process_without_lockkit_is_named_by_its_number(void **state) {
    struct env *env = *state;
    int file = open(path_of(env, "x.lock"), O_RDONLY | O_CREAT, 0600);

    assert_int_equal(flock(file, LOCK_EX), 0);
    assert_label(env, "the", getpid(), " (without lockkit)");
    assert_int_equal(close(file), 0);
    (void)use_once(&env->fixture, env->fixture.lock, LK_FOREVER);
    assert_int_equal(inspect_lock(&env->fixture, env->fixture.lock).holders, 0);
}

/* A holder that ends without a release. Its child writes its number, and stays. */
static void hold_and_leave_a_child(const char *url, int to) {
    lk_sync *sync;
    lk_held *held;
    pid_t pid;

    if (lk_sync_open(&sync, url, NULL) != LK_OK ||
        lk_sync_acquire(sync, "x", NULL, LK_TRY, &held) != LK_OK)
        _exit(1);
    pid = fork();
    while (pid == 0)
        (void)pause();
    _exit(write(to, &pid, sizeof pid) == sizeof pid ? 0 : 1);
}

static void test_child_of_a_dead_holder_is_named(void **state) {
    struct env *env = *state;
    int ends[2], status;
    pid_t holder, child;

    assert_int_equal(pipe(ends), 0);
    holder = fork();
    if (holder == 0)
        hold_and_leave_a_child(env->url, ends[1]);
    assert_int_equal(close(ends[1]), 0);
    assert_int_equal(read(ends[0], &child, sizeof child), sizeof child);
    assert_int_equal(waitpid(holder, &status, 0), holder);
    assert_label(env, "a child of", holder, ", which has ended");
    assert_int_equal(kill(child, SIGKILL), 0);
    (void)use_once(&env->fixture, env->fixture.lock, LK_FOREVER);
    assert_int_equal(close(ends[0]), 0);
}

#define FLOCK(test)                                                                                \
    { "flock: " #test, test, set_up_flock, tear_down, NULL }
#define MKDIR(test)                                                                                \
    { "mkdir: " #test, test, set_up_mkdir, tear_down, NULL }

int main(void) {
    static const struct CMUnitTest tests[] = {
        FLOCK(test_lock_of_a_killed_process_is_free),
        MKDIR(test_lock_of_a_killed_process_is_free),
        FLOCK(test_stopped_holder_keeps_its_lock),
        MKDIR(test_stopped_holder_keeps_its_lock),
        FLOCK(test_process_without_lockkit_is_named_by_its_number),
        FLOCK(test_child_of_a_dead_holder_is_named),
        FLOCK(test_waiter_is_woken_by_the_release_of_another_client),
        MKDIR(test_waiter_is_woken_by_the_release_of_another_client),
        MKDIR(test_waiter_comes_again_when_the_guard_is_free),
        FLOCK(test_full_disk_is_told_and_leaves_nothing_held),
        MKDIR(test_full_disk_is_told_and_leaves_nothing_held),
        FLOCK(test_holder_keeps_its_lock_when_descriptors_run_out),
        MKDIR(test_holder_keeps_its_lock_when_descriptors_run_out),
        FLOCK(test_damaged_counter_is_refused_and_never_begun_anew),
        MKDIR(test_damaged_counter_is_refused_and_never_begun_anew),
        FLOCK(test_folder_that_others_may_write_to_is_refused),
        MKDIR(test_holder_that_had_our_number_deceives_nobody),
        MKDIR(test_folder_of_a_script_excludes_until_it_is_removed),
        MKDIR(test_what_a_death_in_the_middle_leaves_is_cleared),
        MKDIR(test_holder_hears_that_its_folder_was_taken_away),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
