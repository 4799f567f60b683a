/* A contender acquires, checks and writes, and releases, again and again. What its worker answers
 * becomes the history; nothing else that the worker does counts.
 *
 * One of them is the victim of the fault. It goes through its moments like this:
 *
 *     held      grant -> strike -> (end) -> check, write for a while -> release
 *     write     grant, check -> strike -> (end) -> write, without a check -> ... -> release
 *     release   grant ... strike -> release sent -> (end)
 *     wait      acquire sent -> strike, while another holds -> (end)
 *     reply     strike -> acquire sent -> (end) */
#include "trial_internal.h"

#include "clock.h"
#include "fiber.h"
#include "number.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MS              INT64_C(1000000)

#define ASK_PATIENCE_MS 30000 /* more than a library's own time-outs and back-offs */
#define BEAT_MS         15    /* between two checks of a holder */
#define AFTER_MS        120   /* how long a victim works after its fault */
#define TAIL_MS         400   /* how long its successor goes on after that */
#define ERROR_MS        50    /* before the next try after an error */

static bool is_victim(const struct contender *one) {
    return one->number == one->trial->plan.victim;
}

static bool is_moment(const struct contender *one, enum fault_moment moment) {
    const struct trial *trial = one->trial;

    return is_victim(one) && trial->setup->moment == moment && trial->phase == TRIAL_CALM &&
           !trial->is_over;
}

/* ---- requests */

static enum history_result result_of(enum line_word word) {
    switch (word) {
    case LINE_HELD:
        return HISTORY_RESULT_HELD;
    case LINE_BUSY:
        return HISTORY_RESULT_BUSY;
    case LINE_LOST:
        return HISTORY_RESULT_LOST;
    case LINE_RELEASED:
        return HISTORY_RESULT_RELEASED;
    case LINE_ERROR:
        return HISTORY_RESULT_ERROR;
    case LINE_FORKED:
    case LINE_LOADED:
    case LINE_SUSPECT:
    case LINE_READY:
        break;
    }
    return HISTORY_RESULT_NONE;
}

static bool fits(enum history_kind kind, enum line_word word) {
    switch (word) {
    case LINE_HELD:
        return kind == HISTORY_ACQUIRE || kind == HISTORY_CHECK;
    case LINE_BUSY:
        return kind == HISTORY_ACQUIRE;
    case LINE_LOST:
        return kind == HISTORY_CHECK || kind == HISTORY_RELEASE;
    case LINE_RELEASED:
        return kind == HISTORY_RELEASE;
    case LINE_ERROR:
        return kind == HISTORY_ACQUIRE || kind == HISTORY_RELEASE;
    case LINE_FORKED:
    case LINE_LOADED:
    case LINE_SUSPECT:
    case LINE_READY:
        break;
    }
    return false;
}

/* Ask, and note the answer. False: the worker is dead or broken. */
static bool contender_ask(struct contender *one, enum history_kind kind, int64_t wait_ms,
                          enum history_result *result) {
    struct trial *trial = one->trial;
    struct history_item item = {.at_ns = clock_now_ns(),
                                .end_ns = HISTORY_OPEN,
                                .kind = kind,
                                .worker = one->number,
                                .wait_ms = wait_ms,
                                .ttl_ms = trial->setup->ttl_ms};
    struct worker_answer answer;
    struct why why;
    char request[256];

    if (kind == HISTORY_ACQUIRE)
        (void)snprintf(request, sizeof request, "acquire %s %" PRId64 " %" PRId64,
                       trial->setup->lock_name, trial->setup->ttl_ms, wait_ms);
    else
        (void)snprintf(request, sizeof request, "%s", history_kind_text(kind));
    if (worker_ask(one->worker, request, (uint64_t)(wait_ms + ASK_PATIENCE_MS), &answer, &why) !=
        0) {
        if (worker_broken(one->worker) != NULL)
            trial_spoil(trial, why.text);
        trial_note(trial, &item);
        return false;
    }
    item.at_ns = answer.sent_ns;
    item.end_ns = answer.answered_ns;
    item.result = result_of(answer.line.word);
    item.fence = answer.line.fence;
    (void)snprintf(item.text, sizeof item.text, "%s", answer.line.text);
    if (!fits(kind, answer.line.word)) {
        (void)why_set(&why, "worker %u answered \"%s\" to \"%.60s\"", one->number + 1,
                      line_word_text(answer.line.word), request);
        trial_spoil(trial, why.text);
        return false;
    }
    if (kind == HISTORY_CHECK)
        item.fence = HISTORY_NO_FENCE;
    trial_note(trial, &item);
    *result = item.result;
    return true;
}

