/* First all items of one worker at once, then ever shorter runs of items, down to single ones, as
 * Zeller's ddmin does. Each try judges the rest again. */
#include "shrink.h"

#include <stdlib.h>
#include <string.h>

struct shrinking {
    struct history *rest; /* the shortest so far */
    struct history tried; /* room for a try */
    int64_t slack_ms;
    enum oracle_word word;
    struct oracle_finding finding;
    size_t faults; /* that hit the worker of the finding: they stay, because they tell why */
};

static size_t count_faults(const struct history *history, uint32_t worker) {
    size_t faults = 0;

    for (size_t i = 0; i < history->count; i++)
        faults +=
            history->items[i].kind == HISTORY_FAULT &&
            (history->items[i].worker == worker || history->items[i].worker == HISTORY_NOBODY);
    return faults;
}

static bool shows(const struct shrinking *shrinking, const struct history *history) {
    const struct oracle_finding *old = &shrinking->finding;
    struct oracle oracle;
    const struct oracle_finding *new = &oracle.findings[shrinking->word];

    return count_faults(history, old->worker) == shrinking->faults &&
           oracle_judge(history, shrinking->slack_ms, &oracle) == 0 && new->count > 0 &&
           new->worker == old->worker &&new->other == old->other &&new->older_ns ==
               old->older_ns &&new->newer_ns == old->newer_ns &&new->length_ns ==
               old->length_ns &&new->is_told == old->is_told &&new->number == old->number;
}

/* Takes the try if the finding is still there. */
static bool shrink_take(struct shrinking *shrinking) {
    struct history other;

    if (shrinking->tried.count == shrinking->rest->count || !shows(shrinking, &shrinking->tried))
        return false;
    other = *shrinking->rest;
    *shrinking->rest = shrinking->tried;
    shrinking->tried = other;
    return true;
}

static bool without_run(struct shrinking *shrinking, size_t from, size_t length) {
    const struct history *rest = shrinking->rest;
    struct history *tried = &shrinking->tried;

    if (length > rest->count - from)
        length = rest->count - from;
    memcpy(tried->items, rest->items, from * sizeof *rest->items);
    memcpy(tried->items + from, rest->items + from + length,
           (rest->count - from - length) * sizeof *rest->items);
    tried->count = rest->count - length;
    return shrink_take(shrinking);
}

static void without_worker(struct shrinking *shrinking, uint32_t worker) {
    const struct history *rest = shrinking->rest;

    shrinking->tried.count = 0;
    for (size_t i = 0; i < rest->count; i++)
        if (rest->items[i].worker != worker)
            shrinking->tried.items[shrinking->tried.count++] = rest->items[i];
    (void)shrink_take(shrinking);
}

static void shrink_all(struct shrinking *shrinking) {
    uint32_t workers = 0;

    for (size_t i = 0; i < shrinking->rest->count; i++)
        if (shrinking->rest->items[i].worker != HISTORY_NOBODY &&
            shrinking->rest->items[i].worker >= workers)
            workers = shrinking->rest->items[i].worker + 1;
    for (uint32_t i = 0; i < workers; i++)
        without_worker(shrinking, i);
    for (size_t length = shrinking->rest->count; length > 0; length /= 2)
        for (size_t from = 0; from < shrinking->rest->count;)
            if (!without_run(shrinking, from, length))
                from += length;
}

/* All else that is told is over before this item begins, or begins when it is over. */
static bool is_apart(const struct history *history, size_t index) {
    const struct history_item *one = &history->items[index];
    bool is_first = true, is_last = true;

    for (size_t i = 0; i < history->count; i++) {
        const struct history_item *item = &history->items[i];

        if (item->kind == HISTORY_FAULT)
            continue;
        is_first = is_first && item->at_ns > one->end_ns;
        is_last = is_last && item->end_ns < one->at_ns;
    }
    return is_first || is_last;
}

/* Such a fault is the reason of nothing in the history. */
static void without_faults_apart(struct shrinking *shrinking) {
    for (size_t i = shrinking->rest->count; i > 0; i--) {
        if (shrinking->rest->items[i - 1].kind != HISTORY_FAULT ||
            !is_apart(shrinking->rest, i - 1))
            continue;
        shrinking->faults--;
        if (!without_run(shrinking, i - 1, 1))
            shrinking->faults++;
    }
}

static int shrink_copy(struct history *to, const struct history *from) {
    to->items = malloc((from->count + 1) * sizeof *to->items);
    to->count = to->room = from->count;
    if (to->items == NULL)
        return -1;
    memcpy(to->items, from->items, from->count * sizeof *to->items);
    return 0;
}

int shrink(const struct history *history, int64_t slack_ms, enum oracle_word word,
           struct history *shortest) {
    struct shrinking shrinking = {.rest = shortest, .slack_ms = slack_ms, .word = word};
    struct oracle oracle;
    int code = oracle_judge(history, slack_ms, &oracle);

    *shortest = (struct history){NULL, 0, 0};
    if (code == 0)
        code = shrink_copy(shortest, history);
    if (code == 0)
        code = shrink_copy(&shrinking.tried, history);
    if (code == 0) {
        shrinking.finding = oracle.findings[word];
        shrinking.faults = count_faults(history, shrinking.finding.worker);
        shrink_all(&shrinking);
        without_faults_apart(&shrinking);
    } else {
        history_free(shortest);
    }
    history_free(&shrinking.tried);
    return code;
}
