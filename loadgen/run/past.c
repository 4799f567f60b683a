/* The commands on results of earlier runs: check, diff, report and export. */
#include "chart.h"
#include "diff.h"
#include "file_error.h"
#include "history.h"
#include "jepsen.h"
#include "json_text.h"
#include "page.h"
#include "report.h"
#include "run.h"
#include "shell_word.h"
#include "summary_json.h"
#include "summary_read.h"

#include <assert.h>
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

/* Returns 0, or -1 without memory; call summary_free() either way. */
static int judge_again(struct history *history, struct summary *summary) {
    struct down down = {.count = 0};

    *summary = (struct summary){.count = 0};
    for (size_t i = 0; i < history->count; i++)
        if (round_judge(&history->rounds[i], &down) != 0)
            return -1;
    return summary_make(summary, &history->options, history->rounds, history->count);
}

/* ---- loadgen check: judges the history of an earlier run again */

/* ---- differences from the verdict of the run itself */

/* The part of summary.json about the strategy of this result, or NULL. */
static const json_t *past_find_strategy(const json_t *before, const struct result *result) {
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
                before[0] != '\0' ? before : "no verdict for it");
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

/* Prints the strategies that the history has lost, for example by a full disk. */
static size_t print_missing(const struct summary *summary, const json_t *before) {
    size_t missing = 0;

    for (size_t i = 0; summary_strategy(before, i) != NULL; i++) {
        const char *given = summary_given(before, i);
        size_t at = 0;

        while (at < summary->count && strcmp(summary->results[at].item->given, given) != 0)
            at++;
        if (given[0] == '\0' || at < summary->count)
            continue;
        fprintf(stderr, "loadgen: summary.json has %s, but the history has no whole round of it\n",
                given);
        missing++;
    }
    return missing;
}

/* Prints to stderr, so that a report in JSON stays JSON. */
static void past_compare(const struct summary *summary, const char *folder) {
    struct why why;
    json_t *before = summary_read(folder, &why);
    size_t differences = 0;

    if (before == NULL) {
        complain("loadgen", "the verdicts cannot be compared with summary.json: %s", why.text);
        return;
    }
    for (size_t i = 0; i < summary->count; i++)
        differences += print_differences(&summary->results[i],
                                         past_find_strategy(before, &summary->results[i]));
    differences += print_missing(summary, before);
    if (differences == 0)
        fprintf(stderr, "loadgen: the same verdicts and counts as in summary.json\n");
    json_decref(before);
}

/* ---- judging */

/* Rounds are missing, and the last one has no reason for it: the run was killed, or lost them. */
static bool is_short(const struct history *history) {
    const struct options *options = &history->options;
    const struct round *last = &history->rounds[history->count - 1];

    assert(history->count > 0);
    return history->count < options->list.count * (size_t)options->repeat &&
           !last->is_interrupted && !last->is_aborted && !last->is_left_down;
}

/* The environment is that of the run, not of this check. */
static int check_ci_files(const struct summary *summary, const char *folder, int exit_code,
                          struct ci_files *ci_files) {
    struct summary told = *summary;
    struct why why;
    json_t *environment = summary_read_environment(folder, &why);

    told.exit_code = exit_code;
    if (ci_files_write(ci_files, &told, environment, &why) != 0)
        exit_code = run_fail(EXIT_INTERNAL, why.text);
    json_decref(environment);
    return exit_code;
}

static int report_history(struct history *history, const char *folder, FILE *to,
                          struct ci_files *ci_files) {
    struct summary summary;
    int exit_code;

    if (judge_again(history, &summary) != 0) {
        summary_free(&summary);
        return run_fail(EXIT_INTERNAL, "out of memory");
    }
    summary.started_us = history->started_us;
    summary.ended_us = history->rounds[history->count - 1].ended_us;
    summary.folder = history->is_file ? NULL : folder;
    if (is_short(history) && summary.exit_code == EXIT_AS_EXPECTED)
        summary.exit_code = EXIT_INCONCLUSIVE;
    exit_code = summary.exit_code;
    if (report_print(&summary, to) != 0)
        exit_code = run_fail(EXIT_INTERNAL, "the report could not be written");
    exit_code = check_ci_files(&summary, folder, exit_code, ci_files);
    if (!history->is_file)
        past_compare(&summary, folder);
    summary_free(&summary);
    return exit_code;
}

static int check_history(struct history *history, const char *folder, FILE *to,
                         struct ci_files *ci_files) {
    const char *file = history->is_file ? "" : "/history.ndjson";

    if (history->is_cut)
        complain("loadgen", "%s%s is cut: its last round is not judged", folder, file);
    if (history->count == 0)
        return run_fail(EXIT_NO_INPUT, "the history has no finished round");
    if (is_short(history))
        complain("loadgen", "%s%s has %zu of %zu rounds", folder, file, history->count,
                 history->options.list.count * (size_t)history->options.repeat);
    return report_history(history, folder, to, ci_files);
}