static void contender_write(struct contender *one) {
    struct trial *trial = one->trial;
    const bool has_landed = resource_write(&trial->resource, one->fence);
    const int64_t now_ns = clock_now_ns();

    trial_note(trial, &(struct history_item){.at_ns = now_ns,
                                             .end_ns = now_ns,
                                             .kind = HISTORY_WRITE,
                                             .result = has_landed ? HISTORY_RESULT_LANDED
                                                                  : HISTORY_RESULT_REFUSED,
                                             .worker = one->number,
                                             .fence = one->fence});
    one->wrote_ns = now_ns;
}

/* ---- the strike, in a fiber of its own */

static bool has_successor(const struct trial *trial) {
    for (unsigned i = 0; i < trial->setup->workers; i++)
        if (i != trial->plan.victim && trial->contenders[i].got_ns > trial->struck_ns &&
            trial->contenders[i].wrote_ns > trial->struck_ns)
            return true;
    return false;
}

/* A waiter that got the lock when it was stopped keeps it for its TTL. So its stop goes on, even if
 * the others have written. */
static void strike_wait(struct trial *trial) {
    const int64_t ttl_ns = trial->setup->ttl_ms * MS;
    const bool is_fixed = trial->setup->moment == FAULT_AT_WAIT;
    const struct fault *fault = trial->setup->fault;
    const int64_t most_ns =
        is_fixed ? ttl_ns * 13 / 10
                 : ttl_ns * fault->most_pct / 100 + (fault->most_pct > 100 ? 500 * MS : 0);
    const int64_t least_ns = is_fixed ? most_ns : ttl_ns * fault->least_pct / 100;
    const int64_t begun_ns = clock_now_ns(); /* a server may take long to restart */
    int64_t lasts_ns = 0;

    while (lasts_ns < least_ns || (lasts_ns < most_ns && !has_successor(trial))) {
        if (!trial_pause(trial, 5))
            break;
        lasts_ns = clock_now_ns() - begun_ns;
    }
}

/* A stopped holder goes on with its next check: that is sent before it wakes, and is the first that
 * it reads. A library has no time to mend its state before it answers. */
static void strike_wake(struct trial *trial) {
    trial->is_waking = true;
    for (int turn = 0; turn < 3; turn++)
        fiber_sleep(trial->setup->loop, 1);
}

static void strike_note(struct trial *trial) {
    const struct fault *fault = trial->setup->fault;
    struct history_item item = {.at_ns = trial->struck_ns,
                                .end_ns = clock_now_ns(),
                                .kind = HISTORY_FAULT,
                                .worker = fault->needs & FAULT_NEEDS_SERVER ? HISTORY_NOBODY
                                                                            : trial->plan.victim,
                                .flags = fault->flags};

    (void)snprintf(item.text, sizeof item.text, "%s", fault->about);
    trial_note(trial, &item);
}

static void strike_run(void *arg) {
    struct trial *trial = arg;
    const struct fault *fault = trial->setup->fault;
    struct why why;
    int code;

    trial->struck_ns = clock_now_ns();
    trial_move(trial, TRIAL_STRUCK);
    code = fault->begin(&trial->site, &why);
    if (code != 0) {
        trial->outcome->is_unasked = code == FAULT_UNASKED;
        trial_spoil(trial, why.text);
    } else {
        trial->outcome->has_struck = true;
        if (fault->end != NULL) {
            strike_wait(trial);
            strike_wake(trial);
            if (fault->end(&trial->site, &why) != 0)
                trial_spoil(trial, why.text);
        }
        strike_note(trial);
    }
    trial->ended_ns = clock_now_ns();
    if (trial->phase == TRIAL_STRUCK)
        trial_move(trial, fault->flags & HISTORY_KILLS ? TRIAL_SETTLED : TRIAL_AFTER);
    trial->living--;
}

static bool is_asleep(const struct trial *trial) {
    const bool is_held = trial->setup->moment == FAULT_AT_HELD;

    return trial->phase == TRIAL_STRUCK && !(is_held && trial->is_waking);
}

