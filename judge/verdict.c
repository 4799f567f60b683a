/* Conducts the judgement: the rules look at each product; then the doubts say whether the run
 * proves anything.
 *
 * One anomaly makes it VIOLATED, and no doubt about the run changes that: evidence stands by
 * itself. Without an anomaly, each doubt makes it INCONCLUSIVE: a run proves nothing if it could
 * not have shown a race, or if its ledger may lack rows. */
#include "verdict.h"

#include "duration.h"
#include "judge.h"
#include "number.h"
#include "sorted.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *verdict_kind_name(enum verdict_kind kind) {
    static const char *const names[] = {
#define X(id, name) name,
        VERDICT_KINDS(X)
#undef X
    };

    return names[kind];
}

static bool is_same_reason(const char *reason, const char *other) {
    return reason != NULL && other != NULL && strcmp(reason, other) == 0;
}

/* The names of all anomalies that have the reason of `first`: "TWIN, STALE and LEAK". */
static size_t write_names(const struct verdict *verdict, int first, char *text, size_t size) {
    const char *reason = verdict->not_asked[first];
    size_t used = 0, left = 0;

    for (int i = first; i < ANOMALY_COUNT; i++)
        left += is_same_reason(verdict->not_asked[i], reason);
    for (int i = first; i < ANOMALY_COUNT && used < size; i++) {
        if (!is_same_reason(verdict->not_asked[i], reason))
            continue;
        left--;
        used += (size_t)snprintf(text + used, size - used, "%s%s", anomaly_name((enum anomaly)i),
                                 left > 1    ? ", "
                                 : left == 1 ? " and "
                                             : "");
    }
    return used < size ? used : size - 1;
}

const char *verdict_not_asked(const struct verdict *verdict, char text[VERDICT_NOT_ASKED]) {
    size_t used = 0;

    for (int i = 0; i < ANOMALY_COUNT; i++) {
        const char *reason = verdict->not_asked[i];
        bool is_told = reason == NULL;

        for (int before = 0; before < i; before++)
            is_told = is_told || is_same_reason(verdict->not_asked[before], reason);
        if (is_told || used >= VERDICT_NOT_ASKED - 1)
            continue;
        if (used > 0)
            used += (size_t)snprintf(text + used, VERDICT_NOT_ASKED - used, "; ");
        used += write_names(verdict, i, text + used, VERDICT_NOT_ASKED - used);
        used += (size_t)snprintf(text + used, VERDICT_NOT_ASKED - used, ", because %s", reason);
    }
    return used > 0 ? text : NULL;
}

double verdict_rate_bound(const struct verdict *verdict) {
    /* With 3 or fewer, 3 / n is 100 % or more. */
    return verdict->overlapping > 3 ? 3.0 / (double)verdict->overlapping : -1;
}

/* ---- purchases: requests by their keys */

/* All purchases of the round, sorted by product, then key. */
struct purchases {
    const struct record **requests;
    struct purchase *all;
    size_t count;
};

static int64_t purchase_sent_at(const struct record *record) {
    return record->sent_ns > 0 ? record->sent_ns : INT64_MAX;
}

static int purchase_by_key(const void *a, const void *b) {
    const struct record *x = *(const struct record *const *)a;
    const struct record *y = *(const struct record *const *)b;
    int64_t sent_x = purchase_sent_at(x), sent_y = purchase_sent_at(y);
    int order;

    if (x->item != y->item)
        return x->item < y->item ? -1 : 1;
    order = strcmp(record_key(x), record_key(y));
    return order != 0 ? order : (sent_x > sent_y) - (sent_x < sent_y);
}

/* The same order for one product, but faster. Few requests have the same key. */
static int sort_requests(const struct record **requests, size_t count) {
    struct ids_entry *entries = calloc(count + 1, sizeof *entries);
    int code;

    for (size_t i = 0; i < count && entries != NULL; i++)
        entries[i] = (struct ids_entry){.id = record_key(requests[i]), .row = requests[i]};
    code = entries != NULL ? ids_sort(entries, count) : -1;
    for (size_t i = 0; i < count && code == 0; i++) {
        size_t place = i;

        for (; place > 0 && purchase_by_key(&requests[place - 1], &entries[i].row) > 0; place--)
            requests[place] = requests[place - 1];
        requests[place] = entries[i].row;
    }
    free(entries);
    return code;
}

