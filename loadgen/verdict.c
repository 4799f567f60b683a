/* Puts a judgement together: the indexes, the anomalies, and whether the run proves anything. */
#include "verdict_internal.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Requests that may miss their schedule. One that is late is honestly measured, because latency
 * counts from its planned time; but with many of them the arrivals are not the planned ones any
 * more, and strategies are no longer compared under the same load. At 800 requests in a second this
 * forgives the machine a single stop of 50 ms. */
#define PUNCTUAL_MIN 0.95

const char *anomaly_name(enum anomaly anomaly) {
    static const char *const names[] = {
#define X(id, name, text) name,
        ANOMALIES(X)
#undef X
    };
    return names[anomaly];
}

const char *anomaly_text(enum anomaly anomaly) {
    static const char *const texts[] = {
#define X(id, name, text) text,
        ANOMALIES(X)
#undef X
    };
    return texts[anomaly];
}

const char *verdict_kind_name(enum verdict_kind kind) {
    static const char *const names[] = {"VALID", "VIOLATED", "INCONCLUSIVE", "not judged"};

    return names[kind];
}

const char *judge_id(const struct record *record) {
    return record->order_id[0] != '\0' ? record->order_id : record->key;
}

static int compare_sale_id(const void *id, const void *sale) {
    return strcmp(id, ((const struct ledger_sale *)sale)->order_id);
}

static int compare_order_id(const void *id, const void *order) {
    return strcmp(id, ((const struct ledger_order *)order)->order_id);
}

static int compare_record_id(const void *id, const void *record) {
    return strcmp(id, judge_id(*(const struct record *const *)record));
}

const struct ledger_sale *judge_find_sale(const struct judge *judge, const char *order_id) {
    return bsearch(order_id, judge->ledger->sales, judge->ledger->sale_count,
                   sizeof *judge->ledger->sales, compare_sale_id);
}

const struct ledger_order *judge_find_order(const struct judge *judge, const char *order_id) {
    return bsearch(order_id, judge->ledger->orders, judge->ledger->order_count,
                   sizeof *judge->ledger->orders, compare_order_id);
}

const struct record *judge_find_record(const struct judge *judge, const char *order_id) {
    const struct record **found = bsearch(order_id, judge->by_id, judge->recorder->count,
                                          sizeof(const struct record *), compare_record_id);

    return found ? *found : NULL;
}

void judge_found(struct judge *judge, enum anomaly anomaly, int64_t count, const char *format,
                 ...) {
    struct anomaly_found *found = &judge->verdict->found[anomaly];
    va_list arguments;

    found->count += count;
    if (found->examples == VERDICT_EXAMPLES)
        return;
    va_start(arguments, format);
    vsnprintf(found->example[found->examples++], VERDICT_TEXT, format, arguments);
    va_end(arguments);
}

static int by_unit(const void *a, const void *b) {
    const struct ledger_sale *x = *(const struct ledger_sale *const *)a;
    const struct ledger_sale *y = *(const struct ledger_sale *const *)b;

    if (x->unit != y->unit)
        return x->unit < y->unit ? -1 : 1;
    return strcmp(x->at, y->at);
}

static int by_id(const void *a, const void *b) {
    return strcmp(judge_id(*(const struct record *const *)a),
                  judge_id(*(const struct record *const *)b));
}

static int make_indexes(struct judge *judge) {
    size_t sales = judge->ledger->sale_count, records = judge->recorder->count;

    judge->by_unit = calloc(sales + 1, sizeof(const struct ledger_sale *));
    judge->by_id = calloc(records + 1, sizeof(const struct record *));
    if (judge->by_unit == NULL || judge->by_id == NULL)
        return -1;
    for (size_t i = 0; i < sales; i++)
        judge->by_unit[i] = &judge->ledger->sales[i];
    qsort(judge->by_unit, sales, sizeof(const struct ledger_sale *), by_unit);
    for (size_t i = 0; i < records; i++)
        judge->by_id[i] = &judge->recorder->records[i];
    qsort(judge->by_id, records, sizeof(const struct record *), by_id);
    return 0;
}

