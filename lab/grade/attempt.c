/* A child process makes the attempt, so that the student's code runs in no other process. The
 * parent starts the child, reads its result, and reports how it ended. */
#include "attempt.h"

#include "clock.h"
#include "explore.h"
#include "seal.h"
#include "spec.h"
#include "student.h"
#include "tell.h"
#include "view.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The file alone decides when an attempt ends, not the speed or the load of the machine. It ends
 * after RUNS runs, or if one run needs TICKS ticks of CPU. The longest runs of a strategy that ends
 * take a few milliseconds. */
#define RUNS        100000
#define TICK_MS     125
#define TICKS       8
#define CPU_S       30 /* reached only on purpose */
#define MEMORY      ((size_t)600 << 20)
#define LOOPS       3                  /* the child's exit code: a run did not end */
#define TURNED_AWAY (1U << VIEW_COUNT) /* beside the anomalies */
#define WALL_S      140                /* the machine stands still: then there is no grade */

/* ---- the child */

static struct {
    struct exploration exploration;
    struct model_world world;
    struct view *view;
    const struct check *check;
    struct attempt attempt;
} at;

__attribute__((format(printf, 3, 4))) static void conclude(struct attempt *attempt,
                                                           enum attempt_end end, const char *format,
                                                           ...) {
    va_list args;

    attempt->end = end;
    va_start(args, format);
    (void)vsnprintf(attempt->summary, sizeof attempt->summary, format, args);
    va_end(args);
}

_Noreturn static void attempt_say(int to) {
    const char *bytes = (const char *)&at.attempt;
    size_t left = sizeof at.attempt;

    while (left > 0) {
        ssize_t put = write(to, bytes, left);

        if (put < 0 && errno != EINTR)
            break;
        bytes += put > 0 ? put : 0;
        left -= put > 0 ? (size_t)put : 0;
    }
    _exit(0);
}

/* In a signal's handler: count the ticks since the last run ended. */
static void attempt_on_tick(int number) {
    static uint64_t runs;
    static int ticks;

    (void)number;
    ticks = at.exploration.runs == runs ? ticks + 1 : 0;
    runs = at.exploration.runs;
    if (ticks >= TICKS)
        _exit(LOOPS);
}

static int start_ticks(void) {
    const struct timeval tick = {.tv_usec = TICK_MS * 1000};
    const struct sigaction action = {.sa_handler = attempt_on_tick, .sa_flags = SA_RESTART};

    return sigaction(SIGPROF, &action, NULL) != 0
               ? -1
               : setitimer(ITIMER_PROF, &(struct itimerval){tick, tick}, NULL);
}

/* The environment may hold secrets, and this process has a copy of its parent's. */
static void forget_environment(void) {
    extern char **environ;

    for (char **each = environ; each != NULL && *each != NULL; each++)
        memset(*each, 0, strlen(*each));
    (void)clearenv();
}

_Noreturn static void attempt_fail(int to, const char *what, const char *why) {
    conclude(&at.attempt, ATTEMPT_BROKEN, "%s: %s", what, why);
    attempt_say(to);
}

/* The strategy's own texts or numbers are wrong. */
_Noreturn static void attempt_refuse(int to, const char *why) {
    conclude(&at.attempt, ATTEMPT_VIOLATED, "%s", why);
    attempt_say(to);
}

/* A customer got a failure, or the answer to try again, although no fault but a crash happened. A
 * dead holder's lock ends, and a check with a crash has a longer wait=, so each could be served. */
static bool is_turned_away(const struct model_world *world) {
    for (int i = 0; i <= world->setup.orders; i++) {
        const struct model_order *order = &world->state.orders[i];

        if (order->state == ORDER_ENDED && order->outcome != OUTCOME_SOLD &&
            order->outcome != OUTCOME_SOLD_OUT && order->outcome != OUTCOME_REPEATED)
            return (world->state.faults_made & ~(1U << FAULT_CRASH)) == 0;
    }
    return false;
}

