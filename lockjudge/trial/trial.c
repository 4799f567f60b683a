#include "trial_internal.h"

#include "clock.h"
#include "command.h"
#include "fiber.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define MS             INT64_C(1000000)

#define PULSE_MS       10
#define STALL_MS       60 /* a later pulse is noted */
#define SLICE_MS       10 /* how soon a pause sees the end of the trial */
#define SETTLED_GRANTS 4
#define CALM_GRANTS    150 /* of a trial without a fault */

static struct trial *running; /* at most one */

void trial_spoil(struct trial *trial, const char *reason) {
    if (trial->why.text[0] == '\0')
        (void)why_set(&trial->why, "%.1000s", reason);
    trial->is_over = true;
}

/* At its end the trial kills workers that wait: neither their deaths nor their requests count. */
void trial_note(struct trial *trial, const struct history_item *item) {
    const bool has_ended = item->kind != HISTORY_DEATH && item->end_ns != HISTORY_OPEN;

    if ((!trial->is_over || has_ended) && history_add(&trial->outcome->history, item) < 0)
        trial_spoil(trial, "out of memory");
}

bool trial_pause(struct trial *trial, int64_t ms) {
    const int64_t ends_ns = clock_now_ns() + ms * MS;
    int64_t rest_ns = ms * MS;

    do {
        const int64_t slice_ns = rest_ns < SLICE_MS * MS ? rest_ns : SLICE_MS * MS;

        trial->is_over = trial->is_over || *trial->setup->is_stopped;
        if (trial->is_over)
            return false;
        fiber_sleep(trial->setup->loop, (uint64_t)((slice_ns + MS - 1) / MS));
        rest_ns = ends_ns - clock_now_ns();
    } while (rest_ns > 0);
    return !trial->is_over;
}

void trial_move(struct trial *trial, enum trial_phase phase) {
    assert(phase > trial->phase);
    trial->phase = phase;
    if (phase == TRIAL_SETTLED)
        trial->settled_ns = clock_now_ns();
}

/* ---- what happens unasked */

static void trial_on_told(struct worker *worker, enum line_word word, void *data) {
    const int64_t now_ns = clock_now_ns();

    trial_note(data, &(struct history_item){.at_ns = now_ns,
                                            .end_ns = now_ns,
                                            .kind = HISTORY_TOLD,
                                            .result = word == LINE_LOST   ? HISTORY_RESULT_LOST
                                                      : word == LINE_HELD ? HISTORY_RESULT_HELD
                                                                          : HISTORY_RESULT_SUSPECT,
                                            .worker = worker_number(worker)});
}

static void trial_on_death(struct worker *worker, void *data) {
    const int64_t now_ns = clock_now_ns();

    trial_note(data, &(struct history_item){.at_ns = now_ns,
                                            .end_ns = now_ns,
                                            .kind = HISTORY_DEATH,
                                            .worker = worker_number(worker)});
}