static void take_requests(struct purchase *purchase) {
    for (uint32_t i = 0; i < purchase->count; i++) {
        const struct record *record = purchase_request(purchase, i);

        purchase->is_unknown = purchase->is_unknown || record->outcome == RECORD_UNKNOWN;
        if (record->outcome == RECORD_SOLD && record->received_ns < purchase_answered_ns(purchase))
            purchase->yes = (i + 1) & PURCHASE_PLACES;
    }
}

/* The order that a reply names, also a reply of no; or NULL. */
static const char *named_order(const struct purchase *purchase) {
    for (size_t i = 0; i < purchase->count; i++)
        if (record_order_id(purchase_request(purchase, i))[0] != '\0')
            return record_order_id(purchase_request(purchase, i));
    return NULL;
}

static void purchase_sum_up(struct purchase *purchase, const struct verdict_case *judged) {
    const struct record *yes = purchase_yes(purchase);

    purchase->bought.id = yes != NULL ? record_order(yes) : record_key(purchase_seller(purchase));
    if (judged->is_shop_named && yes == NULL && named_order(purchase) != NULL)
        purchase->bought.id = named_order(purchase);
    purchase->is_named =
        !judged->is_shop_named || judged->are_keys_ids ||
        (yes != NULL ? record_order_id(yes)[0] != '\0' : named_order(purchase) != NULL);
}

/* Keeps the list of requests only for keys with several. */
static void group_requests(struct purchases *purchases, size_t count) {
    const struct record **requests = purchases->requests;
    size_t kept = 0;

    for (size_t first = 0, end; first < count; first = end) {
        struct purchase *purchase = &purchases->all[purchases->count++];

        for (end = first + 1; end < count && requests[end]->item == requests[first]->item; end++)
            if (strcmp(record_key(requests[end]), record_key(requests[first])) != 0)
                break;
        purchase->count = (uint32_t)(end - first);
        purchase->requests.one = requests[first];
        for (size_t i = first; i < end && purchase->count > 1; i++)
            requests[kept++] = requests[i];
    }
    requests = realloc(requests, (kept + 1) * sizeof(const struct record *));
    purchases->requests = requests != NULL ? requests : purchases->requests;
    requests = purchases->requests;
    for (size_t i = 0; i < purchases->count; i++)
        if (purchases->all[i].count > 1) {
            purchases->all[i].requests.all = requests;
            requests += purchases->all[i].count;
        }
}

static int purchases_make(struct purchases *purchases, const struct verdict_case *judged) {
    const struct recorder *recorder = judged->recorder;
    size_t count = recorder->ended;

    *purchases = (struct purchases){.requests = calloc(count + 1, sizeof(const struct record *)),
                                    .all = calloc(count + 1, sizeof *purchases->all)};
    if (purchases->requests == NULL || purchases->all == NULL)
        return -1;
    for (size_t i = 0; i < count; i++)
        purchases->requests[i] = &recorder->records[i];
    if (judged->items > 1)
        qsort(purchases->requests, count, sizeof(const struct record *), purchase_by_key);
    else if (sort_requests(purchases->requests, count) != 0)
        return -1;
    group_requests(purchases, count);
    for (size_t i = 0; i < purchases->count; i++) {
        take_requests(&purchases->all[i]);
        purchase_sum_up(&purchases->all[i], judged);
    }
    return 0;
}

/* ---- how many races the run could have shown: pairs of attempts that overlapped in time, at least
 * one of which took a unit. Two refused attempts compete for nothing.
 *
 * The number of attempts that overlap with one is the number that began before its end, less the
 * number that had ended by its start. So sorted starts and sorted ends are enough. Each pair is
 * counted twice, once from each side.
 *
 * If the moments of several machines are intervals, only pairs that overlapped for certain count.
 * The rules claim no order of the others, so these are told. */

struct span {
    int64_t start; /* the first member: sorted_sort() sorts spans by it */
    int64_t end;
    int32_t slack_us; /* each end is known to this, up and down */
    bool is_buyer;
};

