#include "prose.h"

#include "duration.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

struct moment {
    int64_t at_ns;
    size_t order;
    char text[PROSE_LINE];
};

struct telling {
    struct moment *moments;
    size_t count;
};

__attribute__((format(printf, 3, 4))) static void tell(struct telling *telling, int64_t at_ns,
                                                       const char *format, ...) {
    struct moment *moment = &telling->moments[telling->count];
    va_list args;

    moment->at_ns = at_ns;
    moment->order = telling->count++;
    va_start(args, format);
    (void)vsnprintf(moment->text, sizeof moment->text, format, args);
    va_end(args);
}

static int moment_compare(const void *left, const void *right) {
    const struct moment *a = left, *b = right;

    if (a->at_ns != b->at_ns)
        return a->at_ns < b->at_ns ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

static void tell_acquire(struct telling *telling, const struct history_item *item, unsigned who) {
    char fence[40] = "", took[DURATION_TEXT];

    if (item->fence != HISTORY_NO_FENCE)
        (void)snprintf(fence, sizeof fence, ", with fence %" PRIu64, item->fence);
    if (item->result == HISTORY_RESULT_HELD)
        tell(telling, item->end_ns, "worker %u gets the lock%s", who, fence);
    else if (item->end_ns != HISTORY_OPEN)
        tell(telling, item->end_ns, "worker %u asked for the lock and gets \"%s\" after %s%s%s",
             who, history_result_text(item->result),
             duration_text(took, item->end_ns - item->at_ns), item->text[0] != '\0' ? ": " : "",
             item->text);
    else
        tell(telling, item->at_ns, "worker %u asks for the lock", who);
}

static void tell_release(struct telling *telling, const struct history_item *item, unsigned who) {
    tell(telling, item->at_ns, "worker %u is asked to release the lock", who);
    if (item->end_ns != HISTORY_OPEN)
        tell(telling, item->end_ns, "worker %u answers \"%s\"%s%s", who,
             history_result_text(item->result), item->text[0] != '\0' ? ": " : "", item->text);
}

static void tell_fault(struct telling *telling, const struct history_item *item, unsigned who) {
    if (item->flags & HISTORY_STOPS) {
        tell(telling, item->at_ns, "worker %u is stopped", who);
        tell(telling, item->end_ns, "worker %u runs again", who);
    } else if (item->flags & HISTORY_KILLS) {
        tell(telling, item->at_ns, "worker %u is killed", who);
    } else if (item->flags & HISTORY_WORKS) {
        tell(telling, item->at_ns, "worker %u begins to work for longer than the TTL", who);
    } else {
        char whom[24] = "";

        if (item->worker != HISTORY_NOBODY)
            (void)snprintf(whom, sizeof whom, " for worker %u", who);
        if (item->flags & HISTORY_STAYS) {
            tell(telling, item->at_ns, "this happens%s: %s", whom, item->text);
            return;
        }
        tell(telling, item->at_ns, "this begins%s: %s", whom, item->text);
        if (item->end_ns != HISTORY_OPEN && item->end_ns > item->at_ns)
            tell(telling, item->end_ns, "this ends%s: %s", whom, item->text);
    }
}

static void tell_item(struct telling *telling, const struct history_item *item) {
    const unsigned who = item->worker + 1;
    const char *result = history_result_text(item->result);

    switch (item->kind) {
    case HISTORY_ACQUIRE:
        tell_acquire(telling, item, who);
        break;
    case HISTORY_CHECK:
        tell(telling, item->end_ns, "worker %u is asked, and %s the lock", who,
             item->result == HISTORY_RESULT_HELD ? "believes that it holds" : "knows that it lost");
        break;
    case HISTORY_RELEASE:
        tell_release(telling, item, who);
        break;
    case HISTORY_TOLD:
        tell(telling, item->at_ns, "worker %u is told by its library: %s", who, result);
        break;
    case HISTORY_WRITE:
        tell(telling, item->at_ns, "worker %u writes%s", who,
             item->result == HISTORY_RESULT_REFUSED ? "; the fenced register refuses it" : "");
        break;
    case HISTORY_FAULT:
        tell_fault(telling, item, who);
        break;
    case HISTORY_DEATH:
        tell(telling, item->at_ns, "worker %u is dead", who);
        break;
    case HISTORY_FORK:
        tell(telling, item->end_ns, "worker %u begins its life as %s", who, item->text);
        break;
    case HISTORY_STALL:
        if (item->worker == HISTORY_NOBODY)
            tell(telling, item->at_ns, "the machine stalls for %.0f ms",
                 (double)(item->end_ns - item->at_ns) / 1e6);
        else
            tell(telling, item->at_ns,
                 "from now on worker %u waits for a processor, %.0f ms in all", who,
                 (double)(item->end_ns - item->at_ns) / 1e6);
        break;
    }
}

int prose_tell(const struct history *history, prose_cb each, void *data) {
    struct telling telling = {calloc(history->count * 2 + 1, sizeof *telling.moments), 0};

    if (telling.moments == NULL)
        return -1;
    for (size_t i = 0; i < history->count; i++)
        tell_item(&telling, &history->items[i]);
    qsort(telling.moments, telling.count, sizeof *telling.moments, moment_compare);
    for (size_t i = 0; i < telling.count; i++) {
        char line[PROSE_LINE + 32];

        (void)snprintf(line, sizeof line, "%7.3f s  %s",
                       (double)(telling.moments[i].at_ns - telling.moments[0].at_ns) / 1e9,
                       telling.moments[i].text);
        each(line, data);
    }
    free(telling.moments);
    return 0;
}

const char *prose_finding(enum oracle_word word, const struct oracle_finding *finding, char *to,
                          size_t size) {
    const unsigned who = finding->worker + 1, other = finding->other + 1;
    char length[DURATION_TEXT];

    (void)duration_text(length, finding->length_ns);
    switch (word) {
    case ORACLE_TWIN_UNAWARE:
        (void)snprintf(to, size,
                       "Workers %u and %u both believed for %s that they held the lock.%s", who,
                       other, length, finding->is_told ? "" : " Nothing told the first.");
        break;
    case ORACLE_STALE_WRITE:
        (void)snprintf(to, size, "Worker %u wrote %s after worker %u, which got the lock later%s",
                       who, length, other,
                       finding->is_told ? ": the write was on its way."
                                        : ", and believed that it held the lock.");
        break;
    case ORACLE_NO_FENCE:
        (void)snprintf(to, size, "No fence could stop the stale write of worker %u.", who);
        break;
    case ORACLE_FENCE_FALLS:
        (void)snprintf(to, size,
                       "Worker %u got the lock after worker %u, and its fence is not greater: "
                       "%" PRIu64 ".",
                       other, who, finding->number);
        break;
    case ORACLE_FREES_ANOTHERS:
        (void)snprintf(to, size, "The release of worker %u freed the lock of worker %u.", who,
                       other);
        break;
    case ORACLE_STUCK:
        (void)snprintf(to, size, "Worker %u was still refused %s after the last holder.", who,
                       length);
        break;
    case ORACLE_LATE_TOLD:
        (void)snprintf(to, size, "Worker %u was told %s after worker %u had got the lock.", who,
                       length, other);
        break;
    case ORACLE_NO_RENEWAL:
    case ORACLE_LOST_UNDER_LOAD:
        (void)snprintf(to, size, "Worker %u lost the lock%s.", who,
                       word == ORACLE_NO_RENEWAL ? " while it worked for longer than the TTL"
                                                 : " while its client asked for many others");
        break;
    case ORACLE_STARVED:
        (void)snprintf(to, size, "Worker %u waited for %s, and %" PRIu64 " grants passed it over.",
                       who, length, finding->number);
        break;
    case ORACLE_ERROR_AS_BUSY:
        (void)snprintf(to, size, "Worker %u said \"busy\" when no server answered.", who);
        break;
    case ORACLE_WORD_COUNT:
        to[0] = '\0';
        break;
    }
    return to;
}
