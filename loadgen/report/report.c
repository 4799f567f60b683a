/* Makes a report of rounds: adds them up by strategy, holds thresholds and expectations against
 * them, and says what the program is to exit with. */
#include "report.h"

#include "exit_code.h"

#include <stdlib.h>
#include <string.h>

static int exit_of_verdicts(const struct report *report) {
    int exit_code = EXIT_AS_EXPECTED;

    for (size_t i = 0; i < report->count; i++) {
        const struct result *result = &report->results[i];

        if (result->verdict.kind == VERDICT_UNJUDGED)
            continue;
        switch (expect_hold(result->expectation, &result->verdict)) {
        case EXPECT_MET:
            break;
        case EXPECT_FAILED:
            return EXIT_UNEXPECTED;
        case EXPECT_OPEN:
            exit_code = EXIT_INCONCLUSIVE;
        }
    }
    return exit_code;
}

static int exit_of(const struct report *report) {
    int exit_code = report->is_interrupted ? EXIT_INTERRUPTED : exit_of_verdicts(report);

    for (size_t i = 0; i < report->outcome_count && exit_code == EXIT_AS_EXPECTED; i++)
        if (!report->outcomes[i].holds)
            exit_code = EXIT_THRESHOLD;
    return exit_code;
}

static void hold_thresholds(struct report *report) {
    const struct threshold_list *list = &report->options->threshold_list;

    for (size_t i = 0; i < report->count; i++)
        for (size_t t = 0; t < list->count; t++) {
            struct threshold_outcome *outcome = &report->outcomes[report->outcome_count++];

            outcome->threshold = &list->items[t];
            outcome->result = &report->results[i];
            outcome->holds =
                result_holds(&report->results[i], outcome->threshold, &outcome->measured);
        }
}

static int add_up(struct report *report) {
    const struct options *options = report->options;

    for (size_t i = 0; i < options->list.count; i++) {
        struct result *result = &report->results[report->count];

        if (result_make(result, report->rounds, report->round_count, i,
                        &options->expectations[i]) != 0) {
            result_free(result);
            return -1;
        }
        report->count += result->count > 0;
    }
    return 0;
}

int report_make(struct report *report, const struct options *options, const struct round *rounds,
                size_t count) {
    size_t strategies = options->list.count;

    *report = (struct report){.options = options, .rounds = rounds, .round_count = count};
    report->results = calloc(strategies + 1, sizeof *report->results);
    report->outcomes = calloc(strategies * THRESHOLDS_MAX + 1, sizeof *report->outcomes);
    if (report->results == NULL || report->outcomes == NULL || add_up(report) != 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        report->is_interrupted = report->is_interrupted || rounds[i].is_interrupted;
    hold_thresholds(report);
    report->exit_code = exit_of(report);
    return 0;
}

void report_free(struct report *report) {
    for (size_t i = 0; report->results != NULL && i < report->count; i++)
        result_free(&report->results[i]);
    free(report->results);
    free(report->outcomes);
    report->results = NULL;
    report->outcomes = NULL;
    report->count = report->outcome_count = 0;
}

int report_print(const struct report *report, FILE *to) {
    return strcmp(report->options->output_format, "json") == 0 ? report_json(report, to)
                                                               : report_text(report, to);
}
