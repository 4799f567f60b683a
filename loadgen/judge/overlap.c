/* How many races a run could have shown: attempts that overlapped in time, of which one at least
 * took a unit. Two that were both refused compete for nothing. */
#include "judge.h"

#include <stdlib.h>

struct span {
    int64_t start, end;
    bool is_buyer;
};

/* When the attempts seen so far end, in order; `ended` of them are over. */
struct ends {
    int64_t *at;
    size_t count, ended;
};

static int by_start(const void *a, const void *b) {
    const struct span *x = a, *y = b;

    return (x->start > y->start) - (x->start < y->start);
}

static int by_time(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* Bad requests, failures and what was not sent never came near the stock. */
static bool has_competed(const struct record *record) {
    return record->outcome == RECORD_SOLD || record->outcome == RECORD_SOLD_OUT ||
           record->outcome == RECORD_BUSY || record->outcome == RECORD_UNKNOWN;
}

/* From the first request that came near the stock to the first yes, or the last answer. Requests of
 * one key are one attempt, and do not compete with each other. */
static bool span_of(const struct purchase *purchase, struct span *span) {
    bool has_any = false;

    for (size_t i = 0; i < purchase->count; i++) {
        const struct record *record = purchase->requests[i];

        if (!has_competed(record))
            continue;
        if (!has_any)
            *span = (struct span){record->sent_ns, record->received_ns, purchase->sale != NULL};
        has_any = true;
        if (record->received_ns > span->end)
            span->end = record->received_ns;
    }
    if (has_any && purchase->yes != NULL)
        span->end = purchase->answered_ns;
    return has_any;
}

static size_t collect_spans(const struct judge *judge, struct span *spans) {
    size_t count = 0;

    for (size_t i = 0; i < judge->purchase_count; i++)
        count += span_of(&judge->purchases[i], &spans[count]);
    qsort(spans, count, sizeof *spans, by_start);
    return count;
}

static void collect_ends(const struct span *spans, size_t count, bool is_of_all,
                         struct ends *ends) {
    for (size_t i = 0; i < count; i++) {
        if (is_of_all || spans[i].is_buyer)
            ends->at[ends->count++] = spans[i].end;
    }
    qsort(ends->at, ends->count, sizeof *ends->at, by_time);
}

/* Of `begun` attempts, those that have not ended at `now`. Ends of attempts that begin later are
 * later, too, so they are never counted as ended. */
static size_t still_running(struct ends *ends, size_t begun, int64_t now) {
    while (ends->ended < begun && ends->at[ends->ended] <= now)
        ends->ended++;
    return begun - ends->ended;
}

/* Backwards, to know whether a rival begins before an attempt has ended. */
static void mark_followed(const struct span *spans, size_t count, bool *is_overlapped) {
    int64_t next = INT64_MAX, next_buyer = INT64_MAX;

    for (size_t i = count; i-- > 0;) {
        is_overlapped[i] = (spans[i].is_buyer ? next : next_buyer) < spans[i].end;
        next = spans[i].start;
        next_buyer = spans[i].is_buyer ? spans[i].start : next_buyer;
    }
}

static void count_pairs(const struct span *spans, size_t count, struct ends *all,
                        struct ends *buyers, const bool *is_overlapped, struct judge *judge) {
    size_t buyers_begun = 0;

    for (size_t i = 0; i < count; i++) {
        size_t running = still_running(all, i, spans[i].start);
        size_t buying = still_running(buyers, buyers_begun, spans[i].start);
        size_t rivals = spans[i].is_buyer ? running : buying;

        judge->pairs += (int64_t)rivals;
        judge->overlapping += rivals > 0 || is_overlapped[i];
        buyers_begun += spans[i].is_buyer;
    }
}

int judge_overlaps(struct judge *judge) {
    size_t size = judge->purchase_count + 1, count;
    struct span *spans = calloc(size, sizeof *spans);
    struct ends all = {.at = calloc(size, sizeof *all.at)};
    struct ends buyers = {.at = calloc(size, sizeof *buyers.at)};
    bool *is_overlapped = calloc(size, sizeof *is_overlapped);
    int rc = spans && all.at && buyers.at && is_overlapped ? 0 : -1;

    if (rc == 0) {
        count = collect_spans(judge, spans);
        collect_ends(spans, count, true, &all);
        collect_ends(spans, count, false, &buyers);
        mark_followed(spans, count, is_overlapped);
        count_pairs(spans, count, &all, &buyers, is_overlapped, judge);
    }
    free(spans);
    free(all.at);
    free(buyers.at);
    free(is_overlapped);
    return rc;
}
