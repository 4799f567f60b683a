/* The rules, one function each. They see tenures, and the items of the history for the rest. */
#include "oracle.h"

#include "tenure.h"

#include <stdlib.h>

#define MS INT64_C(1000000)

/* Faults of a worker: its server goes on as before. */
#define NO_DISTURBANCE (HISTORY_STOPS | HISTORY_KILLS | HISTORY_WORKS | HISTORY_STAYS)

struct case_file {
    const struct history *history;
    struct tenures tenures;
    const struct history_item **faults;
    size_t fault_count;
    struct holding {
        int64_t unseen_ns, last_ns;
    } * until; /* by each item: until when one may have held unseen, and one of these or a dead one */
    int64_t *believed_ns; /* by each item: when its worker's last check, answered held, was sent */
    int64_t slack_ms;
    struct oracle *oracle;
};

static const char *const word_texts[] = {
#define X(name, text, meaning) text,
    ORACLE_WORDS(X)
#undef X
};
static const char *const word_meanings[] = {
#define X(name, text, meaning) meaning,
    ORACLE_WORDS(X)
#undef X
};
static const char *const verdict_keys[] = {
#define X(name, key, text) key,
    ORACLE_VERDICTS(X)
#undef X
};
static const char *const verdict_texts[] = {
#define X(name, key, text) text,
    ORACLE_VERDICTS(X)
#undef X
};

const char *oracle_word_text(enum oracle_word word) {
    return word_texts[word];
}

const char *oracle_word_meaning(enum oracle_word word) {
    return word_meanings[word];
}

const char *oracle_verdict_key(enum oracle_verdict verdict) {
    return verdict_keys[verdict];
}

const char *oracle_verdict_text(enum oracle_verdict verdict) {
    return verdict_texts[verdict];
}

static bool is_hit(const struct case_file *file, uint32_t worker) {
    for (size_t i = 0; i < file->fault_count; i++)
        if (file->faults[i]->worker == worker)
            return true;
    return false;
}

/* A case that nobody was told of is worse than another; one that the fault itself made tells more;
 * then the longer one counts. */
static bool is_worse(const struct oracle_finding *new, const struct oracle_finding *old) {
    if (new->is_told != old->is_told)
        return !new->is_told;
    return new->is_hit != old->is_hit ? new->is_hit : new->length_ns > old->length_ns;
}

/* Keeps the worst case of a word. */
static void found(struct case_file *file, enum oracle_word word, struct oracle_finding new) {
    struct oracle_finding *old = &file->oracle->findings[word];
    const size_t count = old->count + 1;

    new.is_hit = is_hit(file, new.worker);
    if (old->count == 0 || is_worse(&new, old))
        *old = new;
    old->count = count;
}

static struct oracle_finding pair_of(const struct tenure *older, const struct tenure *newer) {
    return (struct oracle_finding){.worker = older->worker,
                                   .other = newer->worker,
                                   .older_ns = older->got_ns,
                                   .newer_ns = newer->got_ns};
}

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* A fault with one of these flags, of this worker or (HISTORY_NOBODY) of any, at any moment between
 * the two. */
static bool has_fault_of(const struct case_file *file, uint32_t worker, unsigned flags,
                         int64_t from_ns, int64_t to_ns) {
    for (size_t i = 0; i < file->fault_count; i++) {
        const struct history_item *fault = file->faults[i];

        if ((fault->flags & flags) != 0 && fault->at_ns <= to_ns && fault->end_ns >= from_ns &&
            (worker == HISTORY_NOBODY || fault->worker == worker))
            return true;
    }
    return false;
}

static bool has_fault(const struct case_file *file, unsigned flags, int64_t from_ns,
                      int64_t to_ns) {
    return has_fault_of(file, HISTORY_NOBODY, flags, from_ns, to_ns);
}

/* ---- two holders */

