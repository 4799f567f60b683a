/* The compiler as a child process: no shell, little of our environment, bounded in time and size.
 */
#include "student_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define CPU_S   20
#define MEMORY  ((rlim_t)1 << 30)
#define DISK    ((rlim_t)16 << 20)
#define FILES   64

#define LIMITED 125 /* the exit code of a child that cannot set its limits */

/* Without root a lower limit of the shell cannot be raised. */
static void limit(__rlimit_resource_t what, rlim_t most) {
    if (setrlimit(what, &(struct rlimit){most, most}) != 0)
        _exit(LIMITED);
}

_Noreturn static void run(const char *const *arguments, const char *folder, int output) {
    char path[PATH_MAX], temporary[128], locale[] = "LC_ALL=C",
                                         *environment[] = {path, temporary, locale, NULL};
    const char *own = getenv("PATH");

    (void)snprintf(path, sizeof path, "PATH=%s", own != NULL ? own : "/usr/bin:/bin");
    (void)snprintf(temporary, sizeof temporary, "TMPDIR=%s", folder);
    (void)signal(SIGXFSZ, SIG_DFL);
    limit(RLIMIT_CPU, CPU_S);
    limit(RLIMIT_AS, MEMORY);
    limit(RLIMIT_FSIZE, DISK);
    limit(RLIMIT_NOFILE, FILES);
    limit(RLIMIT_CORE, 0);
    if (chdir(folder) != 0 || dup2(open("/dev/null", O_RDONLY), STDIN_FILENO) < 0 ||
        dup2(output, STDOUT_FILENO) < 0 || dup2(output, STDERR_FILENO) < 0)
        _exit(126);
    (void)execvpe(arguments[0], (char *const *)(uintptr_t)arguments, environment);
    _exit(127);
}

/* What it said, as much as there is room for; the rest is read and forgotten, so that it ends. */
static void collect(int from, struct student_file *file) {
    char rest[4096];
    size_t have = 0;
    ssize_t got;

    do {
        const size_t room = sizeof file->message - 1 - have;

        got = room > 0 ? read(from, file->message + have, room) : read(from, rest, sizeof rest);
        if (got > 0 && room > 0)
            have += (size_t)got;
    } while (got > 0 || (got < 0 && errno == EINTR));
    file->message[have] = '\0';
}

static enum student_end broken(struct student_file *file, const char *what, const char *why) {
    (void)student_refuse(file, "%s: %s", what, why);
    return STUDENT_BROKEN;
}

static enum student_end tell_end(struct student_file *file, const char *compiler, int status) {
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return STUDENT_OK;
    if (WIFEXITED(status) && WEXITSTATUS(status) == LIMITED)
        return broken(file, compiler, "this shell allows it too little: see ulimit -a");
    if (WIFEXITED(status) && WEXITSTATUS(status) >= 126)
        return broken(file, compiler, "this compiler could not be run; install it, or set CC");
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGINT)
        return broken(file, compiler, "stopped");
    /* gcc tells it of the program that it runs, with a request to report a bug */
    if (WIFSIGNALED(status) || file->message[0] == '\0' ||
        strstr(file->message, "signal terminated program") != NULL)
        return student_refuse(file, "%s: the compiler did not come to an end with it", file->name);
    return STUDENT_REFUSED;
}

enum student_end compiler_run(const char *const *arguments, struct student_file *file) {
    int ends[2], status;
    pid_t child, ended;

    if (pipe2(ends, O_CLOEXEC) != 0)
        return broken(file, "pipe", strerror(errno));
    child = fork();
    if (child == 0)
        run(arguments, file->folder, ends[1]);
    (void)close(ends[1]);
    if (child > 0)
        collect(ends[0], file);
    (void)close(ends[0]);
    if (child < 0)
        return broken(file, "fork", strerror(errno));
    do {
        ended = waitpid(child, &status, 0);
    } while (ended < 0 && errno == EINTR);
    if (ended < 0)
        return broken(file, "waitpid", strerror(errno));
    return tell_end(file, arguments[0], status);
}
