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

static void evidence_print_verdict(const json_t *strategy, size_t indent, size_t width, FILE *to) {
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

static const json_t *counterexample(const json_t *strategy, size_t i) {
    return json_array_get(json_object_get(strategy, "counterexamples"), i);
}

/* The chain of a lock that was freed by another is worth more than the first of the others. */
static const json_t *best_counterexample(const json_t *strategy) {
    for (size_t i = 0; counterexample(strategy, i) != NULL; i++)
        if (json_is_true(json_object_get(counterexample(strategy, i), "has_chain")))
            return counterexample(strategy, i);
    return counterexample(strategy, 0);
}

static void evidence_print_counterexample(const json_t *strategy, size_t indent, size_t width,
                                          FILE *to) {
    const json_t *lines = json_object_get(best_counterexample(strategy), "lines");

    for (size_t i = 0; i < json_array_size(lines); i++)
        table_print_indented(json_string_value(json_array_get(lines, i)), indent, indent + 2, width,
                             to);
}

static long long in_time(const json_t *firing) {
    return (long long)json_integer_value(json_object_get(firing, "in_time"));
}

/* "after-read:delay=1s@1 struck at 0.017 s: inventory-1" */
static void print_firing(const json_t *firing, size_t indent, size_t width, FILE *to) {
    const json_t *first = json_object_get(firing, "first");
    const char *armed = summary_text(firing, "armed"), *who = summary_text(first, "who");
    const double at_s = json_number_value(json_object_get(first, "at_ms")) / 1e3;
    char text[LINE];

    if (in_time(firing) == 0)
        snprintf(text, sizeof text, "%s did not strike before the end of the sale", armed);
    else if (in_time(firing) == 1)
        snprintf(text, sizeof text, "%s struck at %.3f s: %s", armed, at_s, who);
    else
        snprintf(text, sizeof text, "%s struck %lld times, first at %.3f s: %s", armed,
                 in_time(firing), at_s, who);
    table_print_indented(text, indent, indent + 2, width, to);
}

static void evidence_print_firings(const json_t *strategy, size_t indent, size_t width, FILE *to) {
    const json_t *firings = json_object_get(strategy, "firings");

    for (size_t i = 0; i < json_array_size(firings); i++)
        print_firing(json_array_get(firings, i), indent, width, to);
}

void evidence_print(const json_t *summary, size_t indent, size_t width, FILE *to) {
    const json_t *thresholds = json_object_get(summary, "thresholds");

    for (size_t i = 0; summary_strategy(summary, i) != NULL; i++) {
        evidence_print_verdict(summary_strategy(summary, i), indent, width, to);
        evidence_print_counterexample(summary_strategy(summary, i), indent + 2, width, to);
        evidence_print_firings(summary_strategy(summary, i), indent, width, to);
    }
    for (size_t i = 0; i < json_array_size(thresholds); i++)
        print_threshold(json_array_get(thresholds, i), indent, to);
}

/* ---- what a claim wants beside the verdicts */

bool evidence_has_struck(const json_t *summary) {
    const json_t *strategy;

    for (size_t i = 0; (strategy = summary_strategy(summary, i)) != NULL; i++) {
        const json_t *firings = json_object_get(strategy, "firings");

        for (size_t j = 0; j < json_array_size(firings); j++)
            if (in_time(json_array_get(firings, j)) == 0)
                return false;
    }
    return true;
}

/* With the one that freed it, there are three orders. */
static bool is_chain(const json_t *example) {
    return json_is_true(json_object_get(example, "has_chain")) &&
           json_array_size(json_object_get(example, "order_ids")) > 2;
}

bool evidence_has_chain(const json_t *summary) {
    const json_t *strategy;

    for (size_t i = 0; (strategy = summary_strategy(summary, i)) != NULL; i++)
        for (size_t j = 0; counterexample(strategy, j) != NULL; j++)
            if (is_chain(counterexample(strategy, j)))
                return true;
    return false;
}
