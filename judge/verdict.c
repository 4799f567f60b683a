/* Conducts the judgement: the rules look at each product, and then it is asked what the run proves.
 *
 * One anomaly makes it VIOLATED, whatever else was wrong with the run: evidence stands by itself.
 * Without one, each doubt makes it INCONCLUSIVE: a run that could not have shown a race, or whose
 * ledger is not known to be whole, proves nothing. */
#include "verdict.h"

#include "duration.h"
#include "judge.h"

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

double verdict_rate_bound(const struct verdict *verdict) {
    /* Up to here all of them might have been anomalies: 3 / n would be 100 % or more. */
    return verdict->overlapping > 3 ? 3.0 / (double)verdict->overlapping : -1;
}

/* ---- the products */

static int run_rules(struct judge *judge) {
    judge_units(judge);
    if (judge_locks(judge) != 0)
        return -1;
    judge_promises(judge);
    judge_refusals(judge);
    if (judge_rows(judge) != 0 || judge_leaks(judge) != 0)
        return -1;
    return judge_overlaps(judge);
}

static void verdict_add_counts(struct verdict *verdict, const struct judge *judge) {
    verdict->sold += (int64_t)judge->ledger->sale_count;
    verdict->left += judge->ledger->available + judge->ledger->returned;
    verdict->distinct += judge->distinct;
    verdict->refused_early += judge->refused_early;
    verdict->unsettled += judge->unsettled;
    verdict->unknown_sold += judge->unknown_sold;
    verdict->pairs += judge->pairs;
    verdict->overlapping += judge->overlapping;
    verdict->has_ended = verdict->has_ended || judge->has_ended;
}

/* ---- until when a server was down without which nothing can be sold */

static int64_t verdict_later(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static int64_t down_of(const struct event *event) {
    if (event->kind == EVENT_FAILPOINT && strcmp(event->detail, "crash") == 0)
        return EVENT_OPEN;
    return event_is_standstill(event) ? event->until_ns : 0;
}

static int64_t down_of_instance(const struct event_list *events, const char *name) {
    int64_t end_ns = 0;

    for (size_t i = 0; i < events->count; i++)
        if (strcmp(events->items[i].who, name) == 0)
            end_ns = verdict_later(end_ns, down_of(&events->items[i]));
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

/* Where no instance has sold, each may be the only one. */
static bool is_needed(const struct event *event, const struct recorder *recorder) {
    return event->kind == EVENT_SERVER && strncmp(event->who, "replica", 7) != 0 &&
           (recorder->instance_count == 0 || strncmp(event->who, "inventory-", 10) != 0);
}

static int64_t down_of_events(const struct event_list *events, const struct recorder *recorder) {
    int64_t end_ns = down_of_instances(events, recorder);

    for (size_t i = 0; i < events->count; i++)
        if (is_needed(&events->items[i], recorder))
            end_ns = verdict_later(end_ns, down_of(&events->items[i]));
    return end_ns;
}

/* A server that was down before the round stays down until something is sold. */
static bool is_still_down(const struct verdict_case *judged) {
    return judged->is_down && judged->recorder->instance_count == 0;
}

/* Of an instance only while each other that sold anything is down, too. EVENT_OPEN: at the end. */
static int64_t find_down_until(const struct verdict_case *judged) {
    const struct event_list *events = judged->events;
    const struct recorder *recorder = judged->recorder;
    int64_t end_ns = events != NULL ? down_of_events(events, recorder) : 0;

    if (is_still_down(judged))
        return EVENT_OPEN;
    for (size_t i = 0; i < recorder->ended; i++)
        if (recorder->records[i].outcome == RECORD_UNREACHED)
            end_ns = verdict_later(end_ns, recorder->records[i].planned_ns);
    return end_ns;
}

/* Product by product: its purchases are next to each other. */
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
                              .is_stopped = judged->is_interrupted || judged->is_aborted,
                              .stuck_ns =
                                  judged->stuck_ns > 0 ? judged->stuck_ns : VERDICT_STUCK_NS,
                              .down_until_ns = down_until_ns,
                              .ledger_start_us = judged->ledger_start_us,
                              .found = verdict->found,
                              .purchases = &purchases->all[next]};

        while (next < purchases->count && purchases->all[next].requests[0]->item == item)
            next++;
        judge.purchase_count = (size_t)(&purchases->all[next] - judge.purchases);
        rc = judge_open(&judge);
        if (rc == 0)
            rc = run_rules(&judge);
        if (rc == 0) {
            verdict_add_counts(verdict, &judge);
            counterexamples_add(examples, &judge);
        }
        judge_close(&judge);
    }
    assert(rc != 0 || next == purchases->count); /* no purchase is of a product beyond the last */
    return rc;
}