/* When attempts start and end, each in order. */
struct bounds {
    int64_t *starts, *ends;
    size_t count;
    size_t begun, over; /* by the end and the start of the last span that was compared */
};

/* Bad requests, failures and requests that were not sent never came near the stock. */
static bool has_competed(const struct record *record) {
    return record->outcome == RECORD_SOLD || record->outcome == RECORD_SOLD_OUT ||
           record->outcome == RECORD_BUSY || record->outcome == RECORD_UNKNOWN;
}

/* The span of an attempt: from its first request that came near the stock to the first yes, or else
 * to the last answer. Requests of one key do not compete with each other. False: none came near. */
static bool overlap_span_of(const struct purchase *purchase, struct span *span) {
    bool has_any = false;

    for (size_t i = 0; i < purchase->count; i++) {
        const struct record *record = purchase_request(purchase, i);

        if (!has_competed(record))
            continue;
        if (!has_any)
            *span = (struct span){record->sent_ns, record->received_ns, 0, purchase->has_sale};
        has_any = true;
        if (record_slack_us(record) > span->slack_us)
            span->slack_us = record_slack_us(record);
        if (record->received_ns > span->end)
            span->end = record->received_ns;
    }
    if (has_any && purchase->yes > 0)
        span->end = purchase_answered_ns(purchase);
    if (has_any && span->end <= span->start) /* the clock is too coarse */
        span->end = span->start + 1;
    return has_any;
}

static size_t count_buyers(const struct span *spans, size_t count) {
    size_t buyers = 0;

    for (size_t i = 0; i < count; i++)
        buyers += spans[i].is_buyer;
    return buyers;
}

/* Bounds of all attempts, which are sorted, or only of buyers. `room` has room for 2 * count. */
static struct bounds bounds_of(const struct span *spans, size_t count, bool is_of_all,
                               int64_t *room) {
    struct bounds bounds = {.starts = room, .ends = room + count};

    for (size_t i = 0; i < count; i++) {
        if (!is_of_all && !spans[i].is_buyer)
            continue;
        bounds.starts[bounds.count] = spans[i].start;
        bounds.ends[bounds.count++] = spans[i].end;
    }
    sorted_sort(bounds.ends, bounds.count, sizeof *bounds.ends);
    return bounds;
}

static size_t count_overlaps(struct bounds *bounds, const struct span *span) {
    bounds->begun = sorted_count_near(bounds->starts, bounds->count, bounds->begun, span->end);
    bounds->over = sorted_count_near(bounds->ends, bounds->count, bounds->over, span->start + 1);
    assert(bounds->begun >= bounds->over);
    return bounds->begun - bounds->over;
}

/* Returns the number of pairs; `overlapping` gets how many attempts are in one. If all are buyers,
 * the bounds of buyers are not needed, and have no room. */
static int64_t count_pairs(const struct span *spans, size_t count, int64_t *room,
                           int64_t *overlapping) {
    int64_t pairs = 0;
    struct bounds all = bounds_of(spans, count, true, room), buyers = {.count = 0};

    if (count_buyers(spans, count) < count)
        buyers = bounds_of(spans, count, false, room + 2 * count);

    for (size_t i = 0; i < count; i++) {
        /* A buyer is not its own rival. */
        size_t rivals = spans[i].is_buyer ? count_overlaps(&all, &spans[i]) - 1
                                          : count_overlaps(&buyers, &spans[i]);

        pairs += (int64_t)rivals;
        *overlapping += rivals > 0;
    }
    assert(pairs % 2 == 0);
    return pairs / 2;
}

/* Leave of each attempt the time in which it was certainly under way. Returns how many have any. */
static size_t narrow(struct span *spans, size_t count) {
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        struct span span = spans[i];

        span.start += INT64_C(2000) * span.slack_us;
        span.end -= INT64_C(2000) * span.slack_us;
        if (span.start < span.end)
            spans[kept++] = span;
    }
    sorted_sort(spans, kept, sizeof *spans);
    return kept;
}

