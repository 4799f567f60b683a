/* A stall makes no finding. Histories of a model of a lock that is right have no word that blames it,
 * although each step of each request may be late by any time. The same model with one fault gives the
 * word of that fault. The seeds are fixed and the clock is a number, so no run differs from another.
 *
 * A worker has two actors: the judge asks one, the other renews. Each step ends after a hop.
 *
 *     acquire   judge asks -> worker tries -> server -> worker has the reply -> judge has the answer
 *     check     judge asks -> worker looks at its clock -> judge has the answer, and writes
 *     release   judge asks -> worker -> server -> worker -> judge
 *     renewal   worker -> server -> worker, and again after a third of the TTL */
#include "oracle.h"
#include "test.h"

#define MS       INT64_C(1000000)
#define TTL      (1000 * MS)
#define WAIT     (TTL / 4)
#define LONG     (TTL * 3 / 2) /* a stop, and the work of WORK_HELD */
#define BEAT     (15 * MS)
#define THINK    (60 * MS)
#define SLACK_MS 1000
#define ENDS     (6 * TTL)
#define WORKERS  3
#define NEVER    INT64_MAX

enum defect {
    RIGHT,
    NO_CLOCK,
    LATE_CLOCK,
    BLIND_RELEASE,
    CREATES,
    RESETS,
    NO_TTL,
    KEEPS_LATE,
    NO_RENEWAL
};
enum row { NONE, STOP_HELD, STOP_TWO, STOP_WRITE, KILL_HELD, WORK_HELD, LATE_REPLY, ROWS };

struct worker;
struct actor {
    void (*step)(struct worker *worker);
    int64_t at_ns;
    bool is_worker; /* it waits while the worker is stopped */
};

struct worker {
    struct actor asked, renewing;
    struct history_item item;               /* the request under way */
    int64_t token;                          /* of its grant, for the server */
    int64_t begun_ns, renewal_ns, until_ns; /* by its own clock */
    int64_t awake_ns;                       /* it is stopped until then */
    uint64_t fence;
    int beats, grants;
    bool is_granted, is_extended, is_renewing, has_struck;
    enum history_result answer;
};

static struct {
    struct history history;
    struct worker workers[WORKERS];
    unsigned short random[3];
    enum defect defect;
    enum row row;
    bool has_fences;
    int stalls_pct;
    int64_t stall_most_ns, now_ns;
    int64_t tokens, holder, expires_ns; /* the server's; holder 0: nobody */
    uint64_t last_fence, seen_fence;
} model;

static int64_t below(int64_t most) {
    return (int64_t)(((uint64_t)nrand48(model.random) << 31 | (uint64_t)nrand48(model.random)) %
                     (uint64_t)most);
}

/* Mostly less than a millisecond. */
static int64_t hop(void) {
    return below(MS) + (below(100) < model.stalls_pct ? below(model.stall_most_ns) : 0);
}

/* The next step: of the worker, or of the judge or the server. */
static void at_worker(struct actor *actor, void (*step)(struct worker *), int64_t after_ns) {
    *actor = (struct actor){step, model.now_ns + after_ns, true};
}

static void at_other(struct actor *actor, void (*step)(struct worker *), int64_t after_ns) {
    *actor = (struct actor){step, model.now_ns + after_ns, false};
}

/* ---- the history */

static uint32_t number_of(const struct worker *worker) {
    return (uint32_t)(worker - model.workers);
}

static void note(struct worker *worker, enum history_kind kind, enum history_result result,
                 unsigned flags, int64_t ends_ns) {
    const struct history_item item = {
        .at_ns = model.now_ns,
        .end_ns = ends_ns,
        .kind = kind,
        .result = result,
        .worker = number_of(worker),
        .flags = flags,
        .fence = kind == HISTORY_WRITE && model.has_fences ? worker->fence : HISTORY_NO_FENCE};

    assert_true(history_add(&model.history, &item) >= 0);
}

static void ask(struct worker *worker, enum history_kind kind) {
    worker->item = (struct history_item){.at_ns = model.now_ns,
                                         .kind = kind,
                                         .worker = number_of(worker),
                                         .ttl_ms = TTL / MS,
                                         .wait_ms = kind == HISTORY_ACQUIRE ? WAIT / MS : 0};
}

static void read_answer(struct worker *worker) {
    struct history_item *item = &worker->item;

    item->end_ns = model.now_ns;
    item->result = worker->answer;
    if (item->kind == HISTORY_ACQUIRE && item->result == HISTORY_RESULT_HELD && model.has_fences)
        item->fence = worker->fence;
    assert_true(history_add(&model.history, item) >= 0);
}