static int judge_ledger(const struct verdict_case *judged, struct verdict *verdict) {
    struct judge judge = {judged->ledger, judged->recorder, verdict, NULL, NULL};
    int rc = make_indexes(&judge);

    if (rc == 0) {
        verdict->sold = (int64_t)judged->ledger->sale_count;
        verdict->left = judged->ledger->available + judged->ledger->returned;
        judge_units(&judge);
        judge_promises(&judge);
        judge_refusals(&judge);
        rc = judge_overlaps(&judge);
    }
    free(judge.by_unit);
    free(judge.by_id);
    return rc;
}

__attribute__((format(printf, 2, 3))) static void doubt(struct verdict *verdict, const char *format,
                                                        ...) {
    va_list arguments;

    if (verdict->reasons == VERDICT_REASONS)
        return;
    va_start(arguments, format);
    vsnprintf(verdict->reason[verdict->reasons++], VERDICT_TEXT, format, arguments);
    va_end(arguments);
}

static void doubt_schedule(const struct recorder *recorder, struct verdict *verdict) {
    double punctual = recorder_punctual(recorder, VERDICT_LATE_NS);

    if (recorder->count > 0 && recorder->answered == 0) {
        doubt(verdict, "the target answered none of the %zu requests", recorder->count);
        return;
    }
    if (recorder->lateness.count > 0 && punctual < PUNCTUAL_MIN)
        doubt(
            verdict,
            "the schedule was missed: %.1f %% of the requests were sent more than 10 ms late, and "
            "5 %% may be; lower --rate, raise --connections or free a CPU",
            100 * (1 - punctual));
    if (recorder->by_outcome[RECORD_UNSENT] > 0)
        doubt(verdict, "%zu requests were not sent for want of a connection; raise --connections",
              recorder->by_outcome[RECORD_UNSENT]);
}

static void doubt_ledger(const struct verdict_case *judged, struct verdict *verdict) {
    if (judged->ledger->counted != (int64_t)judged->ledger->sale_count)
        doubt(verdict, "the ledger was still changing when it was read; raise --drain");
    if (verdict->unsettled > 0)
        doubt(verdict, "%" PRId64 " sales with an unknown outcome have no order yet; raise --drain",
              verdict->unsettled);
    if (judged->is_restless)
        doubt(verdict, "requests were not answered, and the ledger did not become quiet; raise "
                       "--drain");
    if (verdict->pairs < judged->pairs_wanted)
        doubt(verdict,
              "in only %" PRId64
              " pairs did an attempt overlap with one that got a unit; fewer than "
              "%" PRId64 " would hardly show a race: raise --rate, --work or --stock",
              verdict->pairs, judged->pairs_wanted);
}

static enum verdict_kind conclude(const struct verdict_case *judged,
                                  const struct verdict *verdict) {
    for (int i = 0; i < ANOMALY_COUNT; i++) {
        if (verdict->found[i].count > 0)
            return VERDICT_VIOLATED;
    }
    if (verdict->reasons > 0)
        return VERDICT_INCONCLUSIVE;
    return judged->ledger ? VERDICT_VALID : VERDICT_UNJUDGED;
}

int verdict_judge(const struct verdict_case *judged, struct verdict *verdict) {
    memset(verdict, 0, sizeof *verdict);
    if (judged->is_interrupted)
        doubt(verdict, "interrupted");
    doubt_schedule(judged->recorder, verdict);
    if (judged->problem != NULL)
        doubt(verdict, "%s", judged->problem);
    if (judged->ledger != NULL) {
        if (judge_ledger(judged, verdict) != 0)
            return -1;
        doubt_ledger(judged, verdict);
    }
    verdict->kind = conclude(judged, verdict);
    return 0;
}