static void judge_twins(struct case_file *file, const struct tenure *older,
                        const struct tenure *newer) {
    const int64_t from = most(older->got_ns, newer->got_ns);
    const int64_t to = least(older->believed_ns, newer->believed_ns);
    struct oracle_finding twin = pair_of(older, newer);

    if (older->worker == newer->worker || to <= from)
        return;
    twin.length_ns = to - from;
    twin.is_told = older->told_ns != HISTORY_OPEN;
    file->oracle->untold += !twin.is_told;
    found(file, ORACLE_TWIN_UNAWARE, twin);
    if (!twin.is_told)
        return;
    twin.length_ns = older->told_ns - newer->got_ns;
    found(file, ORACLE_LATE_TOLD, twin);
}

/* Two kinds: an older holder that believed it held the lock although the newer one had written; and
 * a write that was on its way when its holder was stopped, which only a fence can stop. A write that
 * was on its way for another reason shows that the machine stalled. */
static void judge_write(struct case_file *file, size_t index) {
    const struct history_item *write = &file->history->items[index];
    const struct tenure *older = tenures_of(&file->tenures, write->worker, write->at_ns);
    int64_t belief_ns;
    bool was_stopped;

    file->oracle->writes++;
    file->oracle->refused += write->result == HISTORY_RESULT_REFUSED;
    if (older == NULL)
        return;
    belief_ns = most(file->believed_ns[index], older->got_ns);
    was_stopped = has_fault_of(file, older->worker, HISTORY_STOPS, belief_ns, write->at_ns - 1);
    for (size_t i = 0; i < file->tenures.count; i++) {
        const struct tenure *newer = &file->tenures.rows[i];
        struct oracle_finding stale = pair_of(older, newer);

        if (newer->worker == older->worker || !tenure_is_older(older, newer) ||
            newer->wrote_ns >= write->at_ns)
            continue;
        stale.length_ns = write->at_ns - newer->wrote_ns;
        stale.is_told = belief_ns <= newer->wrote_ns;
        if (stale.is_told && !was_stopped)
            continue;
        if (!stale.is_told && older->told_ns == HISTORY_OPEN)
            file->oracle->untold++;
        if (write->result != HISTORY_RESULT_REFUSED) {
            file->oracle->unguarded++;
            if (older->fence == HISTORY_NO_FENCE || newer->fence == HISTORY_NO_FENCE)
                found(file, ORACLE_NO_FENCE, stale);
        }
        found(file, ORACLE_STALE_WRITE, stale);
        return;
    }
}

static void judge_fences(struct case_file *file, const struct tenure *earlier,
                         const struct tenure *later) {
    struct oracle_finding falls = pair_of(earlier, later);

    if (earlier->got_ns >= later->asked_ns || earlier->fence == HISTORY_NO_FENCE ||
        later->fence == HISTORY_NO_FENCE || later->fence > earlier->fence)
        return;
    falls.number = later->fence;
    found(file, ORACLE_FENCE_FALLS, falls);
}

/* ---- releases */

/* The TTL of `other` could end, `owner` got the lock, and `other` released. Then a third got the lock,
 * and both it and `owner` believed that they held it, although the TTL of `owner` had not ended, and
 * no server was disturbed. */
static void judge_frees(struct case_file *file, const struct tenure *other,
                        const struct tenure *owner) {
    struct oracle_finding frees = pair_of(other, owner);

    if (other->worker == owner->worker || other->released_ns == HISTORY_OPEN ||
        owner->got_ns >= other->answered_ns || owner->ended_ns <= other->released_ns ||
        owner->got_ns <= other->asked_ns + other->ttl_ms * MS)
        return;
    for (size_t i = 0; i < file->tenures.count; i++) {
        const struct tenure *third = &file->tenures.rows[i];

        if (third->got_ns <= most(other->released_ns, owner->got_ns) ||
            third->worker == owner->worker || third->got_ns >= owner->believed_ns ||
            third->believed_ns <= third->got_ns ||
            third->got_ns >= owner->asked_ns + owner->ttl_ms * MS ||
            has_fault(file, ~NO_DISTURBANCE, owner->asked_ns, third->got_ns))
            continue;
        frees.length_ns = third->got_ns - other->released_ns;
        found(file, ORACLE_FREES_ANOTHERS, frees);
        return;
    }
}

/* ---- waiting */