static int past_check(const struct options *options, FILE *to, struct ci_files *ci_files) {
    const char *folder = options->arguments[0];
    struct history history;
    struct why why;
    int exit_code;

    if (history_load(&history, folder, &why) == 0) {
        option_lend(&history.options, options);
        exit_code = check_history(&history, folder, to, ci_files);
    } else {
        exit_code = run_fail(EXIT_NO_INPUT, why.text);
    }
    history_free(&history);
    return exit_code;
}

/* ---- loadgen diff: compares two runs by their results folders */

struct side {
    const char *folder;
    json_t *summary, *environment;
};

static int past_fail(int exit_code, const char *why) {
    complain("loadgen", "diff: %s", why);
    return exit_code;
}

static int check_version(const struct side *side) {
    const json_t *version = json_object_get(side->summary, "schema_version");
    struct why why;

    if (json_integer_value(version) == SUMMARY_SCHEMA)
        return 0;
    if (json_is_integer(version))
        why_set(&why,
                "%s/summary.json has schema_version %lld, and this "
                "loadgen reads %d: run it again",
                side->folder, (long long)json_integer_value(version), SUMMARY_SCHEMA);
    else
        why_set(&why, "%s/summary.json is not the summary of a run", side->folder);
    return past_fail(EXIT_NO_INPUT, why.text);
}

/* Without a usable env.json the rest is still compared. */
static int open_side(struct side *side, const char *folder) {
    struct why why;

    side->folder = folder;
    side->summary = summary_read(folder, &why);
    if (side->summary == NULL)
        return past_fail(EXIT_NO_INPUT, why.text);
    side->environment = summary_read_environment(folder, &why);
    if (why.text[0] != '\0')
        complain("loadgen", "diff: the machines are not compared: %s", why.text);
    return check_version(side);
}

static int print_diff(const struct options *options, const json_t *diff,
                      const struct limit_outcomes *limits, FILE *to) {
    const char *const *folders = (const char *const *)options->arguments;

    if (strcmp(options->output_format, "json") == 0)
        return json_text_print(json_deep_copy(diff), to);
    diff_print(diff, folders[0], folders[1], limits, to);
    return fflush(to) == 0 && !ferror(to) ? 0 : -1;
}

/* Returns the exit code of the diff, or EXIT_INTERNAL if a file could not be written. */
static int tell_diff(const struct options *options, const json_t *diff,
                     const struct limit_outcomes *limits, FILE *to, struct ci_files *ci_files) {
    const char *const *folders = (const char *const *)options->arguments, *meaning;
    int exit_code = diff_exit_code(diff, limits, &meaning);
    struct why why;

    if (print_diff(options, diff, limits, to) != 0) {
        complain("loadgen", "diff: the output could not be written: %s", file_error(errno));
        exit_code = EXIT_INTERNAL;
    }
    if (ci_files->markdown == NULL)
        return exit_code;
    diff_print_markdown(diff, folders[0], folders[1], limits, ci_files->markdown);
    if (ci_files_end_markdown(ci_files, &why) != 0)
        exit_code = past_fail(EXIT_INTERNAL, why.text);
    return exit_code;
}

static int compare_sides(const struct options *options, const struct side *a, const struct side *b,
                         FILE *to, struct ci_files *ci_files) {
    json_t *diff = diff_make(a->summary, b->summary, a->environment, b->environment);
    struct limit_outcomes limits = {.count = 0};
    int exit_code;
    struct why why;

    if (diff != NULL && json_array_size(json_object_get(diff, "strategies")) == 0) {
        exit_code = past_fail(EXIT_USAGE, "the runs have no strategy in common");
    } else if (limit_outcomes_make(&limits, &options->limit_list, a->summary, b->summary, &why) !=
               0) {
        exit_code = past_fail(limits.items != NULL ? EXIT_NO_INPUT : EXIT_INTERNAL, why.text);
    } else {
        json_text_set(&diff, "limits", limit_outcomes_json(&limits));
        exit_code = diff != NULL ? tell_diff(options, diff, &limits, to, ci_files)
                                 : past_fail(EXIT_INTERNAL, "out of memory");
    }
    limit_outcomes_free(&limits);
    json_decref(diff);
    return exit_code;
}

static int past_diff(const struct options *options, FILE *to, struct ci_files *ci_files) {
    struct side a = {NULL, NULL, NULL}, b = {NULL, NULL, NULL};
    int exit_code = open_side(&a, options->arguments[0]);

    if (exit_code == 0)
        exit_code = open_side(&b, options->arguments[1]);
    if (exit_code == 0)
        exit_code = compare_sides(options, &a, &b, to, ci_files);
    json_decref(a.summary);
    json_decref(a.environment);
    json_decref(b.summary);
    json_decref(b.environment);
    return exit_code;
}

/* ---- loadgen report: writes the page again, of one run or of several on one page */

#define PATH_SIZE 1100

/* Makes a chart for each strategy of summary.json. The results have the same order, but the history
 * may have lost some; null stands for those. */
static json_t *draw_results(const struct summary *judged, const json_t *told) {
    json_t *charts = json_array();
    size_t next = 0;

    for (size_t i = 0; summary_strategy(told, i) != NULL; i++) {
        const struct result *result = &judged->results[next];
        bool is_there =
            next < judged->count && strcmp(result->item->given, summary_given(told, i)) == 0;

        json_text_append(&charts, is_there ? chart_make(page_round(result)) : json_null());
        next += is_there;
    }
    return charts;
}