/* Returns when the fault has begun; after a stop, when it is over, or the victim is about to wake. */
static void contender_strike(struct contender *one, bool waits_for_its_end) {
    struct trial *trial = one->trial;

    trial->living++;
    if (fiber_start(strike_run, trial) != 0) {
        trial->living--;
        trial_spoil(trial, "out of memory");
        return;
    }
    while (waits_for_its_end && is_asleep(trial))
        if (!trial_pause(trial, 1))
            break;
    one->is_awake = waits_for_its_end;
}

/* ---- a cycle */

/* The work of one grant, longer than the TTL: it is no fault, but a row of its own. */
static void contender_begin_work(struct contender *one) {
    struct trial *trial = one->trial;

    trial->struck_ns = clock_now_ns();
    trial->outcome->has_struck = true;
    trial_move(trial, TRIAL_STRUCK);
}

static void contender_end_work(struct contender *one) {
    strike_note(one->trial);
    one->trial->ended_ns = clock_now_ns();
    trial_move(one->trial, TRIAL_AFTER);
}

static bool is_working(const struct contender *one) {
    return is_victim(one) && one->trial->setup->fault->flags & HISTORY_WORKS &&
           one->trial->phase == TRIAL_STRUCK;
}

/* How long the victim works after its fault. While no server answered, no other worker could get the
 * lock: so it then works until another has it. */
static int64_t after_ns(const struct trial *trial) {
    const bool was_away = (trial->setup->fault->flags & HISTORY_AWAY) != 0;

    return was_away && !has_successor(trial) ? trial->setup->ttl_ms * MS / 4 : AFTER_MS * MS;
}

/* A fault that is not about the TTL: a holder that nobody renews ends before its TTL does, however
 * long a server takes. Else the row would only show again that the TTL ends. */
static bool is_short(const struct trial *trial) {
    const struct fault *fault = trial->setup->fault;

    return fault->begin != NULL && (fault->needs | fault->caps) != 0 && fault->most_pct <= 100 &&
           !(trial->outcome->caps & LINE_CAP_RENEW);
}

/* Whether the holder has a reason to go on. */
static bool contender_stays(const struct contender *one, int64_t hold_ms) {
    const struct trial *trial = one->trial;
    const int64_t now_ns = clock_now_ns(), held_ns = now_ns - one->got_ns;
    const int64_t ttl_ns = trial->setup->ttl_ms * MS;

    if (trial->is_over || one->has_lost || !worker_is_alive(one->worker))
        return false;
    if (is_working(one))
        return now_ns - trial->struck_ns < ttl_ns * 3 / 2;
    if (is_victim(one) && held_ns > ttl_ns * 9 / 10 && is_short(trial))
        return false;
    if (held_ns < hold_ms * MS)
        return true;
    if (is_victim(one) && trial->phase == TRIAL_AFTER)
        return now_ns - trial->ended_ns < after_ns(trial);
    if (is_victim(one))
        return trial->phase == TRIAL_STRUCK;
    if (held_ns > ttl_ns * 6 / 10) /* so that it needs no renewal */
        return false;
    if (trial->phase == TRIAL_CALM)
        return trial->contenders[trial->plan.victim].has_wait_strike && held_ns < ttl_ns * 3 / 10;
    return trial->phase != TRIAL_SETTLED || now_ns - trial->settled_ns < TAIL_MS * MS;
}

/* One check, and the write if it still believes. */
static bool contender_beat(struct contender *one) {
    enum history_result result;

    if (!contender_ask(one, HISTORY_CHECK, 0, &result))
        return false;
    if (result != HISTORY_RESULT_HELD) {
        one->has_lost = true;
        return true;
    }
    if (one->grants == one->trial->plan.grant && is_moment(one, FAULT_AT_WRITE)) {
        contender_strike(one, true);
        if (!worker_is_alive(one->worker))
            return false;
    }
    contender_write(one);
    return true;
}

static void contender_hold(struct contender *one) {
    struct trial *trial = one->trial;
    const int64_t hold_ms = plan_hold_ms(&trial->plan, one->number, one->grants);
    const bool is_chosen = one->grants >= trial->plan.grant;
    bool is_alive = contender_beat(one);

    if (is_alive && is_chosen && is_moment(one, FAULT_AT_HELD)) {
        if (trial->setup->fault->flags & HISTORY_WORKS)
            contender_begin_work(one);
        else
            contender_strike(one, trial->setup->fault->flags & (HISTORY_STOPS | HISTORY_KILLS));
    }
    while (is_alive && contender_stays(one, hold_ms)) {
        if (!one->is_awake)
            (void)trial_pause(trial, number_min(BEAT_MS, hold_ms));
        one->is_awake = false;
        is_alive = worker_is_alive(one->worker) && contender_beat(one);
    }
    if (is_victim(one) && trial->setup->fault->flags & HISTORY_WORKS &&
        trial->phase == TRIAL_STRUCK)
        contender_end_work(one);
}

