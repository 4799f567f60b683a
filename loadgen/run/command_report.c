/* loadgen report: writes the page again, of one run or of several on one page. */
#include "commands.h"

#include "chart.h"
#include "history.h"
#include "page.h"
#include "run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PATH_SIZE 1100
#define WHY_SIZE  1280

static int fail(const char *why) {
    fprintf(stderr, "loadgen: %s\n", why);
    return EXIT_INTERNAL;
}

/* A file of the folder, or NULL and it has been told unless it is `optional`. */
static json_t *load(const char *folder, const char *name, bool is_optional) {
    char path[PATH_SIZE];
    json_error_t error;
    json_t *json;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    json = json_load_file(path, 0, &error);
    if (json == NULL && !is_optional)
        fprintf(stderr, "loadgen: %s: %s\n", path, error.text);
    return json;
}

/* The chart of the round to draw for the strategy `given`: as page_round() chooses it. */
static json_t *draw(struct history *history, const char *given) {
    struct round *chosen = NULL;

    for (size_t i = 0; i < history->count; i++) {
        struct round *round = &history->rounds[i];

        if (strcmp(round->item->given, given) != 0)
            continue;
        if (round_judge(round) != 0)
            return NULL;
        if (chosen == NULL ||
            (chosen->verdict.kind != VERDICT_VIOLATED && round->verdict.kind == VERDICT_VIOLATED))
            chosen = round;
    }
    return chosen != NULL ? chart_make(chosen) : json_null();
}

static json_t *draw_all(struct history *history, const json_t *summary) {
    const json_t *strategies = json_object_get(summary, "strategies");
    json_t *charts = json_array();

    for (size_t i = 0; i < json_array_size(strategies); i++) {
        const char *given =
            json_string_value(json_object_get(json_array_get(strategies, i), "strategy"));

        if (json_array_append_new(charts, draw(history, given != NULL ? given : "")) != 0) {
            json_decref(charts);
            return NULL;
        }
    }
    return charts;
}

/* Without its history a run is shown by its summary alone. An exit code. */
static int load_run(const char *folder, struct page_run *run) {
    struct history history;
    char why[WHY_SIZE];
    int exit_code = EXIT_AS_EXPECTED;

    run->summary = load(folder, "summary.json", false);
    if (!json_is_object(run->summary))
        return EXIT_USAGE;
    run->environment = load(folder, "env.json", true);
    if (run->environment == NULL)
        run->environment = json_null();
    if (history_load(&history, folder, why, sizeof why) == 0) {
        run->charts = draw_all(&history, run->summary);
        exit_code = run->charts != NULL ? EXIT_AS_EXPECTED : fail("out of memory");
    } else {
        fprintf(stderr, "loadgen: %s; the page has no charts over time\n", why);
        run->charts = json_null();
    }
    history_free(&history);
    return exit_code;
}

/* To --output, which main() has opened, or beside what it was made from. */
static int write_page(const struct options *options, const struct page_run *runs, size_t count,
                      FILE *to) {
    char path[PATH_SIZE];
    int rc;

    if (options->output[0] != '\0')
        return page_write_runs(runs, count, to) == 0 ? EXIT_AS_EXPECTED : fail(strerror(errno));
    snprintf(path, sizeof path, "%s/report.html", options->arguments[0]);
    to = fopen(path, "we");
    rc = to != NULL ? page_write_runs(runs, count, to) : -1;
    if (to != NULL && fclose(to) != 0)
        rc = -1;
    if (rc != 0) {
        fprintf(stderr, "loadgen: %s: %s\n", path, strerror(errno));
        return EXIT_INTERNAL;
    }
    printf("%s\n", path);
    return EXIT_AS_EXPECTED;
}

int command_report(const struct options *options, FILE *to) {
    size_t count = (size_t)options->argument_count;
    struct page_run *runs = calloc(count + 1, sizeof *runs);
    int exit_code = runs != NULL ? EXIT_AS_EXPECTED : fail("out of memory");

    if (count > 1 && options->output[0] == '\0') {
        fprintf(stderr, "loadgen: several runs on one page: name the page with -o FILE\n");
        exit_code = EXIT_USAGE;
    }
    for (size_t i = 0; i < count && exit_code == EXIT_AS_EXPECTED; i++)
        exit_code = load_run(options->arguments[i], &runs[i]);
    if (exit_code == EXIT_AS_EXPECTED)
        exit_code = write_page(options, runs, count, to);
    for (size_t i = 0; runs != NULL && i < count; i++) {
        json_decref(runs[i].summary);
        json_decref(runs[i].charts);
        json_decref(runs[i].environment);
    }
    free(runs);
    return exit_code;
}