/* Until when this request may have got the lock unseen: it was answered with an error, or a fault hit
 * its worker, which may keep the request or the answer back. INT64_MIN: it got nothing unseen. */
static int64_t unseen_until_ns(const struct case_file *file, const struct history_item *request) {
    int64_t until = INT64_MIN;

    if (request->kind != HISTORY_ACQUIRE || request->result == HISTORY_RESULT_HELD ||
        request->end_ns == HISTORY_OPEN)
        return INT64_MIN;
    if (request->result == HISTORY_RESULT_ERROR)
        until = request->end_ns;
    for (size_t i = 0; i < file->fault_count; i++) {
        const struct history_item *fault = file->faults[i];

        if (fault->worker == request->worker && !(fault->flags & HISTORY_AWAY) &&
            fault->at_ns <= request->end_ns && fault->end_ns >= request->at_ns)
            until = most(until, most(request->end_ns, fault->end_ns));
    }
    return until;
}

/* When the lock can last have been held before `at_ns`; HISTORY_OPEN: it may be held now. */
static int64_t last_held_ns(const struct case_file *file, size_t request) {
    const struct history *history = file->history;
    const int64_t at_ns = history->items[request].at_ns;
    const int64_t until_ns = history->items[request].end_ns;
    int64_t last = INT64_MIN;

    for (size_t i = 0; i < file->tenures.count; i++) {
        const struct tenure *tenure = &file->tenures.rows[i];
        int64_t end = tenure->ended_ns;

        if (tenure->asked_ns > until_ns)
            continue;
        if (tenure->freed_ns != HISTORY_OPEN)
            end = tenure->freed_ns;
        if (end >= at_ns || tenure->got_ns > at_ns)
            return HISTORY_OPEN;
        last = most(last, end);
    }
    while (request + 1 < history->count && history->items[request + 1].at_ns == at_ns)
        request++;
    return file->until[request].unseen_ns >= at_ns ? HISTORY_OPEN
                                                   : most(last, file->until[request].last_ns);
}

/* A lock is not STUCK while a server is away, or for as long as it restarts: on a busy machine that is
 * long. */
static void judge_busy(struct case_file *file, size_t index) {
    const struct history_item *busy = &file->history->items[index];
    struct oracle_finding stuck = {.worker = busy->worker, .other = HISTORY_NOBODY};
    const int64_t last = last_held_ns(file, index);
    const bool is_away = has_fault(file, HISTORY_AWAY, last, busy->end_ns);

    stuck.older_ns = stuck.newer_ns = busy->at_ns;
    if (last == HISTORY_OPEN || last == INT64_MIN)
        return;
    stuck.length_ns = busy->end_ns - last;
    if (!has_fault(file, HISTORY_AWAY | HISTORY_RESTARTS, last, busy->end_ns) &&
        busy->at_ns > last + (busy->ttl_ms + file->slack_ms) * MS)
        found(file, ORACLE_STUCK, stuck);
    for (size_t i = 0; is_away && i < file->fault_count; i++) {
        const struct history_item *fault = file->faults[i];

        if (fault->flags & HISTORY_AWAY && fault->at_ns + fault->starting_ns < busy->at_ns &&
            fault->end_ns - fault->ending_ns > busy->end_ns) {
            found(file, ORACLE_ERROR_AS_BUSY, stuck);
            return;
        }
    }
}

/* A stopped waiter is not passed over: it does not ask. */
static void judge_wait(struct case_file *file, const struct history_item *wait) {
    struct oracle_finding starved = {.worker = wait->worker,
                                     .other = HISTORY_NOBODY,
                                     .older_ns = wait->at_ns,
                                     .newer_ns = wait->at_ns,
                                     .length_ns = wait->end_ns - wait->at_ns};

    for (size_t i = 0; i < file->tenures.count; i++)
        starved.number += file->tenures.rows[i].asked_ns > wait->at_ns &&
                          file->tenures.rows[i].got_ns < wait->end_ns;
    if (starved.number >= ORACLE_PASSED_OVER && wait->end_ns != HISTORY_OPEN &&
        !has_fault(file, HISTORY_STOPS, wait->at_ns, wait->end_ns))
        found(file, ORACLE_STARVED, starved);
}

