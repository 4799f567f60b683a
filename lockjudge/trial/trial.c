#include "trial.h"

#include "clock.h"
#include "command.h"
#include "contender.h"
#include "fiber.h"
#include "stage.h"
#include "strike.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define MS             INT64_C(1000000)

#define PULSE_MS       10
#define STALL_MS       60 /* a later pulse is noted */
#define SLICE_MS       10 /* how soon a pause sees the end of the trial */
#define SETTLED_GRANTS 4
#define CALM_GRANTS    150 /* of a trial without a fault */

struct trial {
    struct stage stage;
    unsigned open_proxies;
    struct fiber_event proxies_closed;
    uv_timer_t pulse; /* finds stalls of the judge itself */
    int64_t pulse_ns;
};

static struct trial *running; /* at most one */

/* ---- what happens unasked */

static void trial_on_told(struct worker *worker, enum line_word word, void *data) {
    const int64_t now_ns = clock_now_ns();

    stage_note(data, &(struct history_item){.at_ns = now_ns,
                                            .end_ns = now_ns,
                                            .kind = HISTORY_TOLD,
                                            .result = word == LINE_LOST   ? HISTORY_RESULT_LOST
                                                      : word == LINE_HELD ? HISTORY_RESULT_HELD
                                                                          : HISTORY_RESULT_SUSPECT,
                                            .worker = worker_number(worker)});
}

static void trial_on_death(struct worker *worker, void *data) {
    const int64_t now_ns = clock_now_ns();

    stage_note(data, &(struct history_item){.at_ns = now_ns,
                                            .end_ns = now_ns,
                                            .kind = HISTORY_DEATH,
                                            .worker = worker_number(worker)});
}

static void trial_on_pulse(uv_timer_t *timer) {
    struct trial *trial = timer->data;
    const int64_t now_ns = clock_now_ns();

    if (now_ns - trial->pulse_ns > STALL_MS * MS)
        stage_note(&trial->stage, &(struct history_item){.at_ns = trial->pulse_ns,
                                                         .end_ns = now_ns,
                                                         .kind = HISTORY_STALL,
                                                         .worker = HISTORY_NOBODY});
    trial->pulse_ns = now_ns;
}

static void trial_on_pulse_closed(uv_handle_t *handle) {
    struct fiber_event *closed = handle->data;

    fiber_event_set(closed);
}

/* ---- its course */

static bool has_need(const struct trial_setup *setup, unsigned need) {
    unsigned needs = 0;

    for (unsigned i = 0; i < FAULT_PAIR && setup->cases[i].fault != NULL; i++)
        needs |= setup->cases[i].fault->needs;
    return (needs & need) != 0;
}

/* A worker, and its proxy if a fault needs one. */
static int trial_start_worker(struct trial *trial, unsigned number, struct why *why) {
    struct stage *stage = &trial->stage;
    const struct trial_setup *setup = stage->setup;
    const struct worker_events events = {trial_on_told, trial_on_death, stage};
    const struct worker_options options = strikes_options(stage, number);
    struct contender *one = &stage->contenders[number];
    const char *url = setup->url;
    char **arguments;
    int code;

    one->stage = stage;
    one->number = number;
    if (has_need(setup, FAULT_NEEDS_PROXY)) {
        struct proxy *proxy = &stage->proxies[number];

        if (proxy_open(proxy, setup->loop, setup->url, why) != 0)
            return -1;
        proxy->data = trial;
        stage->proxy_count++;
        url = proxy->url;
    }
    arguments = command_make(setup->command, url);
    if (arguments == NULL)
        return why_set(why, "out of memory");
    code = worker_start(&one->worker, setup->loop, arguments, number, &events, &options, why);
    command_free(arguments);
    return code;
}

static void trial_on_proxy_closed(struct proxy *proxy) {
    struct trial *trial = proxy->data;

    if (--trial->open_proxies == 0)
        fiber_event_set(&trial->proxies_closed);
}

static void trial_close_proxies(struct trial *trial) {
    struct stage *stage = &trial->stage;

    trial->open_proxies = stage->proxy_count;
    for (unsigned i = 0; i < stage->proxy_count; i++)
        proxy_close(&stage->proxies[i], trial_on_proxy_closed);
    if (stage->proxy_count > 0)
        fiber_event_wait(&trial->proxies_closed);
}

static int trial_start(struct trial *trial) {
    struct stage *stage = &trial->stage;
    const struct trial_setup *setup = stage->setup;
    struct why why;

    for (unsigned i = 0; i < setup->workers && !*setup->is_stopped; i++)
        if (trial_start_worker(trial, i, &why) != 0) {
            stage_spoil(stage, why.text);
            return -1;
        }
    if (*setup->is_stopped)
        return -1;
    for (unsigned i = 0; i < setup->workers; i++)
        if (worker_await_ready(stage->contenders[i].worker, (uint64_t)setup->start_ms, &why) != 0) {
            stage_spoil(stage, why.text);
            return -1;
        }
    stage->outcome->caps = worker_caps(stage->contenders[0].worker);
    stage->outcome->has_caps = true;
    for (unsigned i = 0; i < stage->strike_count; i++)
        if (fault_lacks(setup->cases[i].fault, stage->outcome->caps, &why)) {
            stage->outcome->is_unasked = true;
            stage_spoil(stage, why.text);
            return -1;
        }
    return 0;
}

