/* Reads thresholds (metric, operator, value), and compares measurements with them. */
#include "threshold.h"

#include "duration.h"
#include "number.h"
#include "record.h"
#include "verdict.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum metric_kind {
    METRIC_ANOMALY,
    METRIC_OUTCOME,
    METRIC_OFFERED,
    METRIC_PERCENTILE,
    METRIC_MEAN,
    METRIC_MAX,
    METRIC_RATE,
    METRIC_RETRIES,
    METRIC_LATE,
    METRIC_OVERTAKEN,
};

struct metric {
    const char *name; /* anomalies in capitals, like in the report */
    enum metric_kind kind;
    int which; /* anomaly (ANOMALY_COUNT: all), outcome, or the times of a percentile */
};

enum { RESPONSE_TIMES, SERVICE_TIMES };

static const struct metric metrics[] = {
#define X(id, name, text) {name, METRIC_ANOMALY, ANOMALY_##id},
    ANOMALIES(X)
#undef X
        {"anomalies", METRIC_ANOMALY, ANOMALY_COUNT},
#define X(id, word, text) {#word, METRIC_OUTCOME, RECORD_##id},
    RECORD_OUTCOMES(X)
#undef X
        {"offered", METRIC_OFFERED, 0},
    {"p", METRIC_PERCENTILE, RESPONSE_TIMES},
    {"service_p", METRIC_PERCENTILE, SERVICE_TIMES},
    {"mean", METRIC_MEAN, 0},
    {"max", METRIC_MAX, 0},
    {"rate", METRIC_RATE, 0},
    {"retries", METRIC_RETRIES, 0},
    {"late", METRIC_LATE, 0},
    {"overtaken", METRIC_OVERTAKEN, 0},
    {NULL, METRIC_RATE, 0}};

/* Whether a measured value below, at or above the limit keeps it. */
static const struct {
    const char *text;
    bool below, equal, above;
} operators[] = {
    [THRESHOLD_EQ] = {"==", false, true, false}, [THRESHOLD_NE] = {"!=", true, false, true},
    [THRESHOLD_LT] = {"<", true, false, false},  [THRESHOLD_LE] = {"<=", true, true, false},
    [THRESHOLD_GT] = {">", false, false, true},  [THRESHOLD_GE] = {">=", false, true, true}};

/* Hyphen and underscore are the same, and so are upper and lower case. */
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

/* Returns NULL if no metric has this name. Case and hyphens do not matter. */
static const struct metric *find_metric(const char *name) {
    for (const struct metric *metric = metrics; metric->name != NULL; metric++)
        if (is_same_word(metric->name, name))
            return metric;
    return NULL;
}

static bool is_time(enum metric_kind kind) {
    return kind == METRIC_PERCENTILE || kind == METRIC_MEAN || kind == METRIC_MAX;
}

static bool is_ratio(enum metric_kind kind) {
    return kind == METRIC_RATE || kind == METRIC_RETRIES;
}

/* The name as people write it: anomalies are in lower case, too. */
static const char *threshold_name_of(const struct metric *metric, char name[THRESHOLD_METRIC]) {
    size_t length = strlen(metric->name);

    assert(length < THRESHOLD_METRIC);
    for (size_t i = 0; i <= length; i++)
        name[i] = (char)tolower((unsigned char)metric->name[i]);
    return name;
}

/* ---- names and operators */

#define TIME_MAX     9e18 /* ns: an integer holds it */
#define EXAMPLES     "'oversell==0', 'p(99)<250ms', 'busy<1%%', 'sold>=100'"
#define METRICS_TEXT 512 /* room for all names */

/* "oversell, twin, ..., p(N), ...": all metrics. */
static const char *list_metrics(char text[METRICS_TEXT]) {
    char name[THRESHOLD_METRIC];
    size_t used = 0;

    for (const struct metric *metric = metrics; metric->name != NULL; metric++)
        used += (size_t)snprintf(text + used, METRICS_TEXT - used, "%s%s%s", used > 0 ? ", " : "",
                                 threshold_name_of(metric, name),
                                 metric->kind == METRIC_PERCENTILE ? "(N)" : "");
    return text;
}

/* Returns the text after the operator at `at`, or NULL if there is no operator. */
static const char *read_operator(const char *at, enum threshold_op *op) {
    size_t length = strspn(at, "=!<>");

    for (size_t i = 0; i < sizeof operators / sizeof operators[0]; i++) {
        const char *text = operators[i].text;

        if (strlen(text) == length && memcmp(at, text, length) == 0) {
            *op = (enum threshold_op)i;
            return at + length;
        }
    }
    return NULL;
}

