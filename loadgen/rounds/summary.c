/* Sums up rounds: adds them up by strategy, holds thresholds and expectations against
 * them, and says what the program is to exit with. */
#include "summary.h"

#include "exit_code.h"

#include <assert.h>
#include <stdlib.h>

static int exit_of_verdicts(const struct summary *summary) {
    int exit_code = EXIT_AS_EXPECTED;

    for (size_t i = 0; i < summary->count; i++) {
        const struct result *result = &summary->results[i];
        enum expect_result expected = expect_hold(result->expectation, &result->verdict);

        if (result->verdict.kind == VERDICT_UNJUDGED)
            continue;
        if (expected == EXPECT_FAILED)
            return EXIT_UNEXPECTED;
        if (expected == EXPECT_OPEN)
            exit_code = EXIT_INCONCLUSIVE;
    }
    return exit_code;
}

/* What is worst comes first: an interrupted run proves nothing, nor do the rounds that were not
 * run, and a threshold counts only when every verdict is as expected. */
static int exit_of(const struct summary *summary) {
    int exit_code = summary->is_interrupted ? EXIT_INTERRUPTED : exit_of_verdicts(summary);

    if (exit_code == EXIT_AS_EXPECTED && summary->is_left_down)
        exit_code = EXIT_INCONCLUSIVE;
    for (size_t i = 0; i < summary->outcome_count && exit_code == EXIT_AS_EXPECTED; i++)
        if (!summary->outcomes[i].holds)
            exit_code = EXIT_THRESHOLD;
    return exit_code;
}

static void hold_thresholds(struct summary *summary) {
    const struct threshold_list *list = &summary->options->threshold_list;

    for (size_t i = 0; i < summary->count; i++)
        for (size_t t = 0; t < list->count; t++) {
            struct threshold_outcome *outcome = &summary->outcomes[summary->outcome_count++];

            outcome->threshold = &list->items[t];
            outcome->result = &summary->results[i];
            outcome->holds =
                result_holds(&summary->results[i], outcome->threshold, &outcome->measured);
        }
}

static int summary_add_up(struct summary *summary) {
    const struct options *options = summary->options;

    for (size_t i = 0; i < options->list.count; i++) {
        struct result *result = &summary->results[summary->count];

        if (result_make(result, summary->rounds, summary->round_count, i,
                        &options->expectations[i]) != 0) {
            result_free(result);
            return -1;
        }
        summary->count += result->count > 0;
    }
    return 0;
}

int summary_make(struct summary *summary, const struct options *options, const struct round *rounds,
                 size_t count) {
    size_t strategies = options->list.count;

    *summary = (struct summary){.options = options, .rounds = rounds, .round_count = count};
    assert(strategies <= STRATEGY_LIST_MAX && options->threshold_list.count <= THRESHOLDS_MAX);
    summary->results = calloc(strategies + 1, sizeof *summary->results);
    summary->outcomes = calloc(strategies * THRESHOLDS_MAX + 1, sizeof *summary->outcomes);
    if (summary->results == NULL || summary->outcomes == NULL || summary_add_up(summary) != 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        summary->is_interrupted = summary->is_interrupted || rounds[i].is_interrupted;
        summary->is_left_down = summary->is_left_down || rounds[i].is_left_down;
    }
    hold_thresholds(summary);
    assert(summary->outcome_count == summary->count * options->threshold_list.count);
    summary->exit_code = exit_of(summary);
    return 0;
}

void summary_free(struct summary *summary) {
    for (size_t i = 0; i < summary->count; i++)
        result_free(&summary->results[i]);
    free(summary->results);
    free(summary->outcomes);
    *summary = (struct summary){.count = 0};
}
