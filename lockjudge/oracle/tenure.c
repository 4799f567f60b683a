#include "tenure.h"

#include <stdlib.h>

static int tenure_compare(const void *left, const void *right) {
    const struct tenure *a = left, *b = right;

    return (a->got_ns > b->got_ns) - (a->got_ns < b->got_ns);
}

const struct tenure *tenures_of(const struct tenures *tenures, uint32_t worker, int64_t at_ns) {
    const struct tenure *found = NULL;

    for (size_t i = 0; i < tenures->count && tenures->rows[i].got_ns <= at_ns; i++)
        if (tenures->rows[i].worker == worker)
            found = &tenures->rows[i];
    return found;
}

bool tenure_is_older(const struct tenure *older, const struct tenure *newer) {
    const bool have_fences = older->fence != HISTORY_NO_FENCE && newer->fence != HISTORY_NO_FENCE &&
                             older->era == newer->era;

    if (older->got_ns < newer->asked_ns || newer->got_ns < older->asked_ns || !have_fences ||
        older->fence == newer->fence)
        return older->got_ns < newer->got_ns;
    return older->fence < newer->fence;
}

static void tenure_end(struct tenure *tenure, int64_t at_ns) {
    if (at_ns < tenure->ended_ns)
        tenure->ended_ns = at_ns;
}

static void tenure_lose(struct tenure *tenure, int64_t at_ns) {
    if (at_ns < tenure->told_ns)
        tenure->told_ns = at_ns;
    tenure_end(tenure, at_ns);
}

/* An item of the worker during its tenure. */
static void tenure_take(struct tenure *tenure, const struct history_item *item) {
    switch (item->kind) {
    case HISTORY_CHECK:
        if (item->result == HISTORY_RESULT_HELD && item->at_ns < tenure->ended_ns)
            tenure->believed_ns = item->at_ns;
        else if (item->result == HISTORY_RESULT_LOST)
            tenure_lose(tenure, item->end_ns);
        break;
    case HISTORY_TOLD:
        if (item->result == HISTORY_RESULT_LOST)
            tenure_lose(tenure, item->at_ns);
        break;
    case HISTORY_RELEASE:
        if (tenure->released_ns != HISTORY_OPEN)
            break;
        tenure_end(tenure, item->at_ns);
        tenure->released_ns = item->at_ns;
        tenure->answered_ns = item->end_ns;
        tenure->release = item->result;
        if (item->result == HISTORY_RESULT_RELEASED)
            tenure->freed_ns = item->end_ns;
        break;
    case HISTORY_WRITE:
        if (item->at_ns < tenure->wrote_ns)
            tenure->wrote_ns = item->at_ns;
        break;
    case HISTORY_DEATH:
    case HISTORY_ACQUIRE:
        tenure_end(tenure, item->at_ns);
        break;
    case HISTORY_FAULT:
    case HISTORY_FORK:
    case HISTORY_STALL:
        break;
    }
}

static void tenure_follow(struct tenure *tenure, const struct history *history) {
    for (size_t i = 0; i < history->count; i++) {
        const struct history_item *item = &history->items[i];

        if (item->worker != tenure->worker || item->at_ns < tenure->got_ns)
            continue;
        tenure_take(tenure, item);
        if (item->kind == HISTORY_ACQUIRE || item->kind == HISTORY_DEATH)
            break;
    }
}

/* When the child that begins at `index` first said that it held the lock; HISTORY_OPEN: never. */
static int64_t child_got_ns(const struct history *history, size_t index) {
    const struct history_item *fork = &history->items[index];

    for (size_t i = index; i < history->count; i++) {
        const struct history_item *item = &history->items[i];

        if (item->worker == fork->worker && item->kind == HISTORY_CHECK)
            return item->result == HISTORY_RESULT_HELD ? item->end_ns : HISTORY_OPEN;
    }
    return HISTORY_OPEN;
}

/* When a tenure begins with this item; HISTORY_OPEN: none does. */
static int64_t got_ns_of(const struct history *history, size_t index) {
    const struct history_item *item = &history->items[index];

    if (item->kind == HISTORY_FORK)
        return child_got_ns(history, index);
    return item->kind == HISTORY_ACQUIRE && item->result == HISTORY_RESULT_HELD ? item->end_ns
                                                                                : HISTORY_OPEN;
}

static unsigned era_of(const struct history *history, int64_t at_ns) {
    unsigned era = 0;

    for (size_t i = 0; i < history->count && history->items[i].at_ns < at_ns; i++)
        era += history->items[i].kind == HISTORY_FAULT &&
               (history->items[i].flags & HISTORY_FORGETS) != 0;
    return era;
}

int tenures_find(struct tenures *tenures, const struct history *history) {
    size_t count = 0;

    for (size_t i = 0; i < history->count; i++)
        count += got_ns_of(history, i) != HISTORY_OPEN;
    tenures->count = 0;
    tenures->rows = calloc(count + 1, sizeof *tenures->rows);
    if (tenures->rows == NULL)
        return -1;
    for (size_t i = 0; i < history->count; i++) {
        const struct history_item *item = &history->items[i];
        const int64_t got_ns = got_ns_of(history, i);

        if (got_ns != HISTORY_OPEN)
            tenures->rows[tenures->count++] = (struct tenure){
                .worker = item->worker,
                .fence = item->fence,
                .era = era_of(history, got_ns),
                .ttl_ms = item->ttl_ms,
                .asked_ns = item->at_ns,
                .got_ns = got_ns,
                .believed_ns = got_ns,
                .ended_ns = HISTORY_OPEN,
                .told_ns = HISTORY_OPEN,
                .freed_ns = HISTORY_OPEN,
                .released_ns = HISTORY_OPEN,
                .answered_ns = HISTORY_OPEN,
                .wrote_ns = HISTORY_OPEN,
            };
    }
    qsort(tenures->rows, tenures->count, sizeof *tenures->rows, tenure_compare);
    for (size_t i = 0; i < tenures->count; i++)
        tenure_follow(&tenures->rows[i], history);
    return 0;
}

void tenures_free(struct tenures *tenures) {
    free(tenures->rows);
    tenures->rows = NULL;
    tenures->count = 0;
}
