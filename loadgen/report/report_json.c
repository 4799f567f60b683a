/* The report for programs: everything that was measured, with the settings. */
#include "report.h"

#include "iso_time.h"
#include "json_text.h"
#include "option_table.h"
#include "report_json_internal.h"

#include <jansson.h>
#include <string.h>

static json_t *thresholds(const struct report *report) {
    json_t *json = json_array();

    for (size_t i = 0; i < report->outcome_count; i++) {
        const struct threshold_outcome *outcome = &report->outcomes[i];

        json_text_append(&json, json_pack("{s:o, s:o, s:o, s:b}", "text",
                                          json_text(outcome->threshold->text), "strategy",
                                          json_text(outcome->result->item->given), "measured",
                                          json_number(outcome->measured), "holds", outcome->holds));
    }
    return json;
}

static json_t *moment(int64_t us) {
    char text[ISO_TIME];

    return json_string(iso_time(text, us));
}

static json_t *text_or_null(const char *text) {
    return text != NULL ? json_text(text) : json_null();
}

static json_t *strategies(const struct report *report) {
    json_t *json = json_array();

    for (size_t i = 0; i < report->count; i++)
        json_text_append(&json, report_result_json(report, &report->results[i]));
    return json;
}

/* Out of memory anywhere leaves a NULL that json_pack passes on. */
json_t *report_summary(const struct report *report) {
    const struct options *options = report->options;

    return json_pack("{s:i, s:o, s:o, s:o, s:o, s:b, s:o, s:i, s:o, s:o, s:o}", "schema_version",
                     REPORT_SCHEMA, "name", json_text(options->name), "command",
                     text_or_null(options->command_line), "started_at", moment(report->started_us),
                     "ended_at", moment(report->ended_us), "is_interrupted", report->is_interrupted,
                     "folder", text_or_null(report->folder), "exit_code", report->exit_code,
                     "settings", option_summary(options), "thresholds", thresholds(report),
                     "strategies", strategies(report));
}

int report_json(const struct report *report, FILE *to) {
    json_t *json = report_summary(report);
    int rc = json_dumpf(json, to, JSON_INDENT(2) | JSON_REAL_PRECISION(9));

    json_decref(json);
    if (rc != 0)
        return -1;
    fputc('\n', to);
    return fflush(to) == 0 && !ferror(to) ? 0 : -1;
}
