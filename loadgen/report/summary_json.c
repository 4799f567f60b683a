/* The report for programs: everything that was measured, with the settings. */
#include "summary_json.h"

#include "json_text.h"
#include "options.h"

#include <math.h>

static json_t *thresholds(const struct summary *summary) {
    json_t *json = json_array();

    for (size_t i = 0; i < summary->outcome_count; i++) {
        const struct threshold_outcome *outcome = &summary->outcomes[i];

        json_text_append(
            &json,
            JSON_TEXT_OBJECT({"text", json_text(outcome->threshold->text)},
                             {"strategy", json_text(outcome->result->item->given)},
                             {"measured", isfinite(outcome->measured) ? json_real(outcome->measured)
                                                                      : json_null()},
                             {"holds", json_boolean(outcome->holds)}));
    }
    return json;
}

static json_t *text_or_null(const char *text) {
    return text != NULL ? json_text(text) : json_null();
}

static json_t *strategies(const struct summary *summary) {
    json_t *json = json_array();

    for (size_t i = 0; i < summary->count; i++)
        json_text_append(&json, summary_result_json(summary, &summary->results[i]));
    return json;
}

json_t *summary_json(const struct summary *summary) {
    const struct options *options = summary->options;

    return JSON_TEXT_OBJECT(
        {"schema_version", json_integer(SUMMARY_SCHEMA)}, {"name", json_text(options->name)},
        {"command", text_or_null(options->command_line)},
        {"started_at", json_text_time(summary->started_us)},
        {"ended_at", json_text_time(summary->ended_us)},
        {"is_interrupted", json_boolean(summary->is_interrupted)},
        {"folder", text_or_null(summary->folder)}, {"exit_code", json_integer(summary->exit_code)},
        {"settings", option_summary(options)}, {"thresholds", thresholds(summary)},
        {"strategies", strategies(summary)});
}

int summary_json_write(const struct summary *summary, FILE *to) {
    return json_text_print(summary_json(summary), to);
}