static void count_sure_pairs(struct judge *judge, struct span *spans, size_t count, int64_t *room) {
    int64_t of_all = 0;

    for (size_t i = 0; i < count; i++)
        judge->slack_ns = number_max(judge->slack_ns, INT64_C(1000) * spans[i].slack_us);
    judge->unsure_pairs = count_pairs(spans, count, room, &of_all);
    if (judge->slack_ns > 0)
        count = narrow(spans, count);
    judge->pairs = count_pairs(spans, count, room, &judge->overlapping);
    judge->unsure_pairs -= judge->pairs;
}

static int count_overlapping(struct judge *judge) {
    struct span *spans = calloc(judge->purchase_count + 1, sizeof *spans);
    int64_t *room = NULL;
    size_t count = 0;

    for (size_t i = 0; i < judge->purchase_count && spans != NULL; i++)
        count += overlap_span_of(&judge->purchases[i], &spans[count]);
    if (spans != NULL)
        room = calloc(count_buyers(spans, count) < count ? 4 * count : 2 * count + 1, sizeof *room);
    if (spans != NULL && room != NULL) {
        sorted_sort(spans, count, sizeof *spans);
        count_sure_pairs(judge, spans, count, room);
    }
    free(spans);
    free(room);
    return spans != NULL && room != NULL ? 0 : -1;
}

/* ---- the products */

static void verdict_add_counts(struct verdict *verdict, const struct judge *judge) {
    verdict->sold += judge->sold;
    verdict->left += judge->ledger->available + judge->ledger->returned;
    verdict->distinct += judge->distinct;
    verdict->refused_early += judge->refused_early;
    verdict->unsettled += judge->unsettled;
    verdict->unknown_sold += judge->unknown_sold;
    verdict->pairs += judge->pairs;
    verdict->overlapping += judge->overlapping;
    verdict->unsure_pairs += judge->unsure_pairs;
    if (judge->slack_ns > verdict->slack_ns)
        verdict->slack_ns = judge->slack_ns;
    verdict->has_ended = verdict->has_ended || judge->has_ended;
}

/* ---- the anomalies that were not asked */

#define NO_REMAINING "the sales do not tell how many units they left"
#define UNCOUNTED    "the numbers that the sales left are too many to compare"
#define RETURNS      "units can come back"
#define HELD         "units are missing, and customers without an order may still hold them"
#define MIXED        "the orders have different quantities, and a refusal does not tell its own"
#define NO_MATCHES   "the replies name no orders, and the orders have no key"
#define NO_KEYS      "the orders have no key, and no request was repeated"
#define NO_RESERVED  "the orders do not tell how many units are held for them"

static bool is_any_repeated(const struct judge *judge) {
    return judge->request_count > judge->purchase_count;
}

/* Each sale may tell how many units it left, and the numbers are not used all the same. */
static const char *why_unnumbered(const struct ledger *ledger) {
    if (!ledger->has_unused)
        return NO_REMAINING;
    return ledger->can_return ? RETURNS : UNCOUNTED;
}

/* Not asked of one product is not asked. A product without sales tells nothing of its sales. */
static void note_not_asked(const struct judge *judge, struct verdict *verdict) {
    const struct ledger *ledger = judge->ledger;
    const char **not_asked = verdict->not_asked;

    if (ledger->can_return)
        not_asked[ANOMALY_UNDERSELL] = not_asked[ANOMALY_EARLY_SOLD_OUT] = RETURNS;
    else if (judge->is_mixed)
        not_asked[ANOMALY_UNDERSELL] = not_asked[ANOMALY_EARLY_SOLD_OUT] = MIXED;
    if (judge->may_be_held)
        not_asked[ANOMALY_LEAK] = HELD;
    if (ledger->sale_count == 0)
        return;
    if (ledger->is_unnumbered && !ledger->has_writes)
        not_asked[ANOMALY_STALE] = why_unnumbered(ledger);
    else if (!ledger->is_unnumbered && !judge->has_matches)
        not_asked[ANOMALY_STALE] = NO_MATCHES;
    if (!judge_has_units(judge) && !ledger->has_writes)
        not_asked[ANOMALY_TWIN] = why_unnumbered(ledger);
    if (!judge->has_matches)
        not_asked[ANOMALY_GHOST] = not_asked[ANOMALY_ORPHAN] = NO_MATCHES;
    if (judge->is_shop_named && !ledger->has_keys && !is_any_repeated(judge))
        not_asked[ANOMALY_DUPLICATE] = NO_KEYS;
    if (judge->is_shop_named && !ledger->has_reserved)
        not_asked[ANOMALY_UNBACKED] = NO_RESERVED;
}