/* ---- leases that end under a holder that lives */

/* Its worker took longer for an answer than a third of the TTL, so the machine may have kept it from
 * renewing. */
static bool has_stalled(const struct case_file *file, const struct tenure *holder) {
    for (size_t i = 0; i < file->history->count; i++) {
        const struct history_item *item = &file->history->items[i];

        if (item->worker == holder->worker && item->kind == HISTORY_CHECK &&
            item->at_ns >= holder->got_ns && item->at_ns < holder->ended_ns &&
            item->end_ns - item->at_ns > holder->ttl_ms * MS / 3)
            return true;
    }
    return false;
}

/* The longest time for which the threads of the loaded worker waited for a processor. */
static int64_t waited_ns(const struct case_file *file, const struct history_item *load) {
    int64_t longest = 0;

    for (size_t i = 0; i < file->history->count; i++) {
        const struct history_item *item = &file->history->items[i];

        if (item->kind == HISTORY_STALL && item->worker == load->worker &&
            item->at_ns < load->end_ns && item->end_ns > load->at_ns)
            longest = most(longest, item->end_ns - item->at_ns);
    }
    return longest;
}

/* Another fault of this worker or of the server came before `lost_ns`, so it may be the reason. */
static bool has_another_reason(const struct case_file *file, const struct history_item *fault,
                               const struct tenure *holder, int64_t lost_ns) {
    for (size_t i = 0; i < file->fault_count; i++) {
        const struct history_item *other = file->faults[i];

        if (other != fault && other->at_ns < lost_ns && other->end_ns > holder->got_ns &&
            (other->worker == holder->worker || other->worker == HISTORY_NOBODY))
            return true;
    }
    return false;
}

static void judge_kept(struct case_file *file, const struct history_item *fault) {
    const enum oracle_word word =
        fault->flags & HISTORY_LOADS ? ORACLE_LOST_UNDER_LOAD : ORACLE_NO_RENEWAL;
    const struct tenure *holder = tenures_of(&file->tenures, fault->worker, fault->at_ns);
    struct oracle_finding lost = {.worker = fault->worker, .other = HISTORY_NOBODY};
    int64_t lost_ns;

    if (holder == NULL || (fault->flags & HISTORY_WORKS && has_stalled(file, holder)))
        return;
    lost.older_ns = lost.newer_ns = holder->got_ns;
    lost_ns = least(fault->end_ns, holder->told_ns);
    for (size_t i = 0; i < file->tenures.count; i++) {
        const struct tenure *other = &file->tenures.rows[i];

        if (other->worker == holder->worker || other->got_ns <= holder->got_ns ||
            other->got_ns >= least(fault->end_ns, holder->released_ns))
            continue;
        lost.other = other->worker;
        lost.newer_ns = other->got_ns;
        lost_ns = least(lost_ns, other->got_ns);
        break;
    }
    if ((holder->told_ns > fault->end_ns && lost.other == HISTORY_NOBODY &&
         holder->release != HISTORY_RESULT_LOST) ||
        has_another_reason(file, fault, holder, lost_ns))
        return;
    if (fault->flags & HISTORY_LOADS && waited_ns(file, fault) > holder->ttl_ms * MS / 3)
        file->oracle->stalled_ns = most(file->oracle->stalled_ns, waited_ns(file, fault));
    else
        found(file, word, lost);
}

/* ---- all of it */

static void judge_item(struct case_file *file, size_t index) {
    const struct history_item *item = &file->history->items[index];

    switch (item->kind) {
    case HISTORY_WRITE:
        judge_write(file, index);
        break;
    case HISTORY_ACQUIRE:
        judge_wait(file, item);
        if (item->result == HISTORY_RESULT_BUSY)
            judge_busy(file, index);
        break;
    case HISTORY_FAULT:
        if (item->flags & (HISTORY_WORKS | HISTORY_LOADS))
            judge_kept(file, item);
        break;
    case HISTORY_STALL:
        if (item->worker == HISTORY_NOBODY)
            file->oracle->stalled_ns = most(file->oracle->stalled_ns, item->end_ns - item->at_ns);
        break;
    case HISTORY_CHECK:
    case HISTORY_RELEASE:
    case HISTORY_TOLD:
    case HISTORY_DEATH:
    case HISTORY_FORK:
        break;
    }
}