static unsigned attempt_judge(void *data, const struct model_world *world) {
    unsigned found = view_judge(at.view, world);

    (void)data;
    if (at.check->serves_all && is_turned_away(world))
        found |= TURNED_AWAY;
    return found;
}

static bool is_enough(void *data, const struct exploration *so_far) {
    (void)data;
    return so_far->runs >= RUNS;
}

/* Write as many lines of the schedule as there is room for. */
static void tell_story(const struct tell *tell) {
    FILE *to = fmemopen(at.attempt.story, sizeof at.attempt.story - 1, "w");

    if (to == NULL)
        return;
    tell_heads(tell, to, false);
    for (size_t i = 0; i < tell->count; i++)
        tell_line(tell, i, to, false);
    (void)fclose(to);
}

static void attempt_tell_violation(void) {
    struct tell tell = {.spec = "exercise",
                        .options = at.check->options,
                        .replay = "",
                        .command = "",
                        .explored = &at.exploration};
    size_t move;

    if (tell_schedule(&tell, &at.world, at.view, &move) == REPLAY_ENDED) {
        memcpy(at.attempt.id, tell.id, sizeof tell.id);
        tell_story(&tell);
    }
    if (at.exploration.end == EXPLORE_ENDLESS)
        conclude(&at.attempt, ATTEMPT_VIOLATED,
                 "an order does not end: it calls the store again and again");
    else if (tell.anomalies != 0)
        conclude(&at.attempt, ATTEMPT_VIOLATED, "%s", tell.summary);
    else
        conclude(&at.attempt, ATTEMPT_VIOLATED, "A customer was turned away, though %s.",
                 at.world.state.faults_made == 0 ? "nothing had gone wrong"
                                                 : "only another order had died");
    tell_free(&tell);
}

static void attempt_tell_end(void) {
    const struct exploration *it = &at.exploration;

    at.attempt.schedules = (int64_t)it->schedules;
    at.attempt.violated = (int64_t)it->violated;
    if (it->violated > 0 || it->end == EXPLORE_ENDLESS)
        attempt_tell_violation();
    else if (it->end != EXPLORE_COMPLETE)
        conclude(&at.attempt, ATTEMPT_INCOMPLETE,
                 "it has more schedules than could be explored: %" PRIu64 " so far", it->schedules);
    else if (at.check->max_steps > 0 && at.attempt.steps_alone > at.check->max_steps)
        conclude(&at.attempt, ATTEMPT_VIOLATED,
                 "One undisturbed order made %d store calls; %d %s enough.", at.attempt.steps_alone,
                 at.check->max_steps, at.check->max_steps == 1 ? "is" : "are");
}

static void attempt_set_up(const struct strategy *strategy, int to) {
    char text[sizeof at.check->options + 16];
    struct strategy_spec spec;
    struct why why;

    (void)snprintf(text, sizeof text, "exercise%s%s", at.check->options[0] != '\0' ? "," : "",
                   at.check->options);
    if (spec_parse_of(strategy, text, &spec, &why) != 0)
        attempt_refuse(to, why.text);
    at.exploration.setup = (struct model_setup){.strategy = strategy,
                                                .options = spec.options,
                                                .orders = at.check->orders,
                                                .instances = at.check->instances,
                                                .stock = at.check->stock,
                                                .faults = at.check->faults};
    at.exploration.preemptions = at.check->preemptions;
    at.exploration.judge = attempt_judge;
    at.exploration.is_stopped = is_enough;
}

