/* Puts the page together: its own markup, style and script, and the data as JSON. */
#include "page.h"

#include "chart.h"
#include "environment.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

extern const char page_html[], page_style[], page_script[];

/* What goes into page.html at a line with the mark `@name@`. */
struct part {
    const char *mark;
    const char *text; /* or NULL for data */
    const json_t *data;
};

#define DATA_FLAGS (JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(9))

/* The parser of HTML looks for `</script` and `<!--` in data, too; JSON can spell `<` otherwise.
 * Everything beyond ASCII is escaped already. */
static int write_escaped(const char *text, size_t size, void *to) {
    for (size_t i = 0; i < size; i++)
        if (text[i] == '<' || text[i] == '>' || text[i] == '&')
            fprintf(to, "\\u%04x", (unsigned)text[i]);
        else
            putc(text[i], to);
    return ferror((FILE *)to) ? -1 : 0;
}

static int write_part(const struct part *part, FILE *to) {
    if (part->text == NULL)
        return json_dump_callback(part->data, write_escaped, to, DATA_FLAGS);
    return fputs(part->text, to) != EOF ? 0 : -1;
}

static const struct part *find_part(const struct part *parts, size_t count, const char *mark,
                                    const char *end) {
    for (size_t i = 0; i < count; i++)
        if ((size_t)(end - mark) == strlen(parts[i].mark) &&
            memcmp(mark, parts[i].mark, strlen(parts[i].mark)) == 0)
            return &parts[i];
    return NULL;
}

/* Copy page.html, and at each `@mark@` the part of that name. */
static int fill_in(const struct part *parts, size_t count, FILE *to) {
    const char *at = page_html, *mark, *end;

    while ((mark = strchr(at, '@')) != NULL && (end = strchr(mark + 1, '@')) != NULL) {
        const struct part *part = find_part(parts, count, mark + 1, end);
        size_t before = (size_t)(mark - at);

        if (part == NULL)
            break;
        if (fwrite(at, 1, before, to) != before || write_part(part, to) != 0)
            return -1;
        at = end + 1;
    }
    return fputs(at, to) != EOF ? 0 : -1;
}

/* ---- size */

static int count_bytes(const char *text, size_t size, void *total) {
    for (size_t i = 0; i < size; i++)
        *(size_t *)total += text[i] == '<' || text[i] == '>' || text[i] == '&' ? 6 : 1;
    return 0;
}

static size_t size_of(const json_t *json) {
    size_t total = 0;

    return json_dump_callback(json, count_bytes, &total, DATA_FLAGS) == 0 ? total : SIZE_MAX;
}

static void thin_out_all(json_t *charts, size_t keep) {
    size_t run, place;
    json_t *of_run, *chart;

    json_array_foreach (charts, run, of_run)
        json_array_foreach (of_run, place, chart)
            chart_thin(chart, keep);
}

/* Half the samples each time: charts are copies, so the run's own stay whole. */
static int fit(json_t *charts, size_t room) {
    for (size_t keep = CHART_POINTS / 2; size_of(charts) > room; keep /= 2) {
        if (keep == 0)
            return json_array_clear(charts);
        thin_out_all(charts, keep);
    }
    return 0;
}

/* ---- writing */

/* The same of each run, by where it is in struct page_run. */
static json_t *collect(const struct page_run *runs, size_t count, size_t offset) {
    json_t *all = json_array();

    for (size_t i = 0; i < count; i++) {
        json_t *const *one = (json_t *const *)(const void *)((const char *)&runs[i] + offset);

        if (json_array_append_new(all, json_deep_copy(*one)) != 0) {
            json_decref(all);
            return NULL;
        }
    }
    return all;
}

int page_write_runs(const struct page_run *runs, size_t count, FILE *to) {
    json_t *summaries = collect(runs, count, offsetof(struct page_run, summary));
    json_t *charts = collect(runs, count, offsetof(struct page_run, charts));
    json_t *environments = collect(runs, count, offsetof(struct page_run, environment));
    size_t fixed = strlen(page_html) + strlen(page_style) + strlen(page_script);
    const struct part parts[] = {{"style", page_style, NULL},
                                 {"summaries", NULL, summaries},
                                 {"environments", NULL, environments},
                                 {"charts", NULL, charts},
                                 {"script", page_script, NULL}};
    int rc = -1;

    if (summaries != NULL && charts != NULL && environments != NULL) {
        fixed += size_of(summaries) + size_of(environments);
        rc = fit(charts, fixed < PAGE_BYTES ? PAGE_BYTES - fixed : 0);
        if (rc == 0)
            rc = fill_in(parts, sizeof parts / sizeof parts[0], to);
    }
    json_decref(summaries);
    json_decref(charts);
    json_decref(environments);
    return rc == 0 && fflush(to) == 0 && !ferror(to) ? 0 : -1;
}

const struct round *page_round(const struct result *result) {
    for (size_t i = 0; i < result->count; i++)
        if (result->rounds[i]->verdict.kind == VERDICT_VIOLATED)
            return result->rounds[i];
    return result->rounds[0];
}

static json_t *charts_of(const struct report *report) {
    json_t *charts = json_array();

    for (size_t i = 0; charts != NULL && i < report->count; i++) {
        json_t *chart = page_round(&report->results[i])->chart;

        if (json_array_append(charts, chart != NULL ? chart : json_null()) != 0) {
            json_decref(charts);
            return NULL;
        }
    }
    return charts;
}

int page_write(const struct report *report, FILE *to) {
    struct page_run run = {.summary = report_summary(report),
                           .charts = charts_of(report),
                           .environment = environment_json(report)};
    int rc = -1;

    if (run.summary != NULL && run.charts != NULL && run.environment != NULL)
        rc = page_write_runs(&run, 1, to);
    json_decref(run.summary);
    json_decref(run.charts);
    json_decref(run.environment);
    return rc;
}
