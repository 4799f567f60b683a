/* Two that held one raw lock at a time, from the results of their commands.
 *
 * A grant is in force until its own order tries to free the key. The order of results is not quite
 * that of the commands, as a reply may lie unread for a moment; so a command counts as before a
 * result when it was sent before that arrived, and results that arrived a little later are looked
 * at, too. */
#include "judge.h"

#include <stdlib.h>
#include <string.h>

#define UNREAD_NS 100000000 /* for how long a reply may lie unread */
#define EARLY_NS  50000000

/* What is known of a key at some moment. */
struct hold {
    const struct event *grant; /* not given back so far, or NULL */
    const struct event *freed; /* since then, by another order; or NULL */
};

static bool is_grant(const struct event *event) {
    return event_takes_lock(event) && event->result == EVENT_YES;
}

static bool is_by(const struct event *event, const struct event *other) {
    return strcmp(event->order_id, other->order_id) == 0;
}

static int locks_by_key(const void *a, const void *b) {
    const struct event *x = *(const struct event *const *)a, *y = *(const struct event *const *)b;
    int order = strcmp(x->key, y->key);

    return order != 0 ? order : (x->at_ns > y->at_ns) - (x->at_ns < y->at_ns);
}

/* The results of one key, by time. */
struct results {
    const struct event *const *events;
    size_t count;
};

/* When a grant's TTL ran out, or EVENT_OPEN: as it says itself, or a later command of its order. */
static int64_t expiry_of(const struct results *results, const struct event *grant) {
    int64_t until_ns = grant->until_ns > grant->at_ns ? grant->until_ns : EVENT_OPEN;

    for (size_t i = 0; i < results->count; i++) {
        const struct event *event = results->events[i];

        if (is_by(event, grant) && event_extends_lock(event) && event->result == EVENT_YES)
            until_ns = event->until_ns;
    }
    return until_ns;
}

/* The last grant to the order of `freed` before it; NULL: none is known. */
static const struct event *grant_to(const struct results *results, const struct event *freed) {
    const struct event *grant = NULL;

    for (size_t i = 0; i < results->count && results->events[i]->at_ns <= freed->at_ns; i++)
        if (is_grant(results->events[i]) && is_by(results->events[i], freed))
            grant = results->events[i];
    return grant;
}

static void note_free(struct hold *hold, const struct event *event) {
    if (hold->grant == NULL || !event_frees_lock(event))
        return;
    if (is_by(event, hold->grant))
        hold->grant = NULL;
    else if (event->result == EVENT_YES && event->at_ns >= hold->grant->began_ns)
        hold->freed = event;
}

/* A grant is told at `i`: note what was sent before that, and told after it. */
static void look_ahead(const struct results *results, size_t i, struct hold *hold) {
    const int64_t at_ns = results->events[i]->at_ns;

    for (size_t j = i + 1; j < results->count; j++) {
        if (results->events[j]->at_ns > at_ns + UNREAD_NS)
            return;
        if (results->events[j]->began_ns <= at_ns)
            note_free(hold, results->events[j]);
    }
}

static bool locks_is_told(const struct judge *judge, const char *order_id) {
    return ledger_find_sale(judge->ledger, order_id) != NULL || judge_find(judge, order_id) != NULL;
}

/* When the second of the two, or of the three, took the lock that had been the first one's. */
static int64_t handed_over_ns(const struct overlap *overlap) {
    return overlap->freed != NULL ? overlap->held->at_ns : overlap->taken->at_ns;
}

/* The server ended the TTL a little before the moment that follows from the result. */
bool judge_has_expired(const struct overlap *overlap) {
    return overlap->expired_ns <= handed_over_ns(overlap) + EARLY_NS;
}

/* How much of the article's story it is. */
static int rank(const struct overlap *overlap) {
    return 2 * (overlap->freed != NULL) + judge_has_expired(overlap);
}

