/* loadgen check: judges the history of an earlier run again. */
#include "complain.h"
#include "history.h"
#include "report.h"
#include "run.h"
#include "summary_read.h"

#include <assert.h>
#include <string.h>

/* ---- where it differs from what the run itself had said */

/* The part of summary.json about the strategy of this result; NULL when it has none. */
static const json_t *command_check_find_strategy(const json_t *before,
                                                 const struct result *result) {
    const json_t *strategy;

    for (size_t i = 0; (strategy = summary_strategy(before, i)) != NULL; i++)
        if (strcmp(summary_given(before, i), result->item->given) == 0)
            return strategy;
    return NULL;
}

static size_t print_differences(const struct result *result, const json_t *strategy) {
    const char *before = summary_text(strategy, "verdict");
    const char *now = verdict_kind_name(result->verdict.kind);
    size_t differences = 0;

    if (strcmp(before, now) != 0) {
        fprintf(stderr, "loadgen: %s is %s; summary.json has %s\n", result->item->given, now,
                before[0] != '\0' ? before : "no verdict of it");
        differences++;
    }
    for (int i = 0; i < ANOMALY_COUNT; i++) {
        const json_int_t count = summary_anomaly_count(strategy, anomaly_name((enum anomaly)i));

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
static size_t print_missing(const struct summary *summary, const json_t *before) {
    size_t missing = 0;

    for (size_t i = 0; summary_strategy(before, i) != NULL; i++) {
        const char *given = summary_given(before, i);
        size_t at = 0;

        while (at < summary->count && strcmp(summary->results[at].item->given, given) != 0)
            at++;
        if (given[0] == '\0' || at < summary->count)
            continue;
        fprintf(stderr, "loadgen: summary.json has %s; the history has no whole round of it\n",
                given);
        missing++;
    }
    return missing;
}

/* On stderr, so that a report in JSON stays JSON. */
static void command_check_compare(const struct summary *summary, const char *folder) {
    struct why why;
    json_t *before = summary_read(folder, &why);
    size_t differences = 0;

    if (before == NULL) {
        complain("loadgen", "nothing to compare the verdicts with: %s", why.text);
        return;
    }
    for (size_t i = 0; i < summary->count; i++)
        differences += print_differences(&summary->results[i],
                                         command_check_find_strategy(before, &summary->results[i]));
    differences += print_missing(summary, before);
    if (differences == 0)
        fprintf(stderr, "loadgen: the same verdicts and counts as in summary.json\n");
    json_decref(before);
}

/* ---- judging */

/* What is asked for now, beside what was asked for then. */
static void set_output(struct options *history, const struct options *now) {
    history->output_format = now->output_format;
    history->output = now->output;
    history->program = now->program;
}

/* Fewer rounds than were asked for, and none that says why: the run was killed, or lost them. */
static bool is_short(const struct history *history) {
    const struct options *options = &history->options;
    const struct round *last = &history->rounds[history->count - 1];

    assert(history->count > 0);
    return history->count < options->list.count * (size_t)options->repeat &&
           !last->is_interrupted && !last->is_aborted && !last->is_left_down;
}

static int report_history(struct history *history, const char *folder, FILE *to) {
    struct summary summary;
    int exit_code;

    if (summary_make(&summary, &history->options, history->rounds, history->count) != 0) {
        summary_free(&summary);
        return run_fail(EXIT_INTERNAL, "out of memory");
    }
    summary.started_us = history->started_us;
    summary.ended_us = history->rounds[history->count - 1].ended_us;
    summary.folder = folder;
    if (is_short(history) && summary.exit_code == EXIT_AS_EXPECTED)
        summary.exit_code = EXIT_INCONCLUSIVE;
    exit_code = summary.exit_code;
    if (report_print(&summary, to) != 0)
        exit_code = run_fail(EXIT_INTERNAL, "the report could not be written");
    command_check_compare(&summary, folder);
    summary_free(&summary);
    return exit_code;
}

static int command_check_check(struct history *history, const char *folder, FILE *to) {
    struct down down = {.count = 0};

    if (history->is_cut)
        complain("loadgen", "%s/history.ndjson is cut: its last round is not judged", folder);
    if (history->count == 0)
        return run_fail(EXIT_NO_INPUT, "the history has no finished round");
    if (is_short(history))
        complain("loadgen", "%s/history.ndjson has %zu of %zu rounds", folder, history->count,
                 history->options.list.count * (size_t)history->options.repeat);
    for (size_t i = 0; i < history->count; i++)
        if (round_judge(&history->rounds[i], &down) != 0)
            return run_fail(EXIT_INTERNAL, "out of memory");
    return report_history(history, folder, to);
}

int command_check(const struct options *options, FILE *to) {
    const char *folder = options->arguments[0];
    struct history history;
    struct why why;
    int exit_code;

    if (history_load(&history, folder, &why) == 0) {
        set_output(&history.options, options);
        exit_code = command_check_check(&history, folder, to);
    } else {
        exit_code = run_fail(EXIT_NO_INPUT, why.text);
    }
    history_free(&history);
    return exit_code;
}
