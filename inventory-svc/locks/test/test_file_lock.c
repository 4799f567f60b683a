/* Locks on the disk: there is one holder, fibers and processes alike, and each end leaves its
 * traces. */
#include "fiber.h"
#include "file_lock.h"
#include "log.h"
#include "test.h"
#include "wait.h"

#include <dirent.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define CONTENDERS 12
#define TURNS      5
#define PATIENCE_S 60

static const enum file_lock_way ways[] = {FILE_MKDIR, FILE_FLOCK};
#define WAYS (sizeof ways / sizeof *ways)

static uv_loop_t loop;
static char base[64], dir[80];

static int set_up(void **state) {
    (void)alarm(PATIENCE_S);
    log_init("test", LOG_ERROR);
    assert_int_equal(uv_loop_init(&loop), 0);
    strcpy(base, "/tmp/file-lock-XXXXXX");
    assert_non_null(mkdtemp(base));
    (void)snprintf(dir, sizeof dir, "%s/locks", base);
    return 0;
}

static int tear_down(void **state) {
    (void)rmdir(dir);
    assert_int_equal(rmdir(base), 0); /* the test leaves nothing behind */
    assert_int_equal(uv_loop_close(&loop), 0);
    fiber_cleanup();
    return 0;
}

/* A test's body in a fiber, on the loop. */
static void in_fiber(fiber_fn body, void *arg) {
    assert_int_equal(fiber_start(body, arg), 0);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
}

static int try(enum file_lock_way way, struct file_lock **lock) {
    return file_lock_try(&loop, dir, way, "name", lock);
}

static unsigned count_entries(void) {
    DIR *entries = opendir(dir);
    unsigned count = 0;

    assert_non_null(entries);
    for (const struct dirent *at; (at = readdir(entries)) != NULL;)
        count += at->d_name[0] != '.';
    (void)closedir(entries);
    return count;
}

static void take_and_give_back(void *arg) {
    struct file_lock *lock, *other;

    for (size_t i = 0; i < WAYS; i++) {
        assert_int_equal(try(ways[i], &lock), 0);
        assert_int_equal(try(ways[i], &other), UV_EBUSY);
        assert_null(other);
        assert_int_equal(count_entries(), 1);
        file_lock_release(&loop, lock);
        assert_int_equal(count_entries(), 0);
        assert_int_equal(try(ways[i], &lock), 0);
        file_lock_release(&loop, lock);
    }
}

static void test_a_lock_has_one_holder_and_leaves_nothing(void **state) {
    in_fiber(take_and_give_back, NULL);
}

static void leave(void *arg) {
    struct file_lock *lock;
    char path[100];

    assert_int_equal(try(FILE_FLOCK, &lock), 0);
    file_lock_leave(lock);
    assert_int_equal(try(FILE_FLOCK, &lock), 0);
    file_lock_release(&loop, lock);
    assert_int_equal(try(FILE_MKDIR, &lock), 0);
    file_lock_leave(lock);
    assert_int_equal(try(FILE_MKDIR, &lock), UV_EBUSY);
    (void)snprintf(path, sizeof path, "%s/name", dir);
    assert_int_equal(rmdir(path), 0);
}

static void test_a_directory_that_is_left_stays_and_a_file_is_free(void **state) {
    in_fiber(leave, NULL);
}

/* ---- Many at a time */

static unsigned holders, most, turns;

static void contend(void *arg) {
    const enum file_lock_way way = *(const enum file_lock_way *)arg;

    for (int i = 0; i < TURNS; i++) {
        struct file_lock *lock;
        int err;

        while ((err = try(way, &lock)) == UV_EBUSY)
            fiber_sleep(&loop, 1);
        assert_int_equal(err, 0);
        holders++;
        most = holders > most ? holders : most;
        fiber_sleep(&loop, 0);
        holders--;
        turns++;
        file_lock_release(&loop, lock);
    }
}

