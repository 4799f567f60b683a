/* Opens the shared object, checks the members of its strategy, and watches its code. */
#include "exercise.h"

#include "crash.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#define SYMBOL        "strategy_exercise"
#define NAME          "exercise"
#define SHARDS_MAX    1000
#define TAKES_ALL     (TAKES_CART * 2U - 1)
#define X(name, with) +1
#define SERVERS       (0 STRATEGY_SERVERS(X))

/* The fault of the exercise, or NULL. */
static const char *fault_of(const struct strategy *it) {
    if (it->name == NULL || strcmp(it->name, NAME) != 0)
        return "its .name is not \"" NAME "\"";
    if (it->family == NULL || it->summary == NULL || it->promise == NULL || it->breaks == NULL ||
        it->source == NULL)
        return "it lacks one of the texts .family, .summary, .promise, .breaks, .source";
    if (it->sell == NULL)
        return "it has no .sell";
    if (it->takes > TAKES_ALL)
        return "its .takes has bits that are not options";
    if (it->needs > SERVERS)
        return "its .needs is not a server";
    if (it->default_shards < 1 || it->default_shards > SHARDS_MAX)
        return "its .default_shards is not 1..1000";
    return NULL;
}

static int exercise_refuse(int code, const char *what, struct why *why) {
    (void)why_set(why, "%s", what);
    return code;
}

int exercise_load(const char *file, const struct strategy **strategy, struct why *why) {
    char *path = realpath(file, NULL); /* dlopen() searches elsewhere for a name without a slash */
    const struct strategy *it;
    const char *fault;
    void *object;

    if (path == NULL)
        return exercise_refuse(EX_NOINPUT, strerror(errno), why);
    object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    free(path);
    if (object == NULL)
        return exercise_refuse(EX_DATAERR, dlerror(), why);
    it = dlsym(object, SYMBOL);
    fault = it == NULL ? "it defines no " SYMBOL : fault_of(it);
    if (fault != NULL) {
        (void)dlclose(object);
        return exercise_refuse(EX_DATAERR, fault, why);
    }
    *strategy = it;
    return 0;
}

/* ---- watch its code */

#define TICK_NS 500000000 /* of CPU time: the loop turns much more often */

static struct {
    char note[PATH_MAX];
    uv_loop_t *loop;
    uint64_t turn_ms; /* the loop's time at the last tick */
} watched;

/* For a signal's handler: without memory of the heap, and without a lock. */
static void write_note(const struct crash *crash) {
    char text[200], *to = text + 2;
    const char *why = crash_advice(crash->signal, crash->is_overflow);
    const int fd = open(watched.note, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    text[0] = '0', text[1] = 'x';
    for (int shift = 60; shift >= 0; shift -= 4)
        *to++ = "0123456789abcdef"[crash->at >> shift & 15];
    *to++ = ' ';
    while (*why != '\0' && to < text + sizeof text - 1)
        *to++ = *why++;
    *to++ = '\n';
    if (fd >= 0 && write(fd, text, (size_t)(to - text)) > 0)
        (void)close(fd);
}

/* SIGXCPU is a tick. If the loop has not turned since the last one, its code does not end. */
static void exercise_on_crash(const struct crash *crash) {
    const uint64_t turn_ms = uv_now(watched.loop);

    if (crash->signal == SIGXCPU && (crash->at == 0 || turn_ms != watched.turn_ms)) {
        watched.turn_ms = turn_ms;
        return;
    }
    write_note(crash);
    if (crash->signal == SIGXCPU)
        _exit(EX_SOFTWARE);
}

int exercise_watch(const char *file, const struct strategy *strategy, uv_loop_t *loop) {
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGXCPU};
    const struct itimerspec each = {{0, TICK_NS}, {0, TICK_NS}};
    timer_t timer;

    watched.loop = loop;
    if (snprintf(watched.note, sizeof watched.note, "%s.crash", file) >= (int)sizeof watched.note) {
        errno = ENAMETOOLONG;
        return -1;
    }
    if (crash_watch(strategy, exercise_on_crash) != 0 ||
        timer_create(CLOCK_PROCESS_CPUTIME_ID, &event, &timer) != 0)
        return -1;
    return timer_settime(timer, 0, &each, NULL);
}
