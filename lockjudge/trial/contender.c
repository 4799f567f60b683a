/* A contender acquires, checks and writes, and releases, again and again. What its worker answers
 * becomes the history; nothing else that the worker does counts.
 *
 * A contender that a fault hits goes through its moments like this:
 *
 *     held      grant -> strike -> (end) -> check, write for a while -> release
 *     write     grant, check -> strike -> (end) -> write, without a check -> ... -> release
 *     release   grant ... strike -> release sent -> (end); a kill comes just after it was sent
 *     wait      acquire sent -> strike, while another holds -> (end)
 *     reply     strike -> acquire sent -> (end) */
#include "contender.h"

#include "clock.h"
#include "number.h"
#include "strike.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MS              INT64_C(1000000)

#define ASK_PATIENCE_MS 30000 /* more than a library's own time-outs and back-offs */
#define FAULT_TTLS      3     /* longer than a fault keeps an answer back, in TTLs */
#define BEAT_MS         15    /* between two checks of a holder */
#define TAIL_MS         400   /* how long a holder goes on after the last fault */
#define ERROR_MS        50    /* before the next try after an error */

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
    struct stage *stage = one->stage;
    struct history_item item = {.at_ns = clock_now_ns(),
                                .end_ns = HISTORY_OPEN,
                                .kind = kind,
                                .worker = one->number,
                                .wait_ms = wait_ms,
                                .ttl_ms = stage->setup->ttl_ms};
    struct worker_answer answer;
    struct why why;
    char request[256];

    if (kind == HISTORY_ACQUIRE)
        (void)snprintf(request, sizeof request, "acquire %s %" PRId64 " %" PRId64,
                       stage->setup->lock_name, stage->setup->ttl_ms, wait_ms);
    else
        (void)snprintf(request, sizeof request, "%s", history_kind_text(kind));
    if (worker_ask(one->worker, request,
                   (uint64_t)(wait_ms + ASK_PATIENCE_MS + FAULT_TTLS * stage->setup->ttl_ms),
                   &answer, &why) != 0) {
        if (worker_broken(one->worker) != NULL)
            stage_spoil(stage, why.text);
        stage_note(stage, &item);
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
        stage_spoil(stage, why.text);
        return false;
    }
    if (kind == HISTORY_CHECK)
        item.fence = HISTORY_NO_FENCE;
    stage_note(stage, &item);
    *result = item.result;
    return true;
}

static void contender_write(struct contender *one) {
    struct stage *stage = one->stage;
    const bool has_landed = resource_write(&stage->resource, one->fence);
    const int64_t now_ns = clock_now_ns();

    stage_note(stage, &(struct history_item){.at_ns = now_ns,
                                             .end_ns = now_ns,
                                             .kind = HISTORY_WRITE,
                                             .result = has_landed ? HISTORY_RESULT_LANDED
                                                                  : HISTORY_RESULT_REFUSED,
                                             .worker = one->number,
                                             .fence = one->fence});
    one->wrote_ns = now_ns;
}

/* ---- a cycle */

/* Returns when the fault has begun; if it blocks its victim, when the victim may go on. */
static void contender_strike(struct contender *one, struct strike *strike, bool blocks) {
    strike_begin(strike, one);
    while (blocks && strike_blocks(strike))
        if (!stage_pause(one->stage, 1))
            break;
    one->is_awake = blocks;
}

/* Its TTL is about to end. It may have begun when the lock was asked for: a stall after the grant
 * makes the rest shorter. */
static bool is_late(const struct contender *one) {
    return strikes_are_short(one) &&
           clock_now_ns() - one->asked_ns > one->stage->setup->ttl_ms * MS * 9 / 10;
}

/* Whether the holder has a reason to go on. */
static bool contender_stays(const struct contender *one, int64_t hold_ms) {
    const struct stage *stage = one->stage;
    const int64_t now_ns = clock_now_ns(), held_ns = now_ns - one->got_ns;
    const int64_t ttl_ns = stage->setup->ttl_ms * MS;

    if (stage->is_over || one->has_lost || !worker_is_alive(one->worker) || is_late(one))
        return false;
    if (held_ns < hold_ms * MS || strikes_keep(one))
        return true;
    if (strikes_have_hit(one) || strikes_need_peace(one))
        return false;
    if (held_ns > ttl_ns * 6 / 10) /* so that it needs no renewal */
        return false;
    if (stage->phase == STAGE_CALM)
        return strikes_need_holder(one) && held_ns < ttl_ns * 3 / 10;
    return stage->phase != STAGE_SETTLED || now_ns - stage->settled_ns < TAIL_MS * MS;
}