/* Keep an overlap that sold one unit twice: the best stories stand first, else the earlier ones. */
static void locks_keep(struct judge *judge, const struct overlap *overlap) {
    const struct ledger_sale *one = ledger_find_sale(judge->ledger, overlap->held->order_id);
    const struct ledger_sale *other = ledger_find_sale(judge->ledger, overlap->taken->order_id);
    size_t place = judge->overlap_count;

    if (one == NULL || other == NULL || one->unit != other->unit ||
        (overlap->freed != NULL && !locks_is_told(judge, overlap->freed->order_id)))
        return;
    while (place > 0 && rank(overlap) > rank(&judge->overlaps[place - 1]))
        place--;
    if (place == VERDICT_COUNTEREXAMPLES)
        return;
    if (judge->overlap_count < VERDICT_COUNTEREXAMPLES)
        judge->overlap_count++;
    memmove(&judge->overlaps[place + 1], &judge->overlaps[place],
            (judge->overlap_count - place - 1) * sizeof *overlap);
    judge->overlaps[place] = *overlap;
    judge->overlaps[place].sales[0] = strcmp(one->at, other->at) <= 0 ? one : other;
    judge->overlaps[place].sales[1] = strcmp(one->at, other->at) <= 0 ? other : one;
}

static void locks_take_grant(struct judge *judge, const struct results *results, size_t i,
                             struct hold *hold) {
    const struct event *taken = results->events[i];
    struct overlap overlap = {.taken = taken};

    look_ahead(results, i, hold);
    if (hold->grant != NULL && !is_by(hold->grant, taken)) {
        overlap.held = hold->grant;
        overlap.freed = hold->freed;
        overlap.lost = hold->freed != NULL ? grant_to(results, hold->freed) : hold->grant;
        overlap.expired_ns = overlap.lost != NULL ? expiry_of(results, overlap.lost) : EVENT_OPEN;
        locks_keep(judge, &overlap);
    }
    *hold = (struct hold){.grant = taken};
}

static void look_at_key(struct judge *judge, const struct results *results) {
    struct hold hold = {.grant = NULL};

    for (size_t i = 0; i < results->count; i++)
        if (is_grant(results->events[i]))
            locks_take_grant(judge, results, i, &hold);
        else
            note_free(&hold, results->events[i]);
}

/* The twins of the best overlap are the most telling of all. */
static void put_first(struct judge *judge) {
    const struct overlap *best = &judge->overlaps[0];
    size_t place = 0;

    while (place < judge->twin_count && (judge->twins[place].sales[0] != best->sales[0] ||
                                         judge->twins[place].sales[1] != best->sales[1]))
        place++;
    if (place == judge->twin_count && place == VERDICT_COUNTEREXAMPLES)
        place--;
    else if (place == judge->twin_count)
        judge->twin_count++;
    memmove(&judge->twins[1], &judge->twins[0], place * sizeof judge->twins[0]);
    judge->twins[0] = (struct pair){.sales = {best->sales[0], best->sales[1]}};
}

int judge_locks(struct judge *judge) {
    const size_t room = judge->events != NULL ? judge->events->count : 0;
    const struct event **events = calloc(room + 1, sizeof *events);
    size_t count = 0, end;

    if (events == NULL)
        return -1;
    for (size_t i = 0; i < room; i++)
        if (judge->events->items[i].kind == EVENT_LOCK &&
            judge->events->items[i].item == judge->item)
            events[count++] = &judge->events->items[i];
    qsort(events, count, sizeof *events, locks_by_key);
    for (size_t first = 0; first < count; first = end) {
        end = first + 1;
        while (end < count && strcmp(events[end]->key, events[first]->key) == 0)
            end++;
        look_at_key(judge, &(struct results){&events[first], end - first});
    }
    free(events);
    if (judge->overlap_count > 0)
        put_first(judge);
    return 0;
}

const struct overlap *judge_find_overlap(const struct judge *judge, const struct pair *pair) {
    for (size_t i = 0; i < judge->overlap_count; i++)
        if (judge->overlaps[i].sales[0] == pair->sales[0] &&
            judge->overlaps[i].sales[1] == pair->sales[1])
            return &judge->overlaps[i];
    return NULL;
}