/* ---- words with spaces */

static bool is_number_character(char c) {
    return isdigit((unsigned char)c) || c == '.';
}

/* Copies without spaces, but keeps a space between two digits: it separates two numbers. */
static void squeeze(char *to, size_t size, const char *from, size_t length) {
    const char *end = from + length;
    size_t used = 0;

    while (from < end && used + 1 < size) {
        const char *next = from + strspn(from, " \t");
        bool is_inside = used > 0 && next < end && is_number_character(to[used - 1]) &&
                         is_number_character(*next);

        if (next == from || is_inside)
            to[used++] = *from;
        from = next == from ? from + 1 : next;
    }
    to[used] = '\0';
}

/* ---- values */

static int threshold_read_value(const char *text, const struct metric *metric,
                                struct threshold *threshold, struct why *why) {
    int64_t ns;

    threshold->is_part = metric->kind == METRIC_LATE ||
                         (metric->kind == METRIC_OUTCOME && strchr(text, '%') != NULL);
    if (text[0] == '\0')
        return why_set(why, "the value is missing; for example " EXAMPLES);
    if (is_time(metric->kind)) {
        if (number_read_duration(text, &ns) != 0 || ns < 0)
            return why_set(why,
                           "\"%s\" is no duration, and %s is a time: write it like 250ms or 1.5s",
                           text, threshold->metric);
        threshold->value = (double)ns;
    } else if (threshold->is_part) {
        if (number_read_part(text, &threshold->value) != 0)
            return why_set(why, "\"%s\" is no share of the requests: write it like 1%% or 0.01",
                           text);
    } else if (number_read_scaled(text, &threshold->value) != 0) {
        return why_set(why, "\"%s\" is no number: write it like 100, 20k or 1m", text);
    } else if (!is_ratio(metric->kind) && threshold->value > floor(threshold->value)) {
        return why_set(why, "\"%s\" is no whole number, and %s is a count", text,
                       threshold->metric);
    }
    return 0;
}

#define LIMITS "'p(99)<+20%%', 'rate>-10%%', 'oversell<=0', 'p(50)<250ms'"

/* "+20%", "-5", "+50ms": a change from A to B. */
static int read_change(const char *text, const struct metric *metric, struct threshold *threshold,
                       struct why *why) {
    const double sign = text[0] == '-' ? -1 : 1;
    const char *rest = number_read(text + 1, &threshold->value);

    if (rest != NULL && strcmp(rest, "%") == 0) {
        threshold->against = THRESHOLD_RATIO;
        threshold->is_part = metric->kind == METRIC_LATE;
        threshold->value /= 100;
    } else if (strchr(text, '%') != NULL) {
        return why_set(why, "\"%s\" is no share of A: write it like +20%% or -10%%", text);
    } else if (threshold_read_value(text + 1, metric, threshold, why) == 0) {
        threshold->against = THRESHOLD_DIFFERENCE;
    } else {
        return -1;
    }
    threshold->value *= sign;
    return 0;
}

static int read_limit(const char *text, const struct metric *metric, struct threshold *threshold,
                      struct why *why) {
    if (metric->kind == METRIC_OVERTAKEN)
        return why_set(why, "summary.json has no %s; for example " LIMITS, threshold->metric);
    if (text[0] == '+' || text[0] == '-')
        return read_change(text, metric, threshold, why);
    return threshold_read_value(text, metric, threshold, why);
}

/* ---- metrics */

/* Splits "p(99)" or "p99" into its name and its percentile. */
static int split_percentile(char *metric, double *percentile, struct why *why) {
    char *at = strpbrk(metric, "(0123456789");
    const char *rest = NULL;
    bool is_open;

    *percentile = 0;
    if (at == NULL)
        return 0;
    is_open = *at == '(';
    rest = number_read(at + is_open, percentile);
    if (rest == NULL || strcmp(rest, is_open ? ")" : "") != 0 || !(*percentile > 0) ||
        *percentile > 100)
        return why_set(why,
                       "\"%s\" is no percentile: write it like p(99) or p(99.9), more "
                       "than 0 and at most 100",
                       metric);
    *at = '\0';
    return 0;
}