/* Seal this process, explore, write the attempt to `to`, and exit. */
_Noreturn static void be_child(const char *path, const struct check *check, int to) {
    const struct seal_limits limits = {CPU_S, MEMORY};
    const struct strategy *strategy;
    enum student_end loaded;
    struct why why;

    at.check = check;
    at.view = view_make();
    if (at.view == NULL)
        attempt_fail(to, "view", "out of memory");
    tzset();                       /* its first call reads a file */
    (void)signal(SIGINT, SIG_IGN); /* the parent ends us */
    (void)signal(SIGQUIT, SIG_IGN);
    forget_environment();
    if (start_ticks() != 0 || seal_for_loading(&limits, to) != 0)
        attempt_fail(to, "sandbox", strerror(errno));
    loaded = student_load(path, &strategy, &why);
    if (loaded == STUDENT_BROKEN)
        attempt_fail(to, "the object", why.text);
    if (loaded != STUDENT_OK)
        attempt_refuse(to, why.text);
    attempt_set_up(strategy, to);
    if (seal_for_running() != 0)
        attempt_fail(to, "sandbox", strerror(errno));
    at.attempt.steps_alone = explore_steps_alone(&at.exploration.setup);
    if (at.attempt.steps_alone < 0 || explore(&at.exploration) != 0 || view_has_failed(at.view))
        attempt_fail(to, "explore", "out of memory");
    attempt_tell_end();
    attempt_say(to);
}

/* ---- the parent */

/* Read `size` bytes, or fewer if the child ends, time is over, or the user interrupts. */
static size_t attempt_read_all(int from, void *to, size_t size, const volatile bool *is_interrupted,
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
    const bool loops = WIFEXITED(status) && WEXITSTATUS(status) == LOOPS;

    memset(attempt, 0, sizeof *attempt);
    if (loops || with == SIGXCPU)
        conclude(attempt, ATTEMPT_ENDLESS,
                 "it used up its time: a loop without a store call does not end");
    else if (with == SIGKILL)
        conclude(attempt, ATTEMPT_BROKEN,
                 "a check was killed: does this machine have too little memory?");
    else if (with == 0)
        conclude(attempt, ATTEMPT_DIED, "it ended its process in the middle of a sale");
    else if (with == SIGSYS)
        conclude(attempt, ATTEMPT_DIED,
                 "it made a system call; a strategy may act only through the store");
    else
        conclude(attempt, ATTEMPT_DIED,
                 "signal %d (%s) ended it: look for a wild pointer or an index past an array's end",
                 with, strsignal(with));
}

void attempt_make_plain(char *text) {
    for (; *text != '\0'; text++)
        if (((unsigned char)*text < ' ' && *text != '\n' && *text != '\t') || *text < 0 ||
            *text == 127)
            *text = '?';
}

static void attempt_broken(struct attempt *attempt, const char *what) {
    memset(attempt, 0, sizeof *attempt);
    conclude(attempt, ATTEMPT_BROKEN, "%s: %s", what, strerror(errno));
}

/* A child may have written any bytes. End its texts, and bring its numbers into their ranges. */
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

static void attempt_collect(pid_t child, int from, const volatile bool *is_interrupted,
                            struct attempt *attempt) {
    bool is_late, is_reaped;
    int status;
    const size_t have = attempt_read_all(from, attempt, sizeof *attempt, is_interrupted, &is_late);

    if (is_late || *is_interrupted)
        (void)kill(child, SIGKILL);
    is_reaped = TEMP_FAILURE_RETRY(waitpid(child, &status, 0)) >= 0;
    if (is_reaped)
        errno = ETIMEDOUT;
    if (*is_interrupted)
        *attempt = (struct attempt){.end = ATTEMPT_STOPPED};
    else if (!is_reaped)
        attempt_broken(attempt, "waitpid");
    else if (is_late)
        attempt_broken(attempt, "a check did not end");
    else if (have < sizeof *attempt)
        tell_death(attempt, status);
    make_sane(attempt);
}

void attempt_make(const char *path, const struct check *check, const volatile bool *is_interrupted,
                  struct attempt *attempt) {
    int ends[2];
    pid_t child;

    if (pipe(ends) != 0) {
        attempt_broken(attempt, "pipe");
        return;
    }
    (void)fflush(NULL);
    child = fork();
    if (child == 0) {
        (void)close(ends[0]);
        be_child(path, check, ends[1]);
    }
    (void)close(ends[1]);
    if (child < 0)
        attempt_broken(attempt, "fork");
    else
        attempt_collect(child, ends[0], is_interrupted, attempt);
    (void)close(ends[0]);
}