/* Of different anomalies first, then more twins. */
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
    int rc = purchases_make(&purchases, judged->recorder);

    if (examples == NULL)
        rc = -1;
    if (rc == 0)
        rc = judge_products(judged, &purchases, examples, verdict);
    if (rc == 0)
        choose_counterexamples(examples, verdict);
    purchases_free(&purchases);
    free(examples);
    return rc;
}

/* ---- what was armed */

/* Until when a failure matters: the product's last unit is sold, or, where some are left, the last
 * request is answered. */
static int64_t verdict_end_of(const struct verdict_case *judged, const struct ledger *ledger) {
    int64_t end_us = 0;

    for (size_t i = 0; i < ledger->sale_count; i++) {
        const int64_t at_us = ledger_time_us(ledger->sales[i].at) - judged->ledger_start_us;

        end_us = at_us > end_us ? at_us : end_us;
    }
    if (ledger->available + ledger->returned <= 0)
        return end_us * 1000;
    for (size_t i = 0; i < judged->recorder->ended; i++)
        if (judged->recorder->records[i].received_ns > end_us * 1000)
            end_us = judged->recorder->records[i].received_ns / 1000;
    return end_us * 1000;
}

/* Without ledger or events nothing is known of failpoints. */
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

/* ---- what the run proves */

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
        doubt(
            verdict,
            "the schedule was missed: %.1f %% of the requests waited for --max-in-flight, and 5 %% "
            "may; raise it or lower --rate",
            100 * held);
    else if (recorder->lateness.count > 0 && punctual < VERDICT_PUNCTUAL)
        doubt(verdict,
              "the schedule was missed: %.1f %% of the requests were sent more than %s late, and "
              "5 %% may be; lower --rate, raise --connections or free a CPU",
              100 * (1 - punctual), duration_text(late, late_ns));
    if (recorder->by_outcome[RECORD_UNSENT] > 0)
        doubt(verdict, "%zu requests were not sent for want of a connection; raise --connections",
              recorder->by_outcome[RECORD_UNSENT]);
}

static void doubt_ledger(const struct verdict_case *judged, struct verdict *verdict) {
    const char *advice = judged->is_interrupted ? "" : "; raise --drain";
    bool is_moving = false;

    for (size_t i = 0; i < judged->items; i++)
        if (judged->ledgers[i].counted != (int64_t)judged->ledgers[i].sale_count)
            is_moving = true;
    if (is_moving)
        doubt(verdict, "the ledger was still changing when it was read%s", advice);
    if (verdict->unsettled > 0)
        doubt(verdict, "%" PRId64 " sales with an unknown outcome have no order yet%s",
              verdict->unsettled, advice);
    if (judged->is_restless)
        doubt(verdict, "requests were not answered, and the ledger did not become quiet%s", advice);
    if (verdict->pairs < judged->pairs_wanted)
        doubt(verdict,
              "in only %" PRId64 " pairs did an attempt overlap with "
              "one that got a unit; fewer than %" PRId64 " would hardly show a race%s",
              verdict->pairs, judged->pairs_wanted,
              judged->is_interrupted ? "" : ": raise --rate, --work or --stock");
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
        doubt(verdict, "what failed in an earlier round was down, and nothing could be sold: start "
                       "it again, as by scripts/stack start");
    if (judged->problem != NULL)
        doubt(verdict, "%s", judged->problem);
    if (judged->fault_problem != NULL)
        doubt(verdict, "%s", judged->fault_problem);
    if (judged->ledgers != NULL) {
        if (judge_ledgers(judged, verdict) != 0)
            return -1;
        doubt_ledger(judged, verdict);
    }
    verdict->kind = verdict_conclude(judged, verdict);
    return 0;
}