static enum oracle_verdict verdict_of(const struct oracle *oracle) {
    const bool are_two = oracle->findings[ORACLE_TWIN_UNAWARE].count > 0;

    if (oracle->untold > 0)
        return ORACLE_UNTOLD;
    if (are_two || oracle->unguarded > 0)
        return ORACLE_TOLD;
    return oracle->findings[ORACLE_STALE_WRITE].count > 0 ? ORACLE_FENCED : ORACLE_SAFE;
}

static void case_close(struct case_file *file) {
    tenures_free(&file->tenures);
    free(file->faults);
    free(file->until);
    free(file->believed_ns);
}

static int find_beliefs(struct case_file *file) {
    const struct history *history = file->history;
    uint32_t workers = 0;
    int64_t *last;

    for (size_t i = 0; i < history->count; i++)
        if (history->items[i].worker != HISTORY_NOBODY && history->items[i].worker >= workers)
            workers = history->items[i].worker + 1;
    file->believed_ns = calloc(history->count + 1, sizeof *file->believed_ns);
    last = calloc((size_t)workers + 1, sizeof *last);
    for (size_t i = 0; last != NULL && file->believed_ns != NULL && i < history->count; i++) {
        const struct history_item *item = &history->items[i];
        int64_t *own = &last[least(item->worker, workers)];

        file->believed_ns[i] = *own;
        if (item->kind == HISTORY_CHECK && item->result == HISTORY_RESULT_HELD)
            *own = item->at_ns;
    }
    free(last);
    return last == NULL || file->believed_ns == NULL ? -1 : 0;
}

/* The rules ask these again and again, and a history may have thousands of requests. */
static int case_open(struct case_file *file) {
    const struct history *history = file->history;

    file->faults = calloc(history->count + 1, sizeof *file->faults);
    file->until = calloc(history->count + 1, sizeof *file->until);
    if (tenures_find(&file->tenures, history) != 0 || find_beliefs(file) != 0 ||
        file->faults == NULL || file->until == NULL) {
        case_close(file);
        return -1;
    }
    for (size_t i = 0; i < history->count; i++)
        if (history->items[i].kind == HISTORY_FAULT)
            file->faults[file->fault_count++] = &history->items[i];
    for (size_t i = 0; i < history->count; i++) {
        const struct history_item *item = &history->items[i];
        const int64_t unseen_ns = unseen_until_ns(file, item);
        const struct holding before =
            i > 0 ? file->until[i - 1] : (struct holding){INT64_MIN, INT64_MIN};

        file->until[i].unseen_ns = most(before.unseen_ns, unseen_ns);
        file->until[i].last_ns =
            most(before.last_ns, item->kind == HISTORY_DEATH ? item->at_ns : unseen_ns);
    }
    return 0;
}

int oracle_judge(const struct history *history, int64_t slack_ms, struct oracle *oracle) {
    struct case_file file = {.history = history, .slack_ms = slack_ms, .oracle = oracle};

    *oracle = (struct oracle){.verdict = ORACLE_SAFE};
    if (case_open(&file) != 0)
        return -1;
    oracle->grants = file.tenures.count;
    for (size_t i = 0; i < file.tenures.count; i++)
        for (size_t j = 0; j < file.tenures.count; j++) {
            const struct tenure *one = &file.tenures.rows[i], *other = &file.tenures.rows[j];

            if (i == j)
                continue;
            if (tenure_is_older(one, other))
                judge_twins(&file, one, other);
            if (i < j)
                judge_fences(&file, one, other);
            judge_frees(&file, one, other);
        }
    for (size_t i = 0; i < history->count; i++)
        judge_item(&file, i);
    oracle->verdict = verdict_of(oracle);
    case_close(&file);
    return 0;
}
