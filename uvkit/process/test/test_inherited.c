/* Descriptors that the launcher closed are open again. Signals that it ignored or blocked work
 * again. */
#include "inherited.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

struct launch {
    const char *name;
    void (*check)(void);
    int code;
};

/* Run `check` in a process that was launched badly. It must end with `code`. */
static void ends(void **state) {
    const struct launch *launch = *state;
    int status;
    const pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        launch->check();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), launch->code);
}

static void require(bool holds) {
    if (!holds)
        _exit(1);
}

static void close_some(unsigned closed) {
    for (int fd = 0; fd < 3; fd++)
        if ((closed >> fd & 1U) != 0)
            (void)close(fd);
}

static void mend_each_set_of_closed_ones(void) {
    for (unsigned closed = 1; closed < 8; closed++) {
        close_some(closed);
        inherited_mend();
        for (int fd = 0; fd < 3; fd++)
            require(fcntl(fd, F_GETFD) == 0);
        require(write(STDOUT_FILENO, "", 0) == 0);
        require(open("/dev/null", O_RDONLY) > STDERR_FILENO);
    }
}

static void mend_open_ones(void) {
    const int marked = open("/dev/zero", O_RDONLY);
    char byte = 1;

    require(dup2(marked, STDIN_FILENO) == STDIN_FILENO);
    inherited_mend();
    require(read(STDIN_FILENO, &byte, 1) == 1 && byte == 0);
}

static void mend_without_room(void) {
    (void)close(STDIN_FILENO);
    require(setrlimit(RLIMIT_NOFILE, &(struct rlimit){0, 0}) == 0);
    (void)close(STDERR_FILENO); /* it tells that there, and nobody reads it here */
    inherited_mend();
}

static void wait_for_a_child(void) {
    int status;
    pid_t child;

    (void)signal(SIGCHLD, SIG_IGN);
    inherited_mend();
    child = fork();
    if (child == 0)
        _exit(3);
    require(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 3);
}

static void look_at_the_mask(void) {
    sigset_t all, now;

    (void)sigfillset(&all);
    (void)sigprocmask(SIG_BLOCK, &all, NULL);
    inherited_mend();
    require(sigprocmask(SIG_BLOCK, NULL, &now) == 0 && sigisemptyset(&now));
}

static void write_too_much(void) {
    const int file = open("/tmp", O_TMPFILE | O_WRONLY, 0600);

    require(file >= 0 && setrlimit(RLIMIT_FSIZE, &(struct rlimit){0, 0}) == 0);
    inherited_mend();
    require(write(file, "x", 1) < 0 && errno == EFBIG);
}

static void look_at_sighup(void) {
    (void)signal(SIGHUP, SIG_IGN);
    inherited_mend();
    require(signal(SIGHUP, SIG_DFL) == SIG_IGN);
}

int main(void) {
    static struct launch launches[] = {
        {"test_closed_standard_descriptors_are_open_again", mend_each_set_of_closed_ones, 0},
        {"test_an_open_descriptor_stays_unchanged", mend_open_ones, 0},
        {"test_a_descriptor_that_cannot_be_opened_ends_the_program", mend_without_room, EX_OSERR},
        {"test_an_ignored_sigchld_hides_no_child_any_more", wait_for_a_child, 0},
        {"test_a_blocked_signal_arrives_again", look_at_the_mask, 0},
        {"test_a_file_that_grows_too_large_is_an_error", write_too_much, 0},
        {"test_an_ignored_sighup_stays_ignored", look_at_sighup, 0},
    };
    struct CMUnitTest tests[sizeof launches / sizeof *launches] = {{.name = NULL}};

    for (size_t i = 0; i < sizeof launches / sizeof *launches; i++)
        tests[i] = (struct CMUnitTest){
            .name = launches[i].name, .test_func = ends, .initial_state = &launches[i]};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