/* ---- the server */

static bool is_holder(const struct worker *worker) {
    return model.holder == worker->token && model.expires_ns > model.now_ns;
}

static void server_hold(const struct worker *worker) {
    model.holder = worker->token;
    model.expires_ns = model.defect == NO_TTL ? NEVER : model.now_ns + TTL;
}

static bool server_free(const struct worker *worker) {
    const bool is_ours = is_holder(worker);

    if (!is_ours && model.defect != BLIND_RELEASE)
        return false;
    model.holder = 0;
    if (model.defect == RESETS)
        model.last_fence = 0;
    return true;
}

/* ---- renewals */

static void renew(struct worker *worker);

static void on_renewed(struct worker *worker) {
    at_worker(&worker->renewing, renew, TTL / 3);
    if (!worker->is_renewing || model.defect == CREATES)
        return;
    if (worker->is_extended && worker->until_ns > model.now_ns) {
        worker->until_ns = worker->renewal_ns + TTL;
        return;
    }
    worker->is_renewing = false;
    if (model.defect == NO_CLOCK)
        return;
    worker->until_ns = 0;
    note(worker, HISTORY_TOLD, HISTORY_RESULT_LOST, 0, model.now_ns);
}

static void extend(struct worker *worker) {
    worker->is_extended = is_holder(worker) || model.defect == CREATES;
    if (worker->is_renewing && worker->is_extended)
        server_hold(worker);
    at_worker(&worker->renewing, on_renewed, hop());
}

static void renew(struct worker *worker) {
    worker->renewal_ns = model.now_ns;
    if (worker->is_renewing)
        at_other(&worker->renewing, extend, hop());
    else
        at_worker(&worker->renewing, renew, TTL / 3);
}

/* ---- releases */

static void judge_acquires(struct worker *worker);

static void judge_left(struct worker *worker) {
    read_answer(worker);
    at_other(&worker->asked, judge_acquires, below(THINK));
}

static void on_freed(struct worker *worker) {
    at_other(&worker->asked, judge_left, hop());
}

static void free_it(struct worker *worker) {
    worker->answer = server_free(worker) ? HISTORY_RESULT_RELEASED : HISTORY_RESULT_LOST;
    at_worker(&worker->asked, on_freed, hop());
}

static void release(struct worker *worker) {
    worker->is_renewing = false;
    at_other(&worker->asked, free_it, hop());
}

static void judge_releases(struct worker *worker) {
    ask(worker, HISTORY_RELEASE);
    at_worker(&worker->asked, release, hop());
}

/* ---- checks and writes */

static bool strikes(const struct worker *worker, enum row row) {
    const bool is_victim =
        worker == model.workers || (row == STOP_TWO && worker == model.workers + 1);

    return model.row == row && !worker->has_struck && is_victim && worker->grants == 2;
}

static void judge_checks(struct worker *worker);

static void judge_goes_on(struct worker *worker) {
    if (worker->beats-- > 0)
        at_other(&worker->asked, judge_checks, below(BEAT));
    else
        at_other(&worker->asked, judge_releases, hop());
}

static void strike_stop(struct worker *worker) {
    worker->has_struck = true;
    worker->awake_ns = model.now_ns + LONG;
    note(worker, HISTORY_FAULT, HISTORY_RESULT_NONE, HISTORY_STOPS, worker->awake_ns);
}

static void strike_kill(struct worker *worker) {
    worker->has_struck = true;
    note(worker, HISTORY_FAULT, HISTORY_RESULT_NONE, HISTORY_KILLS, model.now_ns);
    note(worker, HISTORY_DEATH, HISTORY_RESULT_NONE, 0, model.now_ns);
    worker->asked.at_ns = worker->renewing.at_ns = NEVER;
}

static void judge_writes(struct worker *worker) {
    const bool is_refused = model.has_fences && worker->fence < model.seen_fence;

    note(worker, HISTORY_WRITE, is_refused ? HISTORY_RESULT_REFUSED : HISTORY_RESULT_LANDED, 0,
         model.now_ns);
    if (!is_refused)
        model.seen_fence = worker->fence;
    if (strikes(worker, WORK_HELD)) {
        worker->has_struck = true;
        note(worker, HISTORY_FAULT, HISTORY_RESULT_NONE, HISTORY_WORKS, model.now_ns + LONG);
        worker->beats = LONG / BEAT * 2;
    }
    judge_goes_on(worker);
    if (strikes(worker, STOP_HELD) || strikes(worker, STOP_TWO)) {
        strike_stop(worker);
        at_other(&worker->asked, judge_checks, LONG - MS); /* it waits when the worker wakes */
    } else if (strikes(worker, KILL_HELD)) {
        strike_kill(worker);
    }
}

