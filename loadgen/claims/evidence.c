/* Prints the evidence of one run. */
#include "evidence.h"

#include "summary_read.h"
#include "table.h"

#include <string.h>

#define LINE 1600

/* "OVERSELL 12, TWIN 80", each with its count. */
static void list_anomalies(const json_t *strategy, char *text, size_t size) {
    const json_t *anomalies = json_object_get(strategy, "anomalies");
    size_t used = strlen(text);

    for (size_t i = 0; i < json_array_size(anomalies) && used < size; i++) {
        const json_t *one = json_array_get(anomalies, i);

        used += (size_t)snprintf(text + used, size - used, "%s %s %lld", i > 0 ? "," : "",
                                 summary_text(one, "name"),
                                 (long long)json_integer_value(json_object_get(one, "count")));
    }
}

static void list_reasons(const json_t *strategy, char *text, size_t size) {
    const json_t *reasons = json_object_get(strategy, "inconclusive_because");
    size_t used = strlen(text);

    for (size_t i = 0; i < json_array_size(reasons) && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "; %s",
                                 json_string_value(json_array_get(reasons, i)));
}

static void print_verdict(const json_t *strategy, size_t indent, size_t width, FILE *to) {
    const json_t *expected = json_object_get(strategy, "as_expected");
    char text[LINE];

    snprintf(text, sizeof text, "%s", summary_text(strategy, "verdict"));
    list_anomalies(strategy, text, sizeof text);
    if (json_is_false(expected))
        snprintf(text + strlen(text), sizeof text - strlen(text), " (expected: %s)",
                 summary_text(strategy, "expected"));
    if (!json_is_true(expected))
        list_reasons(strategy, text, sizeof text);
    snprintf(text + strlen(text), sizeof text - strlen(text), ": %s",
             summary_text(strategy, "sentence"));
    table_print_indented(text, indent, indent + 2, width, to);
}

static void print_threshold(const json_t *threshold, size_t indent, FILE *to) {
    fprintf(to, "%*s%s %s: ", (int)indent, "", summary_text(threshold, "text"),
            json_is_true(json_object_get(threshold, "holds")) ? "holds" : "MISSED");
    fprintf(to, "%.6g\n", json_number_value(json_object_get(threshold, "measured")));
}

static void print_counterexample(const json_t *strategy, size_t indent, size_t width, FILE *to) {
    const json_t *first = json_array_get(json_object_get(strategy, "counterexamples"), 0);
    const json_t *lines = json_object_get(first, "lines");

    for (size_t i = 0; i < json_array_size(lines); i++)
        table_print_indented(json_string_value(json_array_get(lines, i)), indent, indent + 2, width,
                             to);
}

void evidence_print(const json_t *summary, size_t indent, size_t width, FILE *to) {
    const json_t *thresholds = json_object_get(summary, "thresholds");

    for (size_t i = 0; summary_strategy(summary, i) != NULL; i++) {
        print_verdict(summary_strategy(summary, i), indent, width, to);
        print_counterexample(summary_strategy(summary, i), indent + 2, width, to);
    }
    for (size_t i = 0; i < json_array_size(thresholds); i++)
        print_threshold(json_array_get(thresholds, i), indent, to);
}