/* What was found was asked. */
static void forget_found(struct verdict *verdict) {
    for (int i = 0; i < ANOMALY_COUNT; i++)
        if (verdict->found[i].count > 0)
            verdict->not_asked[i] = NULL;
}

/* ---- until when a server was down that every sale needs */

static int64_t down_of(const struct event *event) {
    if (event->kind == EVENT_FAILPOINT && strcmp(event->detail, "crash") == 0)
        return EVENT_OPEN;
    return event_is_standstill(event) ? event->until_ns : 0;
}

static int64_t down_of_instance(const struct event_list *events, const char *name) {
    int64_t end_ns = 0;

    for (size_t i = 0; i < events->count; i++)
        if (strcmp(events->items[i].who, name) == 0)
            end_ns = number_max(end_ns, down_of(&events->items[i]));
    return end_ns;
}

static int64_t down_of_instances(const struct event_list *events, const struct recorder *recorder) {
    int64_t first_ns = recorder->instance_count > 0 ? EVENT_OPEN : 0;

    for (size_t i = 0; i < recorder->instance_count; i++) {
        const int64_t end_ns = down_of_instance(events, recorder->instances[i]);

        first_ns = end_ns < first_ns ? end_ns : first_ns;
    }
    return first_ns;
}

/* If no instance sold, each may be the only one, so an instance counts as well. */
static bool is_needed(const struct event *event, const struct recorder *recorder) {
    return event->kind == EVENT_SERVER && strncmp(event->who, "replica", 7) != 0 &&
           (recorder->instance_count == 0 || strncmp(event->who, "inventory-", 10) != 0);
}

static int64_t down_of_events(const struct event_list *events, const struct recorder *recorder) {
    int64_t end_ns = down_of_instances(events, recorder);

    for (size_t i = 0; i < events->count; i++)
        if (is_needed(&events->items[i], recorder))
            end_ns = number_max(end_ns, down_of(&events->items[i]));
    return end_ns;
}

/* A server that was down before the round stays down until something is sold. */
static bool is_still_down(const struct verdict_case *judged) {
    return judged->is_down && judged->recorder->instance_count == 0;
}

/* An instance counts only while all instances that sold are down. EVENT_OPEN: down at the end. */
static int64_t find_down_until(const struct verdict_case *judged) {
    const struct event_list *events = judged->events;
    const struct recorder *recorder = judged->recorder;
    int64_t end_ns = events != NULL ? down_of_events(events, recorder) : 0;

    if (is_still_down(judged))
        return EVENT_OPEN;
    for (size_t i = 0; i < recorder->ended; i++)
        if (recorder->records[i].outcome == RECORD_UNREACHED)
            end_ns = number_max(end_ns, recorder->records[i].planned_ns +
                                            record_slack_ns(&recorder->records[i]));
    return end_ns;
}

/* Product by product: the purchases of one stand together. */
static int judge_products(const struct verdict_case *judged, const struct purchases *purchases,
                          struct counterexamples *examples, struct verdict *verdict) {
    const int64_t down_until_ns = find_down_until(judged);
    size_t next = 0;
    int rc = 0;

    for (uint32_t item = 0; item < judged->items && rc == 0; item++) {
        struct judge judge = {.events = judged->events,
                              .ledger = &judged->ledgers[item],
                              .item = item,
                              .is_keyless = judged->is_keyless,
                              .is_shop_named = judged->is_shop_named,
                              .are_keys_ids = !judged->is_shop_named || judged->are_keys_ids,
                              .is_stopped = judged->is_interrupted || judged->is_aborted,
                              .stuck_ns =
                                  judged->stuck_ns > 0 ? judged->stuck_ns : VERDICT_STUCK_NS,
                              .down_until_ns = down_until_ns,
                              .ledger_start_us = judged->ledger_start_us,
                              .found = verdict->found,
                              .purchases = &purchases->all[next]};

        while (next < purchases->count && purchase_request(&purchases->all[next], 0)->item == item)
            next++;
        judge.purchase_count = (size_t)(&purchases->all[next] - judge.purchases);
        if (judge_open(&judge) != 0 || judge_sales(&judge) != 0 || judge_stock(&judge) != 0 ||
            judge_leaks(&judge) != 0 || judge_writes(&judge) != 0 ||
            count_overlapping(&judge) != 0) {
            rc = -1;
        } else {
            verdict_add_counts(verdict, &judge);
            note_not_asked(&judge, verdict);
            counterexamples_add(examples, &judge);
        }
        judge_close(&judge);
    }
    assert(rc != 0 || next == purchases->count); /* each purchase is of one of the products */
    return rc;
}