static void judge_told(struct worker *worker) {
    const bool is_held = worker->answer == HISTORY_RESULT_HELD;

    read_answer(worker);
    if (is_held && strikes(worker, STOP_WRITE)) {
        strike_stop(worker);
        at_other(&worker->asked, judge_writes, LONG);
    } else {
        at_other(&worker->asked, is_held ? judge_writes : judge_releases, hop());
    }
}

static void check(struct worker *worker) {
    const bool is_held =
        worker->until_ns > model.now_ns || model.defect == NO_CLOCK || model.defect == CREATES;

    worker->answer = is_held ? HISTORY_RESULT_HELD : HISTORY_RESULT_LOST;
    at_other(&worker->asked, judge_told, hop());
}

static void judge_checks(struct worker *worker) {
    ask(worker, HISTORY_CHECK);
    at_worker(&worker->asked, check, hop());
}

/* ---- acquires */

/* The reply to the first grant of this worker comes after half of the TTL; and it works for long. */
static bool has_late_reply(const struct worker *worker) {
    return model.row == LATE_REPLY && worker == model.workers;
}

static void judge_answered(struct worker *worker) {
    const bool is_held = worker->answer == HISTORY_RESULT_HELD;

    read_answer(worker);
    worker->grants += is_held;
    worker->beats = has_late_reply(worker) ? LONG / BEAT * 2 : (int)below(4);
    at_other(&worker->asked, is_held ? judge_checks : judge_acquires, below(THINK));
}

static void hold(struct worker *worker) {
    worker->until_ns = TTL + (model.defect == LATE_CLOCK ? model.now_ns : worker->begun_ns);
    worker->is_renewing = model.defect != NO_RENEWAL && model.defect != LATE_CLOCK;
    if (worker->renewing.at_ns == NEVER)
        at_worker(&worker->renewing, renew, TTL / 3);
}

static void try_it(struct worker *worker);

/* A grant that comes after its wait, or is over by the worker's clock, is given back. */
static void on_reply(struct worker *worker) {
    const bool is_over = model.now_ns > worker->item.at_ns + WAIT;
    const bool is_late = is_over || worker->begun_ns + TTL <= model.now_ns;
    const bool is_held = worker->is_granted && (!is_late || model.defect == LATE_CLOCK);

    worker->answer = is_held ? HISTORY_RESULT_HELD : HISTORY_RESULT_BUSY;
    if (is_held || (worker->is_granted && model.defect == KEEPS_LATE))
        hold(worker);
    else if (worker->is_granted)
        (void)server_free(worker);
    if (is_held || is_over)
        at_other(&worker->asked, judge_answered, hop());
    else
        at_worker(&worker->asked, try_it, 2 * MS + below(3 * MS));
}

static void grant(struct worker *worker) {
    worker->is_granted = model.holder == 0 || model.expires_ns <= model.now_ns;
    if (worker->is_granted) {
        worker->token = ++model.tokens;
        worker->fence = ++model.last_fence;
        server_hold(worker);
    }
    if (worker->is_granted && has_late_reply(worker) && !worker->has_struck) {
        worker->has_struck = true;
        at_worker(&worker->asked, on_reply, TTL * 6 / 10);
    } else {
        at_worker(&worker->asked, on_reply, hop());
    }
}

static void try_it(struct worker *worker) {
    worker->begun_ns = model.now_ns;
    at_other(&worker->asked, grant, hop());
}

static void judge_acquires(struct worker *worker) {
    ask(worker, HISTORY_ACQUIRE);
    at_worker(&worker->asked, try_it, hop());
}

/* ---- a history */

static struct actor *next_actor(struct worker **its) {
    struct actor *next = NULL;

    for (struct worker *worker = model.workers; worker < model.workers + WORKERS; worker++)
        for (int i = 0; i < 2; i++) {
            struct actor *actor = i == 0 ? &worker->asked : &worker->renewing;

            if (actor->is_worker && actor->at_ns < worker->awake_ns)
                actor->at_ns = worker->awake_ns;
            if (next == NULL || actor->at_ns < next->at_ns) {
                next = actor;
                *its = worker;
            }
        }
    return next;
}