static int read_metric(const char *text, size_t length, struct threshold *threshold,
                       const struct metric **metric, struct why *why) {
    char word[THRESHOLD_TEXT], list[METRICS_TEXT];
    bool is_percentile;

    squeeze(word, sizeof word, text, length);
    if (split_percentile(word, &threshold->percentile, why) != 0)
        return -1;
    *metric = word[0] != '\0' ? find_metric(word) : NULL;
    if (*metric == NULL)
        return why_set(why, "there is no metric \"%s\"; there are %s; for example " EXAMPLES, word,
                       list_metrics(list));
    is_percentile = (*metric)->kind == METRIC_PERCENTILE;
    if (is_percentile != (threshold->percentile > 0))
        return why_set(why,
                       is_percentile ? "which percentile? write it like %s(99)"
                                     : "%s takes no number: leave it out",
                       word);
    (void)threshold_name_of(*metric, threshold->metric);
    return 0;
}

/* Reads one line. `why` lacks its subject. */
static int threshold_parse_one(const char *text, bool is_limit, struct threshold *threshold,
                               struct why *why) {
    const struct metric *metric = NULL;
    size_t metric_length = strcspn(text, "=!<>");
    const char *rest = read_operator(text + metric_length, &threshold->op);
    char value[THRESHOLD_TEXT];

    if (text[0] == '\0')
        return why_set(why, "it is empty; for example " EXAMPLES);
    if (strlen(text) >= sizeof threshold->text)
        return why_set(why, "it is longer than %zu characters", sizeof threshold->text - 1);
    if (rest == NULL)
        return why_set(why,
                       "an operator is missing, one of == != < <= > >=; for example " EXAMPLES);
    strcpy(threshold->text, text);
    squeeze(value, sizeof value, rest, strlen(rest));
    if (read_metric(text, metric_length, threshold, &metric, why) != 0)
        return -1;
    return is_limit ? read_limit(value, metric, threshold, why)
                    : threshold_read_value(value, metric, threshold, why);
}

/* Copies a line, without the spaces around it, to `line`. Returns the start of the next line. */
static const char *next_line(const char *text, char *line, size_t size) {
    size_t whole = strcspn(text, "\n");
    const char *from = text + strspn(text, " \t");
    const char *to = text + whole;

    while (to > from && isspace((unsigned char)to[-1]))
        to--;
    snprintf(line, size, "%.*s", (int)(to > from ? to - from : 0), from);
    return text[whole] == '\n' ? text + whole + 1 : text + whole;
}

static int parse_list(const char *text, bool is_limit, struct threshold_list *list,
                      struct why *why) {
    char line[2 * THRESHOLD_TEXT];
    struct why reason;
    int rc;

    memset(list, 0, sizeof *list);
    while (*text != '\0') {
        text = next_line(text, line, sizeof line);
        rc = list->count == THRESHOLDS_MAX
                 ? why_set(&reason, "there are at most %d of them", THRESHOLDS_MAX)
                 : threshold_parse_one(line, is_limit, &list->items[list->count], &reason);
        if (rc != 0)
            return why_set(why, "--%s '%.*s': %s", is_limit ? "limit" : "threshold", THRESHOLD_TEXT,
                           line, reason.text);
        list->count++;
    }
    return 0;
}

int threshold_parse(const char *text, struct threshold_list *list, struct why *why) {
    return parse_list(text, false, list, why);
}

int threshold_parse_limits(const char *text, struct threshold_list *list, struct why *why) {
    return parse_list(text, true, list, why);
}

/* ---- at the end of a round */

static double found(const struct verdict *verdict, int which) {
    double sum = 0;

    for (int i = 0; i < ANOMALY_COUNT; i++)
        if (i == which || which == ANOMALY_COUNT)
            sum += (double)verdict->found[i].count;
    return sum;
}

static double threshold_part_of(double count, size_t all) {
    return all > 0 ? count / (double)all : 0;
}

static double time_of(const struct histogram *histogram, double value) {
    return histogram->count > 0 ? value : (double)NAN;
}

static const struct histogram *times(const struct recorder *recorder, const struct metric *metric) {
    assert(metric->kind == METRIC_PERCENTILE);
    return metric->which == SERVICE_TIMES ? &recorder->service : &recorder->latency;
}

/* Counts values in buckets that lie above the limit as a whole. */
static double count_over(const struct histogram *histogram, double limit) {
    uint64_t over = 0;

    for (size_t i = HISTOGRAM_BUCKETS; i-- > 0 && (double)histogram_bucket_low(i) > limit;)
        over += histogram->buckets[i];
    return (double)over;
}

/* The value at the end of a round. With `planned` > 0 the round still runs: the least value that it
 * can have after so many requests. */
