/* The process that makes an attempt. What a student wrote runs here alone. */
#include "attempt_internal.h"

#include "explore.h"
#include "seal.h"
#include "spec.h"
#include "student.h"
#include "tell.h"
#include "view.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define TURNED_AWAY (1U << VIEW_COUNT)

static struct {
    struct exploration exploration;
    struct model_world world;
    struct view *view;
    const struct check *check;
    struct attempt attempt;
} at;

_Noreturn static void say(int to) {
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

/* In a signal's handler: has a run ended since the last ticks? */
static void on_tick(int number) {
    static uint64_t runs;
    static int ticks;

    (void)number;
    ticks = at.exploration.runs == runs ? ticks + 1 : 0;
    runs = at.exploration.runs;
    if (ticks >= ATTEMPT_TICKS)
        _exit(ATTEMPT_LOOPS);
}

static int start_ticks(void) {
    const struct timeval tick = {.tv_usec = ATTEMPT_TICK_MS * 1000};
    const struct sigaction action = {.sa_handler = on_tick, .sa_flags = SA_RESTART};

    return sigaction(SIGPROF, &action, NULL) != 0
               ? -1
               : setitimer(ITIMER_PROF, &(struct itimerval){tick, tick}, NULL);
}

/* Who asks may have secrets in it, and this is a copy of that process. */
static void forget_environment(void) {
    extern char **environ;

    for (char **each = environ; each != NULL && *each != NULL; each++)
        memset(*each, 0, strlen(*each));
    (void)clearenv();
}

_Noreturn static void fail(int to, const char *what, const char *why) {
    at.attempt.end = ATTEMPT_BROKEN;
    (void)snprintf(at.attempt.summary, sizeof at.attempt.summary, "%s: %s", what, why);
    say(to);
}

/* What its own texts or numbers are wrong in. */
_Noreturn static void refuse(int to, const char *why) {
    at.attempt.end = ATTEMPT_VIOLATED;
    (void)snprintf(at.attempt.summary, sizeof at.attempt.summary, "%s", why);
    say(to);
}

/* Told of a failure, or to come again, when nothing went wrong but that another died: his lock
 * ends, and a check with a crash has a wait= that is longer. */
static bool is_turned_away(const struct model_world *world) {
    for (int i = 0; i <= world->setup.orders; i++) {
        const struct model_order *order = &world->state.orders[i];

        if (order->state == ORDER_ENDED && order->outcome != OUTCOME_SOLD &&
            order->outcome != OUTCOME_SOLD_OUT && order->outcome != OUTCOME_REPEATED)
            return (world->state.faults_made & ~(1U << FAULT_CRASH)) == 0;
    }
    return false;
}

static unsigned judge(void *data, const struct model_world *world) {
    unsigned found = view_judge(at.view, world);

    (void)data;
    if (at.check->serves_all && is_turned_away(world))
        found |= TURNED_AWAY;
    return found;
}

static bool is_enough(void *data, const struct exploration *so_far) {
    (void)data;
    return so_far->runs >= ATTEMPT_RUNS;
}

__attribute__((format(printf, 1, 2))) static void summarise(const char *format, ...) {
    va_list args;

    va_start(args, format);
    (void)vsnprintf(at.attempt.summary, sizeof at.attempt.summary, format, args);
    va_end(args);
}

/* The lines of the schedule, as many as there is room for. */
static void tell_story(const struct tell *tell) {
    FILE *to = fmemopen(at.attempt.story, sizeof at.attempt.story - 1, "w");

    if (to == NULL)
        return;
    tell_heads(tell, to, false);
    for (size_t i = 0; i < tell->count; i++)
        tell_line(tell, i, to, false);
    (void)fclose(to);
}

static void tell_violation(void) {
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
        summarise("an order does not end: it asks the store again and again");
    else if (tell.anomalies != 0)
        summarise("%s", tell.summary);
    else
        summarise("A customer was turned away, though %s.", at.world.state.faults_made == 0
                                                                ? "nothing had gone wrong"
                                                                : "it was another who had died");
    tell_free(&tell);
}

static void tell_end(void) {
    const struct exploration *it = &at.exploration;

    at.attempt.schedules = (int64_t)it->schedules;
    at.attempt.violated = (int64_t)it->violated;
    if (it->violated > 0 || it->end == EXPLORE_ENDLESS) {
        at.attempt.end = ATTEMPT_VIOLATED;
        tell_violation();
    } else if (it->end != EXPLORE_COMPLETE) {
        at.attempt.end = ATTEMPT_INCOMPLETE;
        summarise("it has more schedules than could be explored: %" PRIu64 " so far",
                  it->schedules);
    } else if (at.check->max_steps > 0 && at.attempt.steps_alone > at.check->max_steps) {
        at.attempt.end = ATTEMPT_VIOLATED;
        summarise("an order that is alone asks the store %d times; %d are enough",
                  at.attempt.steps_alone, at.check->max_steps);
    }
}

static void explore_it(int to) {
    at.attempt.steps_alone = explore_steps_alone(&at.exploration.setup);
    if (at.attempt.steps_alone < 0 || explore(&at.exploration) != 0 || view_has_failed(at.view))
        fail(to, "explore", "out of memory");
    tell_end();
}

static void set_up(const struct strategy *strategy, int to) {
    char text[sizeof at.check->options + 16], message[MESSAGE_BYTES];
    struct strategy_spec spec;

    (void)snprintf(text, sizeof text, "exercise%s%s", at.check->options[0] != '\0' ? "," : "",
                   at.check->options);
    if (spec_parse_of(strategy, text, &spec, message) != 0)
        refuse(to, message);
    at.exploration.setup = (struct model_setup){.strategy = strategy,
                                                .options = spec.options,
                                                .orders = at.check->orders,
                                                .instances = at.check->instances,
                                                .stock = at.check->stock,
                                                .faults = at.check->faults};
    at.exploration.preemptions = at.check->preemptions;
    at.exploration.judge = judge;
    at.exploration.is_stopped = is_enough;
}

_Noreturn void attempt_child(const char *path, const struct check *check, int to) {
    const struct seal_limits limits = {ATTEMPT_CPU_S, ATTEMPT_MEMORY};
    const struct strategy *strategy;
    char message[STUDENT_MESSAGE];

    at.check = check;
    at.view = view_make();
    if (at.view == NULL)
        fail(to, "view", "out of memory");
    tzset();                       /* which reads a file the first time that anybody asks */
    (void)signal(SIGINT, SIG_IGN); /* the asking process ends us */
    (void)signal(SIGQUIT, SIG_IGN);
    forget_environment();
    if (start_ticks() != 0 || seal_for_loading(&limits, to) != 0)
        fail(to, "sandbox", strerror(errno));
    strategy = student_load(path, message);
    if (strategy == NULL)
        refuse(to, message);
    set_up(strategy, to);
    if (seal_for_running() != 0)
        fail(to, "sandbox", strerror(errno));
    explore_it(to);
    say(to);
}
