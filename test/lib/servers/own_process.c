/* Forks, sets up the child, and runs the program in it. */
#include "own_process.h"

#include "test.h"

#include <fcntl.h>
#include <grp.h>
#include <sys/prctl.h>
#include <unistd.h>

#define ARGUMENTS 40

static void serve(const char *output, const struct passwd *as, int dies_of, const char **argv) {
    int out = open(output != NULL ? output : "/dev/null", O_RDWR | O_CREAT | O_APPEND, 0600);

    if (as != NULL && (setgroups(0, NULL) != 0 || setgid(as->pw_gid) != 0 ||
                       setuid(as->pw_uid) != 0 || chdir("/") != 0))
        _exit(126);
    (void)prctl(PR_SET_PDEATHSIG, dies_of);
    (void)dup2(out, STDOUT_FILENO);
    if (output != NULL)
        (void)dup2(out, STDERR_FILENO);
    (void)execvp(argv[0], (char *const *)(uintptr_t)argv);
    _exit(127);
}

pid_t own_process_start(const char *output, const struct passwd *as, int dies_of,
                        const char *program, ...) {
    const char *argv[ARGUMENTS] = {program};
    va_list arguments;
    pid_t pid;

    va_start(arguments, program);
    for (int i = 1; argv[i - 1] != NULL; i++) {
        assert_true(i < ARGUMENTS);
        argv[i] = va_arg(arguments, const char *);
    }
    va_end(arguments);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        serve(output, as, dies_of, argv);
    return pid;
}

const struct passwd *own_process_postgres(void) {
    return geteuid() == 0 ? getpwnam("postgres") : NULL;
}
