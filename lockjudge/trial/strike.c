#include "strike.h"

#include "clock.h"
#include "fiber.h"
#include "number.h"
#include "pair.h"

#include <assert.h>
#include <stdio.h>

#define MS       INT64_C(1000000)

#define AFTER_MS 120 /* how long a worker shows what it believes, after its fault */
#define WATCH_MS 2
#define LAST_MS  5

static bool is_second(const struct strike *strike) {
    return strike != &strike->stage->strikes[0];
}

static bool is_of_server(const struct strike *strike) {
    return (strike->kind.fault->needs & FAULT_NEEDS_SERVER) != 0;
}

static struct contender *victim_of(struct stage *stage) {
    return &stage->contenders[stage->plan.victim];
}

static bool has_lock(const struct contender *one) {
    return one->is_holding && !one->has_lost && worker_is_alive(one->worker);
}

static int64_t ttl_part_ns(const struct stage *stage, int64_t percent) {
    return stage->setup->ttl_ms * MS * percent / 100;
}

/* ---- whom it hits */

/* A second fault that is to hit the victim while it holds hits another if it holds no more. */
static bool second_may_hit(const struct strike *strike, const struct contender *one) {
    const struct stage *stage = strike->stage;
    const struct contender *victim = &stage->contenders[stage->plan.victim];
    enum pair_target target = pair_target(&stage->strikes[0].kind, &strike->kind);

    if (target == PAIR_EITHER)
        target = stage->plan.is_second_on_victim ? PAIR_VICTIM : PAIR_OTHER;
    if (target == PAIR_VICTIM && has_lock(victim))
        return one == victim;
    return target == PAIR_VICTIM || one != victim;
}

static bool may_hit(const struct strike *strike, const struct contender *one) {
    const struct stage *stage = strike->stage;
    const bool is_acquire =
        strike->kind.moment == FAULT_AT_WAIT || strike->kind.moment == FAULT_AT_REPLY;

    if (strike->state != STRIKE_DUE || stage->is_over || !worker_is_alive(one->worker))
        return false;
    if (is_second(strike))
        return is_of_server(strike) || second_may_hit(strike, one);
    return one->number == stage->plan.victim && stage->phase == STAGE_CALM &&
           (is_acquire ? one->asks : one->grants) >= stage->plan.grant;
}

struct strike *strike_due(const struct contender *one, enum fault_moment moment) {
    struct stage *stage = one->stage;

    for (unsigned i = 0; i < stage->strike_count; i++)
        if (stage->strikes[i].kind.moment == moment && (i == 0 || moment != FAULT_AT_HELD) &&
            may_hit(&stage->strikes[i], one))
            return &stage->strikes[i];
    return NULL;
}

/* ---- its length */

/* Another worker has got the lock and has written: since the fault began, and since its victim got
 * the lock slowly. */
static bool has_successor(const struct strike *strike) {
    const struct stage *stage = strike->stage;
    int64_t since_ns = strike->begun_ns;

    if (strike->kind.fault->is_slow) {
        if (strike->target->got_ns < since_ns)
            return false;
        since_ns = strike->target->got_ns;
    }
    for (unsigned i = 0; i < stage->setup->workers; i++) {
        const struct contender *one = &stage->contenders[i];

        if (one != strike->target && one->got_ns > since_ns && one->wrote_ns > since_ns)
            return true;
    }
    return false;
}

/* A waiter that got the lock when it was stopped keeps it for its TTL. So its stop goes on, even if
 * the others have written. */
static void strike_lengths(const struct strike *strike, int64_t *least_ns, int64_t *most_ns) {
    const struct stage *stage = strike->stage;
    const struct fault *fault = strike->kind.fault;

    if (strike->kind.moment == FAULT_AT_WAIT) {
        *least_ns = *most_ns = ttl_part_ns(stage, 130);
        return;
    }
    *least_ns = ttl_part_ns(stage, fault->least_pct);
    *most_ns = ttl_part_ns(stage, fault->most_pct);
    if (fault->most_pct > fault->least_pct && fault->most_pct > 100)
        *most_ns += 500 * MS;
}

/* How long it lasts if all goes as usual; 0: it has no length. */
static int64_t strike_usual_ns(const struct strike *strike) {
    int64_t least_ns, most_ns;

    if (strike->kind.fault->end == NULL)
        return 0;
    strike_lengths(strike, &least_ns, &most_ns);
    return least_ns > 0 ? least_ns : number_min(most_ns, ttl_part_ns(strike->stage, 100));
}

/* The work of a holder ends with its lock. */
static bool has_ended_early(const struct strike *strike) {
    const struct contender *target = strike->target;

    return strike->kind.fault->flags & HISTORY_WORKS &&
           (!target->is_holding || target->has_lost || !worker_is_alive(target->worker));
}