/* One of each anomaly first, then more twins. */
static void choose_counterexamples(const struct counterexamples *all, struct verdict *verdict) {
    size_t *count = &verdict->counterexamples;

    for (int i = 0; i < ANOMALY_COUNT && *count < VERDICT_COUNTEREXAMPLES; i++)
        if (all->has[i])
            verdict->counterexample[(*count)++] = all->first[i];
    for (size_t i = 0; i < all->twins && *count < VERDICT_COUNTEREXAMPLES; i++)
        verdict->counterexample[(*count)++] = all->twin[i];
}

static int judge_ledgers(const struct verdict_case *judged, struct verdict *verdict) {
    struct counterexamples *examples = calloc(1, sizeof *examples);
    struct purchases purchases;
    int rc = purchases_make(&purchases, judged);

    if (examples == NULL)
        rc = -1;
    if (rc == 0)
        rc = judge_products(judged, &purchases, examples, verdict);
    if (rc == 0)
        choose_counterexamples(examples, verdict);
    forget_found(verdict);
    free(purchases.requests);
    free(purchases.all);
    free(examples);
    return rc;
}

/* ---- firings */

/* A failure matters until the product's last unit is sold or, if units are left, until the last
 * request is answered. */
static int64_t verdict_end_of(const struct verdict_case *judged, const struct ledger *ledger) {
    int64_t end_us = 0;

    for (size_t i = 0; i < ledger->sale_count; i++) {
        const int64_t at_us = ledger->sales[i].at_us - judged->ledger_start_us;

        end_us = at_us > end_us ? at_us : end_us;
    }
    if (ledger->available + ledger->returned <= 0)
        return end_us * 1000;
    for (size_t i = 0; i < judged->recorder->ended; i++)
        if (judged->recorder->records[i].received_ns > end_us * 1000)
            end_us = judged->recorder->records[i].received_ns / 1000;
    return end_us * 1000;
}

/* Without ledger or events the firings of failpoints are not known, so none is listed. */
static void verdict_arm(const struct verdict_case *judged, struct firings *firings) {
    for (size_t i = 0; judged->armed != NULL && i < judged->armed->count; i++)
        if (judged->armed->items[i].kind != EVENT_FAILPOINT ||
            (judged->ledgers != NULL && !judged->are_events_lost))
            firings->items[firings->count++] = judged->armed->items[i];
}

static int count_firings(const struct verdict_case *judged, struct firings *firings) {
    int64_t *ends_ns = calloc(judged->items + 1, sizeof *ends_ns);

    if (ends_ns == NULL)
        return -1;
    for (size_t i = 0; i < judged->items; i++)
        ends_ns[i] =
            judged->ledgers != NULL ? verdict_end_of(judged, &judged->ledgers[i]) : INT64_MAX;
    firings_count(firings, judged->events, ends_ns, judged->items);
    free(ends_ns);
    return 0;
}

/* ---- doubts: whether the run proves anything */

__attribute__((format(printf, 2, 3))) static void doubt(struct verdict *verdict, const char *format,
                                                        ...) {
    va_list arguments;

    if (verdict->reasons == VERDICT_REASONS)
        return;
    va_start(arguments, format);
    vsnprintf(verdict->reason[verdict->reasons++], VERDICT_TEXT, format, arguments);
    va_end(arguments);
}