/* Without its history the page shows only the summary of a run. Returns an exit code. */
static int load_run(const char *folder, struct page_run *run) {
    struct history history;
    struct summary judged = {.count = 0};
    struct why why;
    int exit_code = EXIT_AS_EXPECTED;

    run->summary = summary_read(folder, &why);
    if (run->summary == NULL)
        return run_fail(EXIT_NO_INPUT, why.text);
    run->environment = summary_read_environment(folder, &why);
    if (run->environment == NULL)
        run->environment = json_null();
    if (history_load(&history, folder, &why) == 0) {
        if (judge_again(&history, &judged) == 0)
            run->charts = draw_results(&judged, run->summary);
        if (run->charts == NULL)
            exit_code = run_fail(EXIT_INTERNAL, "out of memory");
    } else {
        complain("loadgen", "%s; the page has no charts over time", why.text);
        run->charts = json_null();
    }
    summary_free(&judged);
    history_free(&history);
    return exit_code;
}

/* Writes to --output, which main() has opened, or into the folder of the run. */
static int past_write_page(const struct options *options, const struct page_run *runs, size_t count,
                           FILE *to) {
    char path[PATH_SIZE];
    int rc;

    if (options->output[0] != '\0')
        return page_write_runs(runs, count, to) == 0 ? EXIT_AS_EXPECTED
                                                     : run_fail(EXIT_INTERNAL, file_error(errno));
    snprintf(path, sizeof path, "%s/report.html", options->arguments[0]);
    to = fopen(path, "we");
    rc = to != NULL ? page_write_runs(runs, count, to) : -1;
    if (to != NULL && fclose(to) != 0)
        rc = -1;
    if (rc != 0) {
        complain("loadgen", "%s: %s", path, file_error(errno));
        return EXIT_INTERNAL;
    }
    shell_word_print(path, strlen(path), stdout);
    putchar('\n');
    return EXIT_AS_EXPECTED;
}

static int past_report(const struct options *options, FILE *to) {
    size_t count = (size_t)options->argument_count;
    struct page_run *runs = calloc(count + 1, sizeof *runs);
    int exit_code = runs != NULL ? EXIT_AS_EXPECTED : run_fail(EXIT_INTERNAL, "out of memory");

    if (count > 1 && options->output[0] == '\0') {
        fprintf(stderr, "loadgen: several runs on one page need a name for the page: -o FILE\n");
        exit_code = EXIT_USAGE;
    }
    for (size_t i = 0; i < count && exit_code == EXIT_AS_EXPECTED; i++)
        exit_code = load_run(options->arguments[i], &runs[i]);
    if (exit_code == EXIT_AS_EXPECTED)
        exit_code = past_write_page(options, runs, count, to);
    for (size_t i = 0; runs != NULL && i < count; i++) {
        json_decref(runs[i].summary);
        json_decref(runs[i].charts);
        json_decref(runs[i].environment);
    }
    free(runs);
    return exit_code;
}

/* ---- loadgen export: writes a round for a checker of other people */

/* The round of --round, or NULL with the reason in `why`. */
static const struct round *find_round(const struct history *history, int64_t number,
                                      struct why *why) {
    if (history->count == 0)
        (void)why_set(why, "the history has no finished round");
    else if (number == 0 && history->count > 1)
        (void)why_set(why, "the history has %zu rounds: name one with --round", history->count);
    else if (number > (int64_t)history->count)
        (void)why_set(why, "the history has %zu round%s", history->count,
                      history->count == 1 ? "" : "s");
    else
        return &history->rounds[number > 0 ? number - 1 : 0];
    return NULL;
}

static int past_export(const struct options *options, FILE *to) {
    const bool is_json = strcmp(options->output_format, "json") == 0;
    const struct round *round = NULL;
    struct history history;
    int exit_code = EXIT_NO_INPUT;
    struct why why;

    if (history_load(&history, options->arguments[0], &why) == 0)
        round = find_round(&history, options->round, &why);
    if (round == NULL)
        (void)run_fail(EXIT_NO_INPUT, why.text);
    else if (jepsen_write(round, is_json ? JEPSEN_JSON : JEPSEN_EDN, to) != 0)
        exit_code = run_fail(EXIT_INTERNAL, "the output could not be written");
    else
        exit_code = EXIT_AS_EXPECTED;
    history_free(&history);
    return exit_code;
}

int past(const struct options *options, FILE *to, struct ci_files *ci_files) {
    /* Large arrays go back to the kernel when they are freed. By default malloc() learns to keep
     * those of up to 32 MB. */
    (void)mallopt(M_MMAP_THRESHOLD, 1 << 20);
    if (options->command == COMMAND_CHECK)
        return past_check(options, to, ci_files);
    if (options->command == COMMAND_EXPORT)
        return past_export(options, to);
    return options->command == COMMAND_DIFF ? past_diff(options, to, ci_files)
                                            : past_report(options, to);
}
