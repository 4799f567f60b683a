/* Holds measurements against thresholds. */
#include "threshold_internal.h"

#include "duration.h"

#include <stdio.h>
#include <string.h>

const struct threshold_metric threshold_metrics[] = {
#define X(id, name, text) {name, METRIC_ANOMALY, ANOMALY_##id},
    ANOMALIES(X)
#undef X
        {"anomalies", METRIC_ANOMALIES, 0},
#define X(id, word, text) {#word, METRIC_OUTCOME, RECORD_##id},
    RECORD_OUTCOMES(X)
#undef X
        {"offered", METRIC_OFFERED, 0},
    {"p", METRIC_LATENCY, 0},
    {"service_p", METRIC_SERVICE, 0},
    {"mean", METRIC_MEAN, 0},
    {"max", METRIC_MAX, 0},
    {"rate", METRIC_RATE, 0},
    {"late", METRIC_LATE, 0},
    {NULL, METRIC_RATE, 0}};

const struct threshold_operator threshold_operators[THRESHOLD_OPS] = {
    [THRESHOLD_EQ] = {"==", false, true, false}, [THRESHOLD_NE] = {"!=", true, false, true},
    [THRESHOLD_LT] = {"<", true, false, false},  [THRESHOLD_LE] = {"<=", true, true, false},
    [THRESHOLD_GT] = {">", false, false, true},  [THRESHOLD_GE] = {">=", false, true, true}};

