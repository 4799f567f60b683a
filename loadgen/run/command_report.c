/* loadgen report: writes the page again, of one run or of several on one page. */
#include "chart.h"
#include "complain.h"
#include "file_error.h"
#include "history.h"
#include "json_text.h"
#include "page.h"
#include "run.h"
#include "shell_word.h"
#include "summary_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PATH_SIZE 1100

/* A chart for each strategy of summary.json. The results are in the same order, but the history may
 * have lost some: null stands for these. */
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

/* NULL without memory. */
static json_t *command_report_draw(struct history *history, const json_t *told) {
    struct down down = {.count = 0};
    struct summary judged;
    json_t *charts = NULL;

    for (size_t i = 0; i < history->count; i++)
        if (round_judge(&history->rounds[i], &down) != 0)
            return NULL;
    if (summary_make(&judged, &history->options, history->rounds, history->count) == 0)
        charts = draw_results(&judged, told);
    summary_free(&judged);
    return charts;
}

/* Without its history a run is shown by its summary alone. An exit code. */
static int load_run(const char *folder, struct page_run *run) {
    struct history history;
    struct why why;
    int exit_code = EXIT_AS_EXPECTED;

    run->summary = summary_read(folder, &why);
    if (run->summary == NULL)
        return run_fail(EXIT_NO_INPUT, why.text);
    run->environment = summary_read_environment(folder, &why);
    if (run->environment == NULL)
        run->environment = json_null();
    if (history_load(&history, folder, &why) == 0) {
        run->charts = command_report_draw(&history, run->summary);
        if (run->charts == NULL)
            exit_code = run_fail(EXIT_INTERNAL, "out of memory");
    } else {
        complain("loadgen", "%s; the page has no charts over time", why.text);
        run->charts = json_null();
    }
    history_free(&history);
    return exit_code;
}

/* To --output, which main() has opened, or beside what it was made from. */
static int command_report_write_page(const struct options *options, const struct page_run *runs,
                                     size_t count, FILE *to) {
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

int command_report(const struct options *options, FILE *to) {
    size_t count = (size_t)options->argument_count;
    struct page_run *runs = calloc(count + 1, sizeof *runs);
    int exit_code = runs != NULL ? EXIT_AS_EXPECTED : run_fail(EXIT_INTERNAL, "out of memory");

    if (count > 1 && options->output[0] == '\0') {
        fprintf(stderr, "loadgen: several runs on one page: name the page with -o FILE\n");
        exit_code = EXIT_USAGE;
    }
    for (size_t i = 0; i < count && exit_code == EXIT_AS_EXPECTED; i++)
        exit_code = load_run(options->arguments[i], &runs[i]);
    if (exit_code == EXIT_AS_EXPECTED)
        exit_code = command_report_write_page(options, runs, count, to);
    for (size_t i = 0; runs != NULL && i < count; i++) {
        json_decref(runs[i].summary);
        json_decref(runs[i].charts);
        json_decref(runs[i].environment);
    }
    free(runs);
    return exit_code;
}