/* Its proxy waits for the bytes that it is to hit. */
static bool is_pending(const struct strike *strike) {
    return strike->kind.fault->needs & FAULT_NEEDS_PROXY && strike->site.proxy != NULL &&
           strike->site.proxy->has_next;
}

static void strike_wait(struct strike *strike) {
    const int64_t begun_ns = clock_now_ns(); /* a server may take long to restart */
    int64_t lasts_ns = 0, least_ns, most_ns;

    strike_lengths(strike, &least_ns, &most_ns);
    while (lasts_ns < least_ns ||
           (lasts_ns < most_ns && (is_pending(strike) || !has_successor(strike)))) {
        if (has_ended_early(strike) || !stage_pause(strike->stage, LAST_MS))
            break;
        lasts_ns = clock_now_ns() - begun_ns;
    }
}

/* A stopped holder goes on with its next check: that is sent before it wakes, and is the first that
 * it reads. A library has no time to mend its state before it answers. */
static void strike_wake(struct strike *strike) {
    strike->is_waking = true;
    for (int turn = 0; turn < 3; turn++)
        fiber_sleep(strike->stage->setup->loop, 1);
}

/* `end()` was called at `ending_ns`. */
static void strike_note(struct strike *strike, int64_t ending_ns) {
    const struct fault *fault = strike->kind.fault;
    const int64_t now_ns = clock_now_ns();
    struct history_item item = {.at_ns = strike->begun_ns,
                                .end_ns = now_ns,
                                .starting_ns = strike->struck_ns - strike->begun_ns,
                                .ending_ns = now_ns - ending_ns,
                                .kind = HISTORY_FAULT,
                                .worker =
                                    is_of_server(strike) ? HISTORY_NOBODY : strike->target->number,
                                .flags = fault->flags};

    (void)snprintf(item.text, sizeof item.text, "%s", fault->about);
    stage_note(strike->stage, &item);
}

/* ---- its course */

/* A dead worker shows nothing more. */
static void strikes_check_over(struct stage *stage) {
    bool is_watched = false;

    for (unsigned i = 0; i < stage->strike_count; i++)
        if (stage->strikes[i].state != STRIKE_OVER)
            return;
    for (unsigned i = 0; i < stage->strike_count; i++) {
        struct contender *target = stage->strikes[i].target;

        target->is_watched = worker_is_alive(target->worker);
        is_watched = is_watched || target->is_watched;
    }
    stage_move(stage, is_watched ? STAGE_AFTER : STAGE_SETTLED);
}

static void strike_follow(struct stage *stage);

/* The kill of a worker that releases comes when its release is on its way. */
static void strike_run(struct strike *strike) {
    struct stage *stage = strike->stage;
    const struct fault *fault = strike->kind.fault;
    int64_t ending_ns;
    struct why why;
    int code;

    if (strike->kind.moment == FAULT_AT_RELEASE && fault->flags & HISTORY_KILLS)
        fiber_sleep(stage->setup->loop, (uint64_t)stage->plan.kill_ms);
    strike->begun_ns = clock_now_ns();
    code = fault->begin(&strike->site, &why);
    strike->struck_ns = ending_ns = clock_now_ns();
    if (code == 0) {
        stage->outcome->has_struck = is_second(strike) || stage->strike_count == 1;
        if (!is_second(strike))
            strike_follow(stage);
        if (fault->end != NULL) {
            strike_wait(strike);
            stage->outcome->has_missed = stage->outcome->has_missed || is_pending(strike);
            strike_wake(strike);
            ending_ns = clock_now_ns();
            code = fault->end(&strike->site, &why);
        }
        strike_note(strike, ending_ns);
    }
    if (code != 0) {
        stage->outcome->is_unasked = code == FAULT_UNASKED;
        stage_spoil(stage, why.text);
    }
    strike->ended_ns = clock_now_ns();
    strike->state = STRIKE_OVER;
    strikes_check_over(stage);
}

static void strike_live(void *arg) {
    struct strike *strike = arg;

    strike_run(strike);
    strike->stage->living--;
}

static void strike_aim(struct strike *strike, struct contender *one) {
    struct stage *stage = strike->stage;

    strike->target = one;
    strike->state = STRIKE_LASTS;
    strike->struck_ns = INT64_MAX;
    strike->site.victim = strike->target->worker;
    strike->site.victim_number = strike->target->number;
    if (stage->proxy_count > 0)
        strike->site.proxy = &stage->proxies[strike->target->number];
    if (stage->phase == STAGE_CALM)
        stage_move(stage, STAGE_STRUCK);
    if (is_second(strike) && !is_of_server(strike)) {
        stage->outcome->has_second_hit = true;
        stage->outcome->second_victim = one->number;
    }
}