static size_t count_grants(const struct history *history) {
    size_t grants = 0;

    for (size_t i = 0; i < history->count; i++)
        grants += history->items[i].kind == HISTORY_ACQUIRE &&
                  history->items[i].result == HISTORY_RESULT_HELD;
    return grants;
}

/* Whether all that can show has shown. */
static bool trial_is_done(const struct stage *stage, int64_t began_ns) {
    const struct trial_setup *setup = stage->setup;
    const size_t grants = count_grants(&stage->outcome->history);
    const int64_t now_ns = clock_now_ns(), ttl_ns = setup->ttl_ms * MS;
    const int64_t settled_ns = now_ns - stage->settled_ns, slack_ns = setup->slack_ms * MS;

    if (setup->cases[0].moment == FAULT_AT_NONE)
        return now_ns - began_ns > 2 * ttl_ns || grants >= CALM_GRANTS;
    if (grants == 0 && now_ns - began_ns > 3 * ttl_ns)
        return true;
    if (stage->phase != STAGE_SETTLED)
        return now_ns - began_ns > 8 * (1 + stage->strike_count) * ttl_ns + slack_ns;
    return (stage->settled_grants >= SETTLED_GRANTS && settled_ns > ttl_ns / 10) ||
           settled_ns > 2 * ttl_ns + slack_ns;
}

/* A worker that closed its output is about to end, or is broken. */
static void trial_hear_out(struct stage *stage) {
    for (unsigned i = 0; i < stage->setup->workers && !*stage->setup->is_stopped; i++) {
        const struct worker *worker = stage->contenders[i].worker;

        while (worker_is_ending(worker))
            fiber_sleep(stage->setup->loop, 1);
        if (worker_broken(worker) != NULL)
            stage_spoil(stage, worker_broken(worker));
    }
}

static void trial_play(struct stage *stage) {
    const int64_t began_ns = clock_now_ns();

    strikes_start(stage);
    for (unsigned i = 0; i < stage->setup->workers; i++)
        stage_start(stage, contender_live, &stage->contenders[i]);
    while (!stage->is_over && !trial_is_done(stage, began_ns))
        (void)stage_pause(stage, SLICE_MS);
    stage->is_over = true;
    trial_hear_out(stage);
}

/* A contender in the middle of a wait for the lock ends only with its worker. */
static void trial_end(struct trial *trial) {
    struct stage *stage = &trial->stage;
    const struct trial_setup *setup = stage->setup;

    for (unsigned i = 0; i < setup->workers; i++)
        if (stage->contenders[i].worker != NULL && stage->contenders[i].is_asking)
            worker_kill(stage->contenders[i].worker);
    if (stage->why.text[0] != '\0' || *setup->is_stopped)
        trial_kill();
    while (stage->living > 0)
        fiber_sleep(setup->loop, 1);
    for (unsigned i = 0; i < setup->workers; i++) {
        struct worker *worker = stage->contenders[i].worker;

        stage->contenders[i].worker = NULL; /* a signal may call trial_kill() meanwhile */
        if (worker != NULL)
            worker_close(worker);
    }
    trial_close_proxies(trial);
}

void trial_kill(void) {
    for (unsigned i = 0; running != NULL && i < running->stage.setup->workers; i++)
        if (running->stage.contenders[i].worker != NULL)
            worker_kill(running->stage.contenders[i].worker);
}

int trial_run(const struct trial_setup *setup, struct trial_outcome *outcome, struct why *why) {
    static struct trial trial; /* too large for the stack of a fiber; at most one runs */
    struct stage *stage = &trial.stage;
    struct fiber_event closed = FIBER_EVENT_INIT;

    assert(running == NULL && setup->workers >= 1 && setup->workers <= TRIAL_WORKERS_MAX);
    memset(outcome, 0, sizeof *outcome);
    memset(&trial, 0, sizeof trial);
    stage->setup = setup;
    stage->outcome = outcome;
    stage->plan = plan_make(setup->seed, setup->workers);
    running = &trial;
    (void)uv_timer_init(setup->loop, &trial.pulse);
    trial.pulse.data = &trial;
    if (strikes_prepare(stage) == 0 && trial_start(&trial) == 0) {
        trial.pulse_ns = clock_now_ns();
        (void)uv_timer_start(&trial.pulse, trial_on_pulse, PULSE_MS, PULSE_MS);
        trial_play(stage);
        trial_on_pulse(&trial.pulse); /* the stall that ends here, if any */
    }
    (void)uv_timer_stop(&trial.pulse);
    trial_end(&trial);
    strikes_restore(stage);
    trial.pulse.data = &closed;
    uv_close((uv_handle_t *)&trial.pulse, trial_on_pulse_closed);
    fiber_event_wait(&closed);
    running = NULL;
    return stage->why.text[0] == '\0' ? 0 : why_set(why, "%.1000s", stage->why.text);
}
