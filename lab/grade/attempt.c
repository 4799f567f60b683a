/* The process that asks: starts the child, reads what it says, tells how it ended. */
#include "attempt_internal.h"

#include "clock.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define WALL_S 140 /* a machine that stands still: then there is no grade */

/* All of it, or less when it ends, time is over, or somebody interrupts. */
static size_t read_all(int from, void *to, size_t size, const volatile bool *is_interrupted,
                       bool *is_late) {
    const int64_t due_ms = clock_now_ms() + WALL_S * 1000;
    size_t have = 0;

    while (have < size && !*is_interrupted && clock_now_ms() < due_ms) {
        struct pollfd wanted = {.fd = from, .events = POLLIN};
        ssize_t got;

        if (poll(&wanted, 1, 100) <= 0)
            continue;
        got = read(from, (char *)to + have, size - have);
        if (got == 0 || (got < 0 && errno != EINTR))
            break;
        have += got > 0 ? (size_t)got : 0;
    }
    *is_late = clock_now_ms() >= due_ms;
    return have;
}

static void tell_death(struct attempt *attempt, int status) {
    const int with = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    const bool loops = WIFEXITED(status) && WEXITSTATUS(status) == ATTEMPT_LOOPS;

    *attempt = (struct attempt){.end = ATTEMPT_DIED};
    if (loops || with == SIGXCPU) {
        attempt->end = ATTEMPT_ENDLESS;
        (void)snprintf(attempt->summary, sizeof attempt->summary,
                       "it used up its time: a loop that asks nothing of the store does not end");
    } else if (with == SIGKILL) {
        attempt->end = ATTEMPT_BROKEN;
        (void)snprintf(attempt->summary, sizeof attempt->summary,
                       "a check was killed: has this machine too little memory?");
    } else if (with == 0) {
        (void)snprintf(attempt->summary, sizeof attempt->summary,
                       "it ended by itself, in the middle of a sale");
    } else if (with == SIGSYS) {
        (void)snprintf(attempt->summary, sizeof attempt->summary,
                       "it made a system call; a strategy acts through the store alone");
    } else {
        (void)snprintf(attempt->summary, sizeof attempt->summary,
                       "it was ended by signal %d (%s): a wild pointer, an array's end?", with,
                       strsignal(with));
    }
}

void attempt_make_plain(char *text) {
    for (; *text != '\0'; text++)
        if (((unsigned char)*text < ' ' && *text != '\n' && *text != '\t') || *text < 0 ||
            *text == 127)
            *text = '?';
}

static void broken(struct attempt *attempt, const char *what) {
    *attempt = (struct attempt){.end = ATTEMPT_BROKEN};
    (void)snprintf(attempt->summary, sizeof attempt->summary, "%s: %s", what, strerror(errno));
}

/* What a child says is bytes: its texts end, and its numbers are in their ranges. */
static void make_sane(struct attempt *attempt) {
    attempt->id[sizeof attempt->id - 1] = '\0';
    attempt->summary[sizeof attempt->summary - 1] = '\0';
    attempt->story[sizeof attempt->story - 1] = '\0';
    attempt_make_plain(attempt->id);
    attempt_make_plain(attempt->summary);
    attempt_make_plain(attempt->story);
    if ((int)attempt->end < ATTEMPT_HOLDS || attempt->end > ATTEMPT_BROKEN)
        attempt->end = ATTEMPT_DIED;
}

static void collect(pid_t child, int from, const volatile bool *is_interrupted,
                    struct attempt *attempt) {
    size_t have;
    bool is_late;
    pid_t ended;
    int status;

    have = read_all(from, attempt, sizeof *attempt, is_interrupted, &is_late);
    if (is_late || *is_interrupted)
        (void)kill(child, SIGKILL);
    do {
        ended = waitpid(child, &status, 0);
    } while (ended < 0 && errno == EINTR);
    if (ended >= 0)
        errno = ETIMEDOUT;
    if (*is_interrupted)
        *attempt = (struct attempt){.end = ATTEMPT_STOPPED};
    else if (ended < 0)
        broken(attempt, "waitpid");
    else if (is_late)
        broken(attempt, "a check did not end, be this machine as busy as it may");
    else if (have < sizeof *attempt)
        tell_death(attempt, status);
    make_sane(attempt);
}

void attempt_make(const char *path, const struct check *check, const volatile bool *is_interrupted,
                  struct attempt *attempt) {
    int ends[2];
    pid_t child;

    if (pipe(ends) != 0) {
        broken(attempt, "pipe");
        return;
    }
    (void)fflush(NULL);
    child = fork();
    if (child == 0) {
        (void)close(ends[0]);
        attempt_child(path, check, ends[1]);
    }
    (void)close(ends[1]);
    if (child < 0)
        broken(attempt, "fork");
    else
        collect(child, ends[0], is_interrupted, attempt);
    (void)close(ends[0]);
}