void strike_begin(struct strike *strike, struct contender *one) {
    strike_aim(strike, one);
    stage_start(strike->stage, strike_live, strike);
}

/* ---- a strike that watches for its moment */

static bool is_another_holding(const struct contender *one) {
    const struct stage *stage = one->stage;

    for (unsigned i = 0; i < stage->setup->workers; i++)
        if (i != one->number && stage->contenders[i].is_holding)
            return true;
    return false;
}

static bool is_at_moment(const struct strike *strike, const struct contender *one) {
    if (!may_hit(strike, one))
        return false;
    return strike->kind.moment == FAULT_AT_WAIT ? one->is_asking && is_another_holding(one)
                                                : has_lock(one);
}

/* A fault of the server may also come while a dead worker has the lock, after kill-held. */
static struct contender *dead_holder(const struct strike *strike) {
    struct stage *stage = strike->stage;
    const struct fault_case *first = &stage->strikes[0].kind;
    const bool is_dead = first->fault->flags & HISTORY_KILLS && first->moment == FAULT_AT_HELD;

    return is_second(strike) && is_of_server(strike) && is_dead ? victim_of(stage) : NULL;
}

/* The victim of the first one comes first, if it is possible. But a server forgets the lock of the
 * last one that got it. */
static struct contender *strike_find(const struct strike *strike) {
    struct stage *stage = strike->stage;
    struct contender *found = dead_holder(strike);

    for (unsigned i = 0; i < stage->setup->workers; i++) {
        struct contender *one =
            &stage->contenders[(stage->plan.victim + i) % stage->setup->workers];

        if (is_at_moment(strike, one) &&
            (found == NULL || (is_of_server(strike) && one->got_ns > found->got_ns)))
            found = one;
    }
    return found;
}

static void strike_watch(struct strike *strike) {
    do {
        struct contender *one = strike_find(strike);

        if (one != NULL) {
            strike_aim(strike, one);
            strike_run(strike);
            return;
        }
    } while (stage_pause(strike->stage, WATCH_MS));
}

static void strike_watch_waiter(void *arg) {
    struct stage *stage = arg;

    strike_watch(&stage->strikes[0]);
    stage->living--;
}

/* The second one, from the beginning of the first. */
static void strike_come(void *arg) {
    struct stage *stage = arg;
    struct strike *strike = &stage->strikes[1];
    const int64_t usual_ns = strike_usual_ns(&stage->strikes[0]);

    if (stage_pause(stage, usual_ns / MS * stage->plan.second_pct / 100)) {
        strike->state = STRIKE_DUE;
        if (strike->kind.moment == FAULT_AT_HELD || strike->kind.moment == FAULT_AT_WAIT)
            strike_watch(strike);
    }
    stage->living--;
}

static void strike_follow(struct stage *stage) {
    if (stage->strike_count > 1)
        stage_start(stage, strike_come, stage);
}

/* ---- all of them */

static void strike_on_note(void *stage, const struct history_item *item) {
    stage_note(stage, item);
}

static int strike_prepare(struct strike *strike) {
    struct stage *stage = strike->stage;
    const struct fault *fault = strike->kind.fault;
    struct why why;
    int code;

    strike->site = (struct fault_site){.loop = stage->setup->loop,
                                       .ttl_ms = stage->setup->ttl_ms,
                                       .lock_name = stage->setup->lock_name,
                                       .moment = strike->kind.moment,
                                       .servers = stage->setup->servers,
                                       .victim_number = stage->plan.victim,
                                       .workers = stage->setup->workers,
                                       .note = strike_on_note,
                                       .note_data = stage};
    code = fault->prepare != NULL ? fault->prepare(&strike->site, &why) : 0;
    if (code == 0)
        return 0;
    stage->outcome->is_unasked = code == FAULT_UNASKED;
    stage_spoil(stage, why.text);
    return -1;
}

int strikes_prepare(struct stage *stage) {
    const struct fault_case *cases = stage->setup->cases;

    for (unsigned i = 0; i < FAULT_PAIR && cases[i].fault != NULL; i++) {
        struct strike *strike = &stage->strikes[i];

        *strike = (struct strike){
            .stage = stage, .kind = cases[i], .state = i == 0 ? STRIKE_DUE : STRIKE_AWAITED};
        stage->strike_count++;
        if (strike_prepare(strike) != 0)
            return -1;
    }
    return 0;
}

struct worker_options strikes_options(const struct stage *stage, unsigned number) {
    struct worker_options options = {.variables = NULL};

