/* Reads thresholds: metric, operator, value. */
#include "number.h"
#include "settings.h"
#include "threshold_internal.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define EXAMPLES "'oversell==0', 'p(99)<250ms', 'busy<1%%', 'sold>=100'"

struct complaint {
    const char *text; /* the threshold, as given */
    char *why;
    size_t size;
};

__attribute__((format(printf, 2, 3))) static int refuse(const struct complaint *complaint,
                                                        const char *format, ...) {
    char reason[THRESHOLD_WHY - THRESHOLD_TEXT - 16];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    snprintf(complaint->why, complaint->size, "--threshold '%.*s': %s", THRESHOLD_TEXT,
             complaint->text, reason);
    return -1;
}

/* "oversell, twin, ..., p(N), ...": all metrics there are. */
static const char *list_metrics(char text[THRESHOLD_WHY / 2]) {
    size_t used = 0;

    for (const struct threshold_metric *metric = threshold_metrics; metric->name != NULL;
         metric++) {
        bool takes_percent = metric->kind == METRIC_LATENCY || metric->kind == METRIC_SERVICE;

        used += (size_t)snprintf(text + used, THRESHOLD_WHY / 2 - used, "%s%s%s",
                                 used > 0 ? ", " : "", metric->name, takes_percent ? "(N)" : "");
    }
    for (char *at = text; *at != '\0' && strncmp(at, "p(N)", 4) != 0; at++)
        *at = (char)tolower((unsigned char)*at);
    return text;
}

/* Returns what follows the operator at `at`, or NULL when there is none. */
static const char *read_operator(const char *at, enum threshold_op *op) {
    size_t length = strspn(at, "=!<>");

    for (int i = 0; i < THRESHOLD_OPS; i++) {
        const char *text = threshold_operators[i].text;

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

/* Copy without the spaces: but one between two digits makes two numbers, and stays. */
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

/* "100", "20k", "1.5m". */
static int read_number(const char *text, double *value) {
    const char *rest = number_read(text, value);

    if (rest == NULL)
        return -1;
    if (*rest == 'k' || *rest == 'm') {
        *value *= *rest == 'k' ? 1e3 : 1e6;
        rest++;
    }
    return *rest == '\0' ? 0 : -1;
}

static int read_time(const struct complaint *complaint, const char *text,
                     struct threshold *threshold) {
    int64_t ns;

    if (settings_parse_duration(text, &ns) != 0 || ns < 0)
        return refuse(complaint,
                      "\"%s\" is no duration, and %s is a time: write it like 250ms or "
                      "1.5s",
                      text, threshold->metric);
    threshold->value = (double)ns;
    return 0;
}

static int read_part(const struct complaint *complaint, const char *text,
                     struct threshold *threshold) {
    threshold->is_part = true;
    if (number_read_part(text, &threshold->value) == 0)
        return 0;
    return refuse(complaint, "\"%s\" is no part of the requests: write it like 1%% or 0.01", text);
}

static int read_count(const struct complaint *complaint, const char *text,
                      struct threshold *threshold, bool is_whole) {
    if (read_number(text, &threshold->value) != 0)
        return refuse(complaint, "\"%s\" is no number: write it like 100, 20k or 1m", text);
    if (is_whole && threshold->value > floor(threshold->value))
        return refuse(complaint, "\"%s\" is no whole number, and %s counts", text,
                      threshold->metric);
    return 0;
}

static int read_value(const struct complaint *complaint, const struct threshold_metric *metric,
                      const char *text, struct threshold *threshold) {
    if (text[0] == '\0')
        return refuse(complaint, "the value is missing; for example " EXAMPLES);
    if (threshold_is_time(metric->kind))
        return read_time(complaint, text, threshold);
    if (metric->kind == METRIC_LATE ||
        (metric->kind == METRIC_OUTCOME && strchr(text, '%') != NULL))
        return read_part(complaint, text, threshold);
    return read_count(complaint, text, threshold, metric->kind != METRIC_RATE);
}

/* ---- metrics */

/* "p(99)" or "p99" into its name and its percentile. */
static int split_percentile(const struct complaint *complaint, char *metric, double *percentile) {
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
        return refuse(complaint,
                      "\"%s\" is no percentile: write it like p(99) or p(99.9), more "
                      "than 0 and at most 100",
                      metric);
    *at = '\0';
    return 0;
}

static int read_metric(const struct complaint *complaint, const char *text, size_t length,
                       struct threshold *threshold, const struct threshold_metric **metric) {
    char word[THRESHOLD_TEXT], list[THRESHOLD_WHY / 2];
    bool takes_percent;

    squeeze(word, sizeof word, text, length);
    if (split_percentile(complaint, word, &threshold->percentile) != 0)
        return -1;
    *metric = word[0] != '\0' ? threshold_find(word) : NULL;
    if (*metric == NULL)
        return refuse(complaint, "there is no metric \"%s\"; there are %s; for example " EXAMPLES,
                      word, list_metrics(list));
    takes_percent = (*metric)->kind == METRIC_LATENCY || (*metric)->kind == METRIC_SERVICE;
    if (takes_percent != (threshold->percentile > 0))
        return refuse(complaint,
                      takes_percent ? "which percentile? write it like %s(99)"
                                    : "%s is no percentile: leave the number away",
                      word);
    for (size_t i = 0; i < sizeof threshold->metric; i++) {
        threshold->metric[i] = (char)tolower((unsigned char)(*metric)->name[i]);
        if (threshold->metric[i] == '\0')
            break;
    }
    return 0;
}

static int parse_one(const struct complaint *complaint, struct threshold *threshold) {
    const char *text = complaint->text;
    const struct threshold_metric *metric = NULL;
    size_t metric_length = strcspn(text, "=!<>");
    const char *rest = read_operator(text + metric_length, &threshold->op);
    char value[THRESHOLD_TEXT];

    if (strlen(text) >= sizeof threshold->text)
        return refuse(complaint, "longer than %zu characters", sizeof threshold->text - 1);
    if (rest == NULL)
        return refuse(complaint,
                      "no operator, which is one of == != < <= > >=; for example " EXAMPLES);
    snprintf(threshold->text, sizeof threshold->text, "%s", text);
    squeeze(value, sizeof value, rest, strlen(rest));
    if (read_metric(complaint, text, metric_length, threshold, &metric) != 0)
        return -1;
    return read_value(complaint, metric, value, threshold);
}

/* The next line, without the spaces around it, into `line`; returns where the one after begins. */
static const char *next_line(const char *text, char *line, size_t size) {
    size_t whole = strcspn(text, "\n");
    const char *from = text + strspn(text, " \t");
    const char *to = text + whole;

    while (to > from && isspace((unsigned char)to[-1]))
        to--;
    snprintf(line, size, "%.*s", (int)(to > from ? to - from : 0), from);
    return text[whole] == '\n' ? text + whole + 1 : text + whole;
}

int threshold_parse(const char *text, struct threshold_list *list, char *why, size_t why_size) {
    char line[2 * THRESHOLD_TEXT];
    const struct complaint complaint = {line, why, why_size};

    memset(list, 0, sizeof *list);
    while (*text != '\0') {
        text = next_line(text, line, sizeof line);
        if (line[0] == '\0')
            return refuse(&complaint, "it is empty; for example " EXAMPLES);
        if (list->count == THRESHOLDS_MAX)
            return refuse(&complaint, "there are at most %d thresholds", THRESHOLDS_MAX);
        if (parse_one(&complaint, &list->items[list->count]) != 0)
            return -1;
        list->count++;
    }
    return 0;
}