/* A hyphen is as good as an underscore, and upper case as lower. */
static char plain(char c) {
    if (c == '_')
        return '-';
    return (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

static bool is_same_word(const char *a, const char *b) {
    while (*a != '\0' && plain(*a) == plain(*b)) {
        a++;
        b++;
    }
    return plain(*a) == plain(*b);
}

const struct threshold_metric *threshold_find(const char *name) {
    for (const struct threshold_metric *metric = threshold_metrics; metric->name != NULL; metric++)
        if (is_same_word(metric->name, name))
            return metric;
    return NULL;
}

bool threshold_is_time(enum metric_kind kind) {
    return kind == METRIC_LATENCY || kind == METRIC_SERVICE || kind == METRIC_MEAN ||
           kind == METRIC_MAX;
}

static double found_in_all(const struct verdict *verdict) {
    double sum = 0;

    for (int i = 0; i < ANOMALY_COUNT; i++)
        sum += (double)verdict->found[i].count;
    return sum;
}

static double part_of(double count, size_t all) {
    return all > 0 ? count / (double)all : 0;
}

static double time_of(const struct histogram *histogram, double value) {
    return histogram->count > 0 ? value : THRESHOLD_UNMEASURED;
}

static double measure(const struct threshold *threshold, const struct threshold_metric *metric,
                      const struct recorder *recorder, const struct verdict *verdict) {
    const struct histogram *latency = &recorder->latency, *service = &recorder->service;
    double count;

    switch (metric->kind) {
    case METRIC_ANOMALY:
        return verdict != NULL ? (double)verdict->found[metric->which].count : 0;
    case METRIC_ANOMALIES:
        return verdict != NULL ? found_in_all(verdict) : 0;
    case METRIC_OUTCOME:
        count = (double)recorder->by_outcome[metric->which];
        return threshold->is_part ? part_of(count, recorder->count) : count;
    case METRIC_OFFERED:
        return (double)recorder->count;
    case METRIC_LATENCY:
        return time_of(latency, (double)histogram_percentile(latency, threshold->percentile));
    case METRIC_SERVICE:
        return time_of(service, (double)histogram_percentile(service, threshold->percentile));
    case METRIC_MEAN:
        return time_of(latency, histogram_mean(latency));
    case METRIC_MAX:
        return time_of(latency, (double)latency->max);
    case METRIC_RATE:
        return recorder_rate(recorder);
    case METRIC_LATE:
        break;
    }
    return recorder->lateness.count > 0 ? 1 - recorder_punctual(recorder, VERDICT_LATE_NS) : 0;
}

static bool keeps(const struct threshold *threshold, double measured) {
    const struct threshold_operator *op = &threshold_operators[threshold->op];

    if (measured < threshold->value)
        return op->below;
    return measured > threshold->value ? op->above : op->equal;
}

/* ---- in mid-flight */

/* Values that are over the limit wherever they lie in their bucket. */
static double count_over(const struct histogram *histogram, double limit) {
    uint64_t over = 0;

    for (size_t i = HISTOGRAM_BUCKETS; i-- > 0 && (double)histogram_bucket_low(i) > limit;)
        over += histogram->buckets[i];
    return (double)over;
}

/* More values are over the limit than may be when every planned request has one. */
static bool is_percentile_lost(const struct threshold *threshold, const struct histogram *histogram,
                               size_t planned) {
    double allowed = (1 - threshold->percentile / 100) * (double)planned;

    return count_over(histogram, threshold->value) > allowed + 1;
}

/* The least that the metric can be at the end; of a percentile, whether it is past its limit. */
static bool is_past(const struct threshold *threshold, const struct threshold_metric *metric,
                    const struct recorder *recorder, size_t planned) {
    const struct histogram *latency = &recorder->latency;
    double least = 0;

    switch (metric->kind) {
    case METRIC_OUTCOME:
        least = (double)recorder->by_outcome[metric->which];
        least = threshold->is_part ? part_of(least, planned) : least;
        break;
    case METRIC_OFFERED:
        least = (double)recorder->count;
        break;
    case METRIC_LATENCY:
        return is_percentile_lost(threshold, latency, planned);
    case METRIC_SERVICE:
        return is_percentile_lost(threshold, &recorder->service, planned);
    case METRIC_MEAN:
        least = part_of(latency->sum, planned);
        break;
    case METRIC_MAX:
        least = (double)latency->max;
        break;
    case METRIC_LATE:
        least = part_of(count_over(&recorder->lateness, VERDICT_LATE_NS), planned);
        break;
    case METRIC_ANOMALY:
    case METRIC_ANOMALIES:
    case METRIC_RATE:
        return false;
    }
    return least >= threshold->value && !keeps(threshold, least);
}

static bool is_within_reach(const struct threshold *threshold,
                            const struct threshold_metric *metric,
                            const struct recorder *recorder) {
    size_t planned = recorder->planned > recorder->count ? recorder->planned : recorder->count;

    return threshold_operators[threshold->op].above ||
           !is_past(threshold, metric, recorder, planned);
}

bool threshold_holds(const struct threshold *threshold, const struct recorder *recorder,
                     const struct verdict *verdict, double *measured) {
    const struct threshold_metric *metric = threshold_find(threshold->metric);

    *measured = measure(threshold, metric, recorder, verdict);
    if (verdict == NULL)
        return is_within_reach(threshold, metric, recorder);
    return !isnan(*measured) && keeps(threshold, *measured);
}

bool threshold_needs_verdict(const struct threshold *threshold) {
    enum metric_kind kind = threshold_find(threshold->metric)->kind;

    return kind == METRIC_ANOMALY || kind == METRIC_ANOMALIES;
}

const char *threshold_value(const struct threshold *threshold, double value,
                            char text[THRESHOLD_VALUE]) {
    enum metric_kind kind = threshold_find(threshold->metric)->kind;
    char duration[DURATION_TEXT];

    if (isnan(value))
        snprintf(text, THRESHOLD_VALUE, "nothing measured");
    else if (threshold->is_part)
        snprintf(text, THRESHOLD_VALUE, "%.4g %%", 100 * value);
    else if (threshold_is_time(kind))
        snprintf(text, THRESHOLD_VALUE, "%s", duration_exact(duration, (int64_t)value));
    else
        snprintf(text, THRESHOLD_VALUE, kind == METRIC_RATE ? "%.1f" : "%.0f", value);
    return text;
}