static void test_of_many_one_at_a_time_has_it(void **state) {
    for (size_t i = 0; i < WAYS; i++) {
        enum file_lock_way way = ways[i];

        holders = most = turns = 0;
        for (int j = 0; j < CONTENDERS; j++)
            assert_int_equal(fiber_start(contend, &way), 0);
        (void)uv_run(&loop, UV_RUN_DEFAULT);
        assert_int_equal(turns, CONTENDERS * TURNS);
        assert_int_equal(most, 1);
    }
}

/* ---- Another process */

static void take_both(void *arg) {
    struct file_lock *lock;

    for (size_t i = 0; i < WAYS; i++)
        if (file_lock_try(&loop, dir, ways[i], ways[i] == FILE_MKDIR ? "d" : "f", &lock) != 0)
            _exit(1);
    if (write(*(int *)arg, "!", 1) != 1)
        _exit(1);
    fiber_sleep(&loop, 1000ULL * PATIENCE_S);
}

static pid_t start_holder(void) {
    int ends[2];
    char said;
    pid_t pid;

    assert_int_equal(pipe(ends), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (uv_loop_init(&loop) != 0 || fiber_start(take_both, &ends[1]) != 0)
            _exit(1);
        (void)uv_run(&loop, UV_RUN_DEFAULT);
        _exit(1);
    }
    (void)close(ends[1]);
    assert_int_equal(read(ends[0], &said, 1), 1);
    (void)close(ends[0]);
    return pid;
}

static void look_while_held(void *arg) {
    struct file_lock *lock;

    assert_int_equal(file_lock_try(&loop, dir, FILE_MKDIR, "d", &lock), UV_EBUSY);
    assert_int_equal(file_lock_try(&loop, dir, FILE_FLOCK, "f", &lock), UV_EBUSY);
}

static void look_after_the_kill(void *arg) {
    struct file_lock *lock;
    char path[100];

    assert_int_equal(file_lock_try(&loop, dir, FILE_MKDIR, "d", &lock), UV_EBUSY);
    assert_int_equal(file_lock_try(&loop, dir, FILE_FLOCK, "f", &lock), 0);
    file_lock_release(&loop, lock);
    (void)snprintf(path, sizeof path, "%s/d", dir);
    assert_int_equal(rmdir(path), 0);
}

static void test_a_killed_process_leaves_its_directory_and_no_file_lock(void **state) {
    pid_t holder = start_holder();

    in_fiber(look_while_held, NULL);
    assert_int_equal(kill(holder, SIGKILL), 0);
    assert_int_equal(waitpid(holder, NULL, 0), holder);
    in_fiber(look_after_the_kill, NULL);
}

/* ---- The directory */

static void be_refused(void *arg) {
    struct file_lock *lock;

    for (size_t i = 0; i < WAYS; i++) {
        int err = try(ways[i], &lock);

        assert_true(err == *(int *)arg);
        assert_null(lock);
    }
}

static void test_the_directory_is_made_for_its_user_alone(void **state) {
    struct stat stat_of_dir;

    in_fiber(take_and_give_back, NULL);
    assert_int_equal(stat(dir, &stat_of_dir), 0);
    assert_int_equal(stat_of_dir.st_mode & 0777, 0700);
}

static void test_a_directory_that_others_may_write_in_is_refused(void **state) {
    int err = UV_EPERM;

    assert_int_equal(mkdir(dir, 0700), 0);
    assert_int_equal(chmod(dir, 0777), 0);
    in_fiber(be_refused, &err);
}

static void test_a_link_is_no_directory(void **state) {
    int err = UV_ENOTDIR;

    assert_int_equal(symlink(base, dir), 0);
    in_fiber(be_refused, &err);
    assert_int_equal(unlink(dir), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(test_a_lock_has_one_holder_and_leaves_nothing),
        TEST(test_a_directory_that_is_left_stays_and_a_file_is_free),
        TEST(test_of_many_one_at_a_time_has_it),
        TEST(test_a_killed_process_leaves_its_directory_and_no_file_lock),
        TEST(test_the_directory_is_made_for_its_user_alone),
        TEST(test_a_directory_that_others_may_write_in_is_refused),
        TEST(test_a_link_is_no_directory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