static void doubt_schedule(const struct verdict_case *judged, struct verdict *verdict) {
    const struct recorder *recorder = judged->recorder;
    int64_t late_ns = judged->late_ns > 0 ? judged->late_ns : VERDICT_LATE_NS;
    double punctual = recorder_punctual(recorder, late_ns);
    char late[DURATION_TEXT];
    double held =
        recorder->count > 0 ? (double)recorder->late_launches / (double)recorder->count : 0;

    if (recorder->count > 0 && recorder->answered == 0) {
        doubt(verdict, "the target answered none of the %zu requests", recorder->count);
        return;
    }
    if (held > 1 - VERDICT_PUNCTUAL)
        doubt(verdict,
              "the schedule was missed: %.1f %% of the requests waited for --max-in-flight (5 %% "
              "may); raise it or lower --rate",
              100 * held);
    else if (recorder->lateness.count > 0 && punctual < VERDICT_PUNCTUAL)
        doubt(verdict,
              "the schedule was missed: %.1f %% of the requests were sent more than %s late (5 %% "
              "may be); lower --rate, raise --connections or free a CPU",
              100 * (1 - punctual), duration_text(late, late_ns));
    if (recorder->by_outcome[RECORD_UNSENT] > 0)
        doubt(verdict, "%zu requests were not sent: no connection was free; raise --connections",
              recorder->by_outcome[RECORD_UNSENT]);
}

static void doubt_ledger(const struct verdict_case *judged, struct verdict *verdict) {
    const char *advice = judged->is_interrupted ? "" : "; raise --drain";
    bool is_moving = false;

    for (size_t i = 0; i < judged->items; i++)
        if (judged->ledgers[i].counted != ledger_sold(&judged->ledgers[i]))
            is_moving = true;
    if (is_moving)
        doubt(verdict, "the ledger was still changing when it was read%s", advice);
    if (verdict->unsettled > 0)
        doubt(verdict, "%" PRId64 " sales with an unknown outcome have no order yet%s",
              verdict->unsettled, advice);
    if (judged->is_restless)
        doubt(verdict, "requests were not answered, and the ledger may still be changing%s",
              advice);
    if (verdict->pairs < judged->pairs_wanted)
        doubt(verdict,
              "an attempt overlapped with one that got a unit in only %" PRId64
              " pairs; at least %" PRId64 " are needed to show a race%s",
              verdict->pairs, judged->pairs_wanted,
              judged->is_interrupted  ? ""
              : judged->is_shop_named ? ": send more at a time, with a higher rate or more units"
                                      : ": raise --rate, --work or --stock");
}

static enum verdict_kind verdict_conclude(const struct verdict_case *judged,
                                          const struct verdict *verdict) {
    for (int i = 0; i < ANOMALY_COUNT; i++) {
        if (verdict->found[i].count > 0)
            return VERDICT_VIOLATED;
    }
    if (verdict->reasons > 0)
        return VERDICT_INCONCLUSIVE;
    return judged->ledgers != NULL ? VERDICT_VALID : VERDICT_UNJUDGED;
}

int verdict_judge(const struct verdict_case *judged, struct verdict *verdict) {
    memset(verdict, 0, sizeof *verdict);
    verdict_arm(judged, &verdict->firings);
    if (judged->events != NULL && count_firings(judged, &verdict->firings) != 0)
        return -1;
    if (judged->is_interrupted)
        doubt(verdict, "interrupted");
    doubt_schedule(judged, verdict);
    if (is_still_down(judged))
        doubt(verdict,
              "a server that failed in an earlier round was down, and nothing could be sold: "
              "start it again (scripts/stack start)");
    if (judged->problem != NULL)
        doubt(verdict, "%s", judged->problem);
    if (judged->fault_problem != NULL)
        doubt(verdict, "%s", judged->fault_problem);
    for (size_t i = 0; i < judged->doubt_count; i++)
        doubt(verdict, "%s", judged->doubts[i].text);
    if (judged->ledgers != NULL) {
        if (judge_ledgers(judged, verdict) != 0)
            return -1;
        doubt_ledger(judged, verdict);
    }
    verdict->kind = verdict_conclude(judged, verdict);
    return 0;
}