static void trial_on_pulse(uv_timer_t *timer) {
    struct trial *trial = timer->data;
    const int64_t now_ns = clock_now_ns();

    if (now_ns - trial->pulse_ns > STALL_MS * MS)
        trial_note(trial, &(struct history_item){.at_ns = trial->pulse_ns,
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

static void trial_on_note(void *trial, const struct history_item *item) {
    trial_note(trial, item);
}

static int trial_prepare(struct trial *trial) {
    const struct trial_setup *setup = trial->setup;
    struct why why;
    int code;

    trial->site = (struct fault_site){.loop = setup->loop,
                                      .ttl_ms = setup->ttl_ms,
                                      .lock_name = setup->lock_name,
                                      .moment = setup->moment,
                                      .servers = setup->servers,
                                      .victim_number = trial->plan.victim,
                                      .workers = setup->workers,
                                      .note = trial_on_note,
                                      .note_data = trial};
    code = setup->fault->prepare != NULL ? setup->fault->prepare(&trial->site, &why) : 0;
    if (code == 0)
        return 0;
    trial->outcome->is_unasked = code == FAULT_UNASKED;
    trial_spoil(trial, why.text);
    return -1;
}

static void trial_restore(struct trial *trial) {
    const struct fault *fault = trial->setup->fault;
    struct why why;

    trial->site.victim = NULL;
    trial->site.proxy = NULL;
    if (fault->restore != NULL && fault->restore(&trial->site, &why) != 0)
        trial_spoil(trial, why.text);
}

/* A worker, and its proxy if the fault needs one. */
static int trial_start_worker(struct trial *trial, unsigned number, struct why *why) {
    const struct trial_setup *setup = trial->setup;
    const struct worker_events events = {trial_on_told, trial_on_death, trial};
    const bool is_victim = number == trial->plan.victim;
    const struct worker_options options = {
        .variables = is_victim ? trial->site.variables : NULL,
        .child_number = is_victim && setup->fault->caps & LINE_CAP_FORK ? setup->workers : 0};
    struct contender *one = &trial->contenders[number];
    const char *url = setup->url;
    char **arguments;
    int code;

    one->trial = trial;
    one->number = number;
    if (setup->fault->needs & FAULT_NEEDS_PROXY) {
        struct proxy *proxy = &trial->proxies[number];

        if (proxy_open(proxy, setup->loop, setup->url, why) != 0)
            return -1;
        proxy->data = trial;
        trial->proxy_count++;
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
    trial->open_proxies = trial->proxy_count;
    for (unsigned i = 0; i < trial->proxy_count; i++)
        proxy_close(&trial->proxies[i], trial_on_proxy_closed);
    if (trial->proxy_count > 0)
        fiber_event_wait(&trial->proxies_closed);
}

static int trial_start(struct trial *trial) {
    const struct trial_setup *setup = trial->setup;
    struct why why;

    for (unsigned i = 0; i < setup->workers && !*setup->is_stopped; i++)
        if (trial_start_worker(trial, i, &why) != 0) {
            trial_spoil(trial, why.text);
            return -1;
        }
    if (*setup->is_stopped)
        return -1;
    for (unsigned i = 0; i < setup->workers; i++)
        if (worker_await_ready(trial->contenders[i].worker, (uint64_t)setup->start_ms, &why) != 0) {
            trial_spoil(trial, why.text);
            return -1;
        }
    trial->outcome->caps = worker_caps(trial->contenders[0].worker);
    trial->outcome->has_caps = true;
    if (fault_lacks(setup->fault, trial->outcome->caps, &why)) {
        trial->outcome->is_unasked = true;
        trial_spoil(trial, why.text);
        return -1;
    }
    trial->site.victim = trial->contenders[trial->plan.victim].worker;
    if (trial->proxy_count > 0)
        trial->site.proxy = &trial->proxies[trial->plan.victim];
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
static bool trial_is_done(const struct trial *trial, int64_t began_ns) {
    const struct trial_setup *setup = trial->setup;
    const int64_t now_ns = clock_now_ns(), ttl_ns = setup->ttl_ms * MS;

    if (setup->moment == FAULT_AT_NONE)
        return now_ns - began_ns > 2 * ttl_ns ||
               count_grants(&trial->outcome->history) >= CALM_GRANTS;
    if (count_grants(&trial->outcome->history) == 0 && now_ns - began_ns > 3 * ttl_ns)
        return true;
    if (trial->phase != TRIAL_SETTLED)
        return now_ns - began_ns > 10 * ttl_ns + setup->slack_ms * MS;
    return (trial->settled_grants >= SETTLED_GRANTS && now_ns - trial->settled_ns > ttl_ns / 10) ||
           now_ns - trial->settled_ns > 2 * ttl_ns + setup->slack_ms * MS;
}

static void trial_play(struct trial *trial) {
    const int64_t began_ns = clock_now_ns();

    for (unsigned i = 0; i < trial->setup->workers; i++) {
        trial->living++;
        if (fiber_start(contender_live, &trial->contenders[i]) != 0) {
            trial->living--;
            trial_spoil(trial, "out of memory");
        }
    }
    while (!trial->is_over && !trial_is_done(trial, began_ns))
        (void)trial_pause(trial, SLICE_MS);
    trial->is_over = true;
}

/* A contender in the middle of a wait for the lock ends only with its worker. */
static void trial_end(struct trial *trial) {
    for (unsigned i = 0; i < trial->setup->workers; i++)
        if (trial->contenders[i].worker != NULL && trial->contenders[i].is_asking)
            worker_kill(trial->contenders[i].worker);
    if (trial->why.text[0] != '\0' || *trial->setup->is_stopped)
        trial_kill();
    while (trial->living > 0)
        fiber_sleep(trial->setup->loop, 1);
    for (unsigned i = 0; i < trial->setup->workers; i++) {
        struct worker *worker = trial->contenders[i].worker;

        trial->contenders[i].worker = NULL; /* a signal may call trial_kill() meanwhile */
        if (worker != NULL)
            worker_close(worker);
    }
    trial_close_proxies(trial);
}

void trial_kill(void) {
    for (unsigned i = 0; running != NULL && i < running->setup->workers; i++)
        if (running->contenders[i].worker != NULL)
            worker_kill(running->contenders[i].worker);
}

int trial_run(const struct trial_setup *setup, struct trial_outcome *outcome, struct why *why) {
    static struct trial trial; /* too large for the stack of a fiber; at most one runs */
    struct fiber_event closed = FIBER_EVENT_INIT;

    assert(running == NULL && setup->workers >= 1 && setup->workers <= TRIAL_WORKERS_MAX);
    memset(outcome, 0, sizeof *outcome);
    memset(&trial, 0, sizeof trial);
    trial.setup = setup;
    trial.outcome = outcome;
    trial.plan = plan_make(setup->seed, setup->workers);
    running = &trial;
    (void)uv_timer_init(setup->loop, &trial.pulse);
    trial.pulse.data = &trial;
    if (trial_prepare(&trial) == 0 && trial_start(&trial) == 0) {
        trial.pulse_ns = clock_now_ns();
        (void)uv_timer_start(&trial.pulse, trial_on_pulse, PULSE_MS, PULSE_MS);
        trial_play(&trial);
    }
    (void)uv_timer_stop(&trial.pulse);
    trial_end(&trial);
    trial_restore(&trial);
    trial.pulse.data = &closed;
    uv_close((uv_handle_t *)&trial.pulse, trial_on_pulse_closed);
    fiber_event_wait(&closed);
    running = NULL;
    return trial.why.text[0] == '\0' ? 0 : why_set(why, "%.1000s", trial.why.text);
}
