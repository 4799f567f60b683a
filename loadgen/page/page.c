/* Builds the page from its markup, style and script, and the data as JSON. */
#include "page.h"

#include "chart.h"
#include "environment.h"
#include "json_text.h"
#include "summary_json.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

extern const char page_html[], page_style[], page_script[];

/* Replaces the mark `@name@` in page.html. */
struct part {
    const char *mark;
    const char *text; /* NULL: `data` instead */
    const json_t *data;
};

#define DATA_FLAGS (JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(9))

/* An HTML parser finds `</script` and `<!--` in data, too, so JSON escapes `<`. DATA_FLAGS already
 * escape everything beyond ASCII. */
static bool needs_escape(char byte) {
    return byte == '<' || byte == '>' || byte == '&';
}

static int write_escaped(const char *text, size_t size, void *to) {
    for (size_t i = 0; i < size; i++)
        if (needs_escape(text[i]))
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

/* Copies page.html with a part in place of each mark. Marks and parts have the same order. */
static int fill_in(const struct part *parts, size_t count, FILE *to) {
    const char *at = page_html;

    for (size_t i = 0; i < count; i++) {
        const char *mark = strstr(at, parts[i].mark);

        assert(mark != NULL);
        if (fprintf(to, "%.*s", (int)(mark - at), at) < 0 || write_part(&parts[i], to) != 0)
            return -1;
        at = mark + strlen(parts[i].mark);
    }
    return fputs(at, to) != EOF ? 0 : -1;
}

/* ---- size */

static int count_bytes(const char *text, size_t size, void *total) {
    for (size_t i = 0; i < size; i++)
        *(size_t *)total += needs_escape(text[i]) ? strlen("\\u003c") : 1;
    return 0;
}

static size_t size_of(const json_t *json) {
    size_t total = 0;

    return json_dump_callback(json, count_bytes, &total, DATA_FLAGS) == 0 ? total : SIZE_MAX;
}

/* Halves the samples until the charts fit. They are copies: the run's own charts stay whole. */
static int page_fit(json_t *charts, size_t room) {
    size_t run, place;
    json_t *of_run, *chart;

    for (size_t keep = CHART_POINTS / 2; size_of(charts) > room; keep /= 2) {
        if (keep == 0)
            return json_array_clear(charts);
        json_array_foreach (charts, run, of_run)
            json_array_foreach (of_run, place, chart)
                chart_thin(chart, keep);
    }
    return 0;
}

/* ---- writing */

/* All anomalies with their meanings. */
static json_t *anomalies_json(void) {
    json_t *json = json_array();

    for (int i = 0; i < ANOMALY_COUNT; i++)
        json_text_append(&json,
                         JSON_TEXT_OBJECT({"name", json_string(anomaly_name((enum anomaly)i))},
                                          {"text", json_string(anomaly_text((enum anomaly)i))}));
    return json;
}

int page_write_runs(const struct page_run *runs, size_t count, FILE *to) {
    json_t *summaries = json_array(), *environments = json_array(), *charts = json_array();
    json_t *anomalies = anomalies_json();
    int rc = -1;

    for (size_t i = 0; i < count; i++) {
        json_text_append(&summaries, json_incref(runs[i].summary));
        json_text_append(&environments, json_incref(runs[i].environment));
        json_text_append(&charts, json_deep_copy(runs[i].charts));
    }
    if (anomalies != NULL && summaries != NULL && environments != NULL && charts != NULL) {
        const struct part parts[] = {
            {"@style@", page_style, NULL},    {"@anomalies@", NULL, anomalies},
            {"@summaries@", NULL, summaries}, {"@environments@", NULL, environments},
            {"@charts@", NULL, charts},       {"@script@", page_script, NULL}};
        size_t fixed = strlen(page_html) + strlen(page_style) + strlen(page_script) +
                       size_of(anomalies) + size_of(summaries) + size_of(environments);

        rc = page_fit(charts, fixed < PAGE_BYTES ? PAGE_BYTES - fixed : 0);
        if (rc == 0)
            rc = fill_in(parts, sizeof parts / sizeof parts[0], to);
    }
    json_decref(anomalies);
    json_decref(summaries);
    json_decref(environments);
    json_decref(charts);
    return rc == 0 && fflush(to) == 0 && !ferror(to) ? 0 : -1;
}

const struct round *page_round(const struct result *result) {
    assert(result->count > 0);
    for (size_t i = 0; i < result->count; i++)
        if (result->rounds[i]->verdict.kind == VERDICT_VIOLATED)
            return result->rounds[i];
    return result->rounds[0];
}

int page_write(const struct summary *summary, FILE *to) {
    struct page_run run = {.summary = summary_json(summary),
                           .charts = json_array(),
                           .environment = environment_json(summary)};
    int rc = -1;

    for (size_t i = 0; i < summary->count; i++) {
        json_t *chart = page_round(&summary->results[i])->chart;

        json_text_append(&run.charts, chart != NULL ? json_incref(chart) : json_null());
    }
    if (run.summary != NULL && run.charts != NULL && run.environment != NULL)
        rc = page_write_runs(&run, 1, to);
    json_decref(run.summary);
    json_decref(run.charts);
    json_decref(run.environment);
    return rc;
}