static void contender_release(struct contender *one) {
    struct trial *trial = one->trial;
    const bool is_chosen = one->grants >= trial->plan.grant;
    enum history_result result;

    if (is_chosen && is_moment(one, FAULT_AT_RELEASE))
        contender_strike(one, trial->setup->fault->flags & HISTORY_KILLS);
    if (worker_is_alive(one->worker))
        (void)contender_ask(one, HISTORY_RELEASE, 0, &result);
    one->is_holding = false;
    if (is_victim(one) && trial->phase == TRIAL_AFTER)
        trial_move(trial, TRIAL_SETTLED);
}

/* While another holds the lock and the victim waits for it: the fiber of the strike begins here. */
static void wait_and_strike(void *arg) {
    struct contender *one = arg;
    struct trial *trial = one->trial;

    while (trial->phase == TRIAL_CALM && !trial->is_over) {
        bool is_held = false;

        for (unsigned i = 0; i < trial->setup->workers; i++)
            is_held = is_held || (i != one->number && trial->contenders[i].is_holding);
        if (is_held && one->is_asking) {
            contender_strike(one, false);
            break;
        }
        if (!trial_pause(trial, 2))
            break;
    }
    trial->living--;
}

static void contender_begin_wait(struct contender *one) {
    struct trial *trial = one->trial;

    if (one->asks < trial->plan.grant || one->has_wait_strike || !is_moment(one, FAULT_AT_WAIT))
        return;
    one->has_wait_strike = true;
    trial->living++;
    if (fiber_start(wait_and_strike, one) != 0) {
        trial->living--;
        trial_spoil(trial, "out of memory");
    }
}

/* One attempt. Its wait is short under a fault, so that the moment of a grant is known well. */
static bool contender_acquire(struct contender *one, enum history_result *result) {
    struct trial *trial = one->trial;
    const bool is_calm = trial->setup->moment == FAULT_AT_NONE;
    bool is_alive;

    one->asks++;
    contender_begin_wait(one);
    if (one->asks >= trial->plan.grant && is_moment(one, FAULT_AT_REPLY))
        contender_strike(one, false);
    one->is_asking = true;
    is_alive = contender_ask(one, HISTORY_ACQUIRE,
                             is_calm ? trial->setup->ttl_ms * 5 : trial->setup->ttl_ms / 4, result);
    one->is_asking = false;
    return is_alive;
}

static void contender_got(struct contender *one) {
    struct trial *trial = one->trial;
    const struct history *history = &trial->outcome->history;

    one->grants++;
    one->has_lost = false;
    one->is_holding = true;
    one->got_ns = clock_now_ns();
    one->fence = HISTORY_NO_FENCE;
    for (size_t i = history->count; i > 0; i--)
        if (history->items[i - 1].worker == one->number &&
            history->items[i - 1].kind == HISTORY_ACQUIRE) {
            one->fence = history->items[i - 1].fence;
            break;
        }
    if (trial->phase == TRIAL_SETTLED)
        trial->settled_grants++;
}

void contender_live(void *arg) {
    struct contender *one = arg;
    struct trial *trial = one->trial;
    enum history_result result;

    for (unsigned cycle = 0; !trial->is_over && contender_acquire(one, &result); cycle++) {
        if (result == HISTORY_RESULT_HELD) {
            contender_got(one);
            contender_hold(one);
            contender_release(one);
        } else if (is_victim(one) && trial->phase == TRIAL_AFTER) {
            trial_move(trial, TRIAL_SETTLED); /* it holds nothing, so there is nothing to see */
        }
        if (!worker_is_alive(one->worker))
            break;
        (void)trial_pause(trial, result == HISTORY_RESULT_ERROR
                                     ? ERROR_MS
                                     : plan_think_ms(&trial->plan, one->number, cycle));
    }
    one->is_holding = one->is_asking = false;
    if (is_victim(one) && trial->phase == TRIAL_AFTER)
        trial_move(trial, TRIAL_SETTLED);
    trial->living--;
}
