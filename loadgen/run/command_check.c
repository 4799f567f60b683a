/* loadgen check: judges the history of an earlier run again. */
#include "commands.h"

#include "history.h"
#include "report.h"
#include "run.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

#define PATH_MAX_HERE 1100

static int fail(const char *why) {
    fprintf(stderr, "loadgen: %s\n", why);
    return EXIT_INTERNAL;
}

/* ---- where it differs from what the run itself had said */

static json_t *load_summary(const char *folder) {
    char path[PATH_MAX_HERE];
    json_error_t error;
    json_t *summary;

    snprintf(path, sizeof path, "%s/summary.json", folder);
    summary = json_load_file(path, 0, &error);
    if (summary == NULL)
        fprintf(stderr, "loadgen: nothing to compare the verdicts with: %s: %s\n", path,
                error.text);
    return summary;
}

/* The part of summary.json about the strategy of this result. */
static const json_t *find_strategy(const json_t *summary, const struct result *result) {
    const json_t *strategies = json_object_get(summary, "strategies");

    for (size_t i = 0; i < json_array_size(strategies); i++) {
        const json_t *strategy = json_array_get(strategies, i);
        const char *given = json_string_value(json_object_get(strategy, "strategy"));

        if (given != NULL && strcmp(given, result->item->given) == 0)
            return strategy;
    }
    return NULL;
}

static json_int_t count_before(const json_t *strategy, enum anomaly anomaly) {
    const json_t *anomalies = json_object_get(strategy, "anomalies");

    for (size_t i = 0; i < json_array_size(anomalies); i++) {
        const json_t *found = json_array_get(anomalies, i);
        const char *name = json_string_value(json_object_get(found, "name"));

        if (name != NULL && strcmp(name, anomaly_name(anomaly)) == 0)
            return json_integer_value(json_object_get(found, "count"));
    }
    return 0;
}

static size_t print_differences(const struct result *result, const json_t *strategy) {
    const char *before = json_string_value(json_object_get(strategy, "verdict"));
    const char *now = verdict_kind_name(result->verdict.kind);
    size_t differences = 0;

    if (before == NULL || strcmp(before, now) != 0) {
        fprintf(stderr, "loadgen: %s is %s; summary.json has %s\n", result->item->given, now,
                before != NULL ? before : "no verdict of it");
        differences++;
    }
    for (int i = 0; i < ANOMALY_COUNT; i++) {
        const json_int_t count = count_before(strategy, (enum anomaly)i);

        if (count == result->verdict.found[i].count)
            continue;
        fprintf(stderr, "loadgen: %s has %s %lld times; summary.json has %lld\n",
                result->item->given, anomaly_name((enum anomaly)i),
                (long long)result->verdict.found[i].count, (long long)count);
        differences++;
    }
    return differences;
}

/* The strategies that the history lost, such as to a full disk. */
static size_t print_missing(const struct report *report, const json_t *summary) {
    const json_t *strategies = json_object_get(summary, "strategies");
    size_t missing = 0;

    for (size_t i = 0; i < json_array_size(strategies); i++) {
        const char *given =
            json_string_value(json_object_get(json_array_get(strategies, i), "strategy"));
        size_t at = 0;

        while (given != NULL && at < report->count &&
               strcmp(report->results[at].item->given, given) != 0)
            at++;
        if (given == NULL || at < report->count)
            continue;
        fprintf(stderr, "loadgen: summary.json has %s; the history has no whole round of it\n",
                given);
        missing++;
    }
    return missing;
}

/* On stderr, so that a report in JSON stays JSON. */
static void compare(const struct report *report, const char *folder) {
    json_t *summary = load_summary(folder);
    size_t differences = 0;

    if (summary == NULL)
        return;
    for (size_t i = 0; i < report->count; i++)
        differences +=
            print_differences(&report->results[i], find_strategy(summary, &report->results[i]));
    differences += print_missing(report, summary);
    if (differences == 0)
        fprintf(stderr, "loadgen: the same verdicts and counts as in summary.json\n");
    json_decref(summary);
}

/* ---- judging */

/* What is asked for now, beside what was asked for then. */
static void set_output(struct options *history, const struct options *now) {
    history->output_format = now->output_format;
    history->results = now->results;
    history->output = now->output;
}

/* Fewer rounds than were asked for, and none that says why: the run was killed, or lost them. */
static bool is_short(const struct history *history) {
    const struct options *options = &history->options;
    const struct round *last = &history->rounds[history->count - 1];

    return history->count < options->list.count * (size_t)options->repeat &&
           !last->is_interrupted && !last->is_aborted;
}

static int report_history(struct history *history, const char *folder, FILE *to) {
    struct report report;
    int exit_code = EXIT_INTERNAL;

    if (report_make(&report, &history->options, history->rounds, history->count) != 0) {
        report_free(&report);
        return fail("out of memory");
    }
    report.started_us = history->started_us;
    report.ended_us = history->rounds[history->count - 1].ended_us;
    report.folder = folder;
    if (is_short(history) && report.exit_code == EXIT_AS_EXPECTED)
        report.exit_code = EXIT_INCONCLUSIVE;
    exit_code = report.exit_code;
    if (report_print(&report, to) != 0)
        exit_code = fail("the report could not be written");
    compare(&report, folder);
    report_free(&report);
    return exit_code;
}

static int check(struct history *history, const char *folder, FILE *to) {
    if (history->is_cut)
        fprintf(stderr, "loadgen: %s/history.ndjson is cut: its last round is not judged\n",
                folder);
    if (history->count == 0)
        return fail("the history has no finished round");
    if (is_short(history))
        fprintf(stderr, "loadgen: %s/history.ndjson has %zu of %zu rounds\n", folder,
                history->count, history->options.list.count * (size_t)history->options.repeat);
    for (size_t i = 0; i < history->count; i++)
        if (round_judge(&history->rounds[i]) != 0)
            return fail("out of memory");
    return report_history(history, folder, to);
}

int command_check(const struct options *options, FILE *to) {
    const char *folder = options->arguments[0];
    struct history history;
    char why[512];
    int exit_code;

    if (history_load(&history, folder, why, sizeof why) == 0) {
        set_output(&history.options, options);
        exit_code = check(&history, folder, to);
    } else {
        exit_code = fail(why);
    }
    history_free(&history);
    return exit_code;
}