/* The history of this seed, judged. */
static void play(unsigned seed, enum defect defect, enum row row, int64_t stall_most_ns,
                 struct oracle *oracle) {
    struct worker *worker = NULL;
    struct actor *actor;

    memset(&model, 0, sizeof model);
    model.random[0] = (unsigned short)seed;
    model.random[1] = (unsigned short)(seed >> 16);
    model.random[2] = 7;
    model.defect = defect;
    model.row = row;
    model.has_fences = seed % 2 == 0;
    model.stalls_pct = stall_most_ns > 0 ? 5 + (int)below(20) : 0;
    model.stall_most_ns = stall_most_ns;
    for (int i = 0; i < WORKERS; i++) {
        model.workers[i].renewing.at_ns = NEVER;
        at_other(&model.workers[i].asked, judge_acquires, below(5 * MS));
    }
    while ((actor = next_actor(&worker))->at_ns < ENDS) {
        model.now_ns = actor->at_ns;
        actor->step(worker);
    }
    assert_int_equal(oracle_judge(&model.history, SLACK_MS, oracle), 0);
    history_free(&model.history);
}

static unsigned words_of(const struct oracle *oracle) {
    unsigned words = 0;

    for (unsigned word = 0; word < ORACLE_WORD_COUNT; word++)
        words |= oracle->findings[word].count > 0 ? 1U << word : 0;
    return words;
}

#define BIT(word) (1U << ORACLE_##word)

/* A write that is on its way when its holder is stopped: only a fence can stop it. */
static unsigned model_words(enum row row, bool has_fences, enum oracle_verdict *verdict) {
    *verdict = row != STOP_WRITE ? ORACLE_SAFE : has_fences ? ORACLE_FENCED : ORACLE_TOLD;
    return row != STOP_WRITE ? 0 : BIT(STALE_WRITE) | (has_fences ? 0 : BIT(NO_FENCE));
}

static size_t judge_right(unsigned seed, int64_t stall_most_ns, unsigned excused) {
    struct oracle oracle;
    enum oracle_verdict verdict;
    const enum row row = (enum row)(seed / 2 % ROWS);
    const unsigned allowed = model_words(row, seed % 2 == 0, &verdict) | excused;

    play(seed, RIGHT, row, stall_most_ns, &oracle);
    if ((words_of(&oracle) & ~allowed) != 0 || oracle.verdict > verdict)
        fail_msg("seed %u, row %d, stalls of %lld ms: verdict %s, words %#x", seed, (int)row,
                 (long long)(stall_most_ns / MS), oracle_verdict_key(oracle.verdict),
                 words_of(&oracle));
    return oracle.grants;
}

/* A stall that is longer than the TTL takes the lock from a holder, even if the lock is right; late
 * grants can keep it from all others; and a stalled waiter is passed over. So three words stay. */
static void test_stalls_of_any_length_blame_no_lock_that_is_right(void **state) {
    size_t grants = 0;

    for (unsigned seed = 0; seed < 20000; seed++)
        grants += judge_right(seed, (1 + seed % 7) * TTL / 2,
                              BIT(STUCK) | BIT(NO_RENEWAL) | BIT(STARVED));
    assert_true(grants > 20000 * 3);
}

static void test_stalls_of_a_part_of_the_ttl_give_no_word_at_all(void **state) {
    for (unsigned seed = 0; seed < 5000; seed++)
        (void)judge_right(seed, seed % 3 * TTL / 20, BIT(STARVED));
}

static void test_each_defect_gives_its_word(void **state) {
    static const struct {
        enum defect defect;
        enum row row;
        unsigned word;
    } rows[] = {
        {NO_CLOCK, STOP_HELD, BIT(TWIN_UNAWARE)},
        {NO_CLOCK, STOP_HELD, BIT(STALE_WRITE)},
        {LATE_CLOCK, LATE_REPLY, BIT(TWIN_UNAWARE)},
        {BLIND_RELEASE, STOP_HELD, BIT(FREES_ANOTHERS)},
        {CREATES, STOP_HELD, BIT(TWIN_UNAWARE)},
        {RESETS, NONE, BIT(FENCE_FALLS)},
        {NO_TTL, KILL_HELD, BIT(STUCK)},
        {KEEPS_LATE, LATE_REPLY, BIT(STUCK)},
        {NO_RENEWAL, WORK_HELD, BIT(NO_RENEWAL)},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        unsigned found = 0;

        for (unsigned seed = 0; seed < 400; seed += 2) {
            struct oracle oracle;

            play(seed, rows[i].defect, rows[i].row, 0, &oracle);
            found += (words_of(&oracle) & rows[i].word) != 0;
        }
        if (found < 120)
            fail_msg("defect %d, word %#x: found in %u of 200 histories", (int)rows[i].defect,
                     rows[i].word, found);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stalls_of_any_length_blame_no_lock_that_is_right),
        cmocka_unit_test(test_stalls_of_a_part_of_the_ttl_give_no_word_at_all),
        cmocka_unit_test(test_each_defect_gives_its_word),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