/* One check, and the write if it still believes. */
static bool contender_beat(struct contender *one) {
    enum history_result result;
    struct strike *strike;

    if (!contender_ask(one, HISTORY_CHECK, 0, &result))
        return false;
    if (result != HISTORY_RESULT_HELD) {
        one->has_lost = true;
        return true;
    }
    strike = strike_due(one, FAULT_AT_WRITE);
    if (strike != NULL) {
        contender_strike(one, strike, true);
        if (!worker_is_alive(one->worker))
            return false;
    }
    contender_write(one);
    return true;
}

static void contender_hold(struct contender *one) {
    const int64_t hold_ms = plan_hold_ms(&one->stage->plan, one->number, one->grants);
    bool is_alive = contender_beat(one);
    struct strike *strike = is_alive ? strike_due(one, FAULT_AT_HELD) : NULL;

    if (strike != NULL)
        contender_strike(one, strike, strike->kind.fault->flags & (HISTORY_STOPS | HISTORY_KILLS));
    while (is_alive && contender_stays(one, hold_ms)) {
        if (!one->is_awake)
            (void)stage_pause(one->stage, number_min(BEAT_MS, hold_ms));
        one->is_awake = false;
        if (is_late(one)) /* since then */
            break;
        is_alive = worker_is_alive(one->worker) && contender_beat(one);
    }
}

static void contender_release(struct contender *one) {
    struct strike *strike = strike_due(one, FAULT_AT_RELEASE);
    enum history_result result;

    if (strike != NULL)
        contender_strike(one, strike, false);
    one->is_holding = false; /* it goes on for no strike that comes now */
    if (worker_is_alive(one->worker))
        (void)contender_ask(one, HISTORY_RELEASE, 0, &result);
    strikes_have_shown(one);
}

static bool contender_acquire(struct contender *one, enum history_result *result) {
    struct strike *strike;
    bool is_alive;

    while (strikes_need_peace(one) && stage_pause(one->stage, 1))
        ;
    one->asks++;
    strike = strike_due(one, FAULT_AT_REPLY);
    if (strike != NULL)
        contender_strike(one, strike, false);
    one->is_asking = true;
    is_alive = contender_ask(one, HISTORY_ACQUIRE, strike_wait_ms(one->stage, strike), result);
    one->is_asking = false;
    return is_alive;
}

static void contender_got(struct contender *one) {
    struct stage *stage = one->stage;
    const struct history *history = &stage->outcome->history;

    one->grants++;
    one->has_lost = false;
    one->is_holding = true;
    one->got_ns = clock_now_ns();
    one->fence = HISTORY_NO_FENCE;
    for (size_t i = history->count; i > 0; i--)
        if (history->items[i - 1].worker == one->number &&
            history->items[i - 1].kind == HISTORY_ACQUIRE) {
            one->fence = history->items[i - 1].fence;
            one->asked_ns = history->items[i - 1].at_ns;
            break;
        }
    if (stage->phase == STAGE_SETTLED)
        stage->settled_grants++;
}

void contender_live(void *arg) {
    struct contender *one = arg;
    struct stage *stage = one->stage;
    enum history_result result;

    for (unsigned cycle = 0; !stage->is_over && contender_acquire(one, &result); cycle++) {
        if (result == HISTORY_RESULT_HELD) {
            contender_got(one);
            contender_hold(one);
            contender_release(one);
        } else {
            strikes_have_shown(one); /* it holds nothing */
        }
        if (!worker_is_alive(one->worker))
            break;
        (void)stage_pause(stage, result == HISTORY_RESULT_ERROR
                                     ? ERROR_MS
                                     : plan_think_ms(&stage->plan, one->number, cycle));
    }
    one->is_holding = one->is_asking = false;
    strikes_have_shown(one);
    stage->living--;
}