static double threshold_measure(const struct threshold *threshold, const struct metric *metric,
                                const struct recorder *recorder, const struct verdict *verdict,
                                size_t planned) {
    const struct histogram *latency = &recorder->latency;
    double count;

    switch (metric->kind) {
    case METRIC_ANOMALY:
        return verdict != NULL ? found(verdict, metric->which) : 0;
    case METRIC_OUTCOME:
        count = (double)recorder->by_outcome[metric->which];
        return threshold->is_part
                   ? threshold_part_of(count, planned > 0 ? planned : recorder->count)
                   : count;
    case METRIC_OFFERED:
        return (double)recorder->count;
    case METRIC_PERCENTILE:
        latency = times(recorder, metric);
        return time_of(latency, (double)histogram_percentile(latency, threshold->percentile));
    case METRIC_MEAN:
        return planned > 0 ? threshold_part_of(latency->sum, planned)
                           : time_of(latency, histogram_mean(latency));
    case METRIC_MAX:
        return time_of(latency, (double)latency->max);
    case METRIC_RATE:
        return recorder_rate(recorder);
    case METRIC_RETRIES:
        return recorder->by_outcome[RECORD_SOLD] > 0
                   ? threshold_part_of((double)recorder->retries, recorder->by_outcome[RECORD_SOLD])
                   : (double)NAN;
    case METRIC_OVERTAKEN:
        return (double)recorder->overtaken;
    case METRIC_LATE:
        break;
    }
    if (planned > 0)
        return threshold_part_of(count_over(&recorder->lateness, VERDICT_LATE_NS), planned);
    return recorder->lateness.count > 0 ? 1 - recorder_punctual(recorder, VERDICT_LATE_NS) : 0;
}

bool threshold_keeps(const struct threshold *threshold, double measured) {
    if (isnan(measured))
        return false;
    if (measured < threshold->value)
        return operators[threshold->op].below;
    return measured > threshold->value ? operators[threshold->op].above
                                       : operators[threshold->op].equal;
}

/* ---- while a round runs */

/* Whether no later request can mend it: the measured value only grows. */
static bool threshold_is_lost(const struct threshold *threshold, const struct metric *metric,
                              const struct recorder *recorder) {
    size_t planned = recorder->planned > recorder->count ? recorder->planned : recorder->count;
    double least, allowed = (1 - threshold->percentile / 100) * (double)planned;

    if (operators[threshold->op].above)
        return false;
    switch (metric->kind) {
    case METRIC_PERCENTILE: /* too many are over the limit, even if every request gets a time */
        return count_over(times(recorder, metric), threshold->value) > allowed + 1;
    case METRIC_ANOMALY:
    case METRIC_RATE:
    case METRIC_RETRIES:
    case METRIC_OVERTAKEN:
        return false;
    case METRIC_OUTCOME:
    case METRIC_OFFERED:
    case METRIC_MEAN:
    case METRIC_MAX:
    case METRIC_LATE:
        break;
    }
    least = threshold_measure(threshold, metric, recorder, NULL, planned);
    return least >= threshold->value && !threshold_keeps(threshold, least);
}

bool threshold_holds(const struct threshold *threshold, const struct recorder *recorder,
                     const struct verdict *verdict, double *measured) {
    const struct metric *metric = find_metric(threshold->metric);

    assert(metric != NULL); /* it was read */
    *measured = threshold_measure(threshold, metric, recorder, verdict, 0);
    if (verdict == NULL)
        return !threshold_is_lost(threshold, metric, recorder);
    return threshold_keeps(threshold, *measured);
}

bool threshold_needs_verdict(const struct threshold *threshold) {
    return find_metric(threshold->metric)->kind == METRIC_ANOMALY;
}

const char *threshold_value(const struct threshold *threshold, double value,
                            char text[THRESHOLD_VALUE]) {
    enum metric_kind kind = find_metric(threshold->metric)->kind;
    char duration[DURATION_TEXT];

    if (isnan(value))
        snprintf(text, THRESHOLD_VALUE, "nothing measured");
    else if (threshold->is_part)
        snprintf(text, THRESHOLD_VALUE, "%.4g %%", 100 * value);
    else if (is_time(kind)) /* a limit of a change may be less than no time */
        snprintf(text, THRESHOLD_VALUE, "%s%s", value < 0 ? "-" : "",
                 duration_exact(duration, (int64_t)fmin(fabs(value), TIME_MAX)));
    else
        snprintf(text, THRESHOLD_VALUE, is_ratio(kind) || value > floor(value) ? "%.1f" : "%.0f",
                 value);
    return text;
}