    for (unsigned i = 0; i < stage->strike_count && number == stage->plan.victim; i++) {
        const struct strike *strike = &stage->strikes[i];

        if (strike->site.variables != NULL)
            options.variables = strike->site.variables;
        if (strike->kind.fault->caps & LINE_CAP_FORK)
            options.child_number = stage->setup->workers;
    }
    return options;
}

void strikes_start(struct stage *stage) {
    assert(stage->strike_count > 0);
    if (stage->strikes[0].kind.moment == FAULT_AT_WAIT)
        stage_start(stage, strike_watch_waiter, stage);
}

void strikes_restore(struct stage *stage) {
    for (unsigned i = stage->strike_count; i > 0; i--) {
        struct strike *strike = &stage->strikes[i - 1];
        const struct fault *fault = strike->kind.fault;
        struct why why;

        strike->site.victim = NULL;
        strike->site.proxy = NULL;
        if (fault->restore != NULL && fault->restore(&strike->site, &why) != 0)
            stage_spoil(stage, why.text);
    }
}

/* ---- for the contenders */

bool strike_blocks(const struct strike *strike) {
    return strike->state == STRIKE_LASTS &&
           !(strike->kind.moment == FAULT_AT_HELD && strike->is_waking);
}

/* A wait is short under a fault, so that the moment of a grant is known well. */
int64_t strike_wait_ms(const struct stage *stage, const struct strike *strike) {
    if (stage->setup->cases[0].moment == FAULT_AT_NONE)
        return stage->setup->ttl_ms * 5;
    if (strike != NULL && strike->kind.fault->is_slow)
        return stage->setup->ttl_ms * 2;
    return stage->setup->ttl_ms / 4;
}

/* A server forgets the lock of each worker that got it before: while the fault begins, the lock of its
 * target may end, and another gets it. */
static bool has_hit(const struct strike *strike, const struct contender *one) {
    if (strike->target == NULL || strike->target == one)
        return strike->target != NULL;
    return strike->kind.fault->flags & HISTORY_FORGETS && one->is_holding &&
           one->got_ns < strike->struck_ns;
}

bool strikes_have_hit(const struct contender *one) {
    return has_hit(&one->stage->strikes[0], one) || has_hit(&one->stage->strikes[1], one);
}

/* While no server answered, no other worker could get the lock: so the victim then works until
 * another has it. */
static int64_t after_ns(const struct strike *strike) {
    const bool was_away = (strike->kind.fault->flags & HISTORY_AWAY) != 0;

    return was_away && !has_successor(strike) ? ttl_part_ns(strike->stage, 25) : AFTER_MS * MS;
}

bool strikes_keep(const struct contender *one) {
    const struct stage *stage = one->stage;

    for (unsigned i = 0; i < stage->strike_count; i++) {
        const struct strike *strike = &stage->strikes[i];

        if (has_hit(strike, one) &&
            (strike->state == STRIKE_LASTS || clock_now_ns() - strike->ended_ns < after_ns(strike)))
            return true;
    }
    return false;
}

bool strikes_are_short(const struct contender *one) {
    const struct stage *stage = one->stage;
    bool is_short = false;

    for (unsigned i = 0; i < stage->strike_count; i++) {
        const struct fault *fault = stage->strikes[i].kind.fault;

        if (!has_hit(&stage->strikes[i], one))
            continue;
        if (fault->end == NULL || fault->most_pct > 100)
            return false;
        is_short = true;
    }
    return is_short && !(stage->outcome->caps & LINE_CAP_RENEW);
}

void strikes_have_shown(struct contender *one) {
    struct stage *stage = one->stage;
    bool is_watched = false;

    one->is_watched = false;
    for (unsigned i = 0; i < stage->setup->workers; i++)
        is_watched = is_watched || stage->contenders[i].is_watched;
    if (stage->phase == STAGE_AFTER && !is_watched)
        stage_move(stage, STAGE_SETTLED);
}

bool strikes_need_holder(const struct contender *one) {
    const struct stage *stage = one->stage;
    const struct contender *victim = &stage->contenders[stage->plan.victim];

    return stage->strikes[0].kind.moment == FAULT_AT_WAIT && one != victim &&
           may_hit(&stage->strikes[0], victim);
}

bool strikes_need_peace(const struct contender *one) {
    const struct stage *stage = one->stage;

    for (unsigned i = 0; i < stage->strike_count; i++) {
        const struct strike *strike = &stage->strikes[i];

        if (strike->kind.fault->is_slow && strike->state == STRIKE_LASTS && strike->target != one &&
            strike->target->is_asking)
            return true;
    }
    return false;
}
