/* The report for programs. report.schema.json describes it. */
#include "json_text.h"
#include "line.h"
#include "report_internal.h"

#define REPORT_SCHEMA_VERSION 1

static void on_line(const char *line, void *data) {
    while (*line == ' ')
        line++;
    json_text_append(data, json_text(line));
}

static json_t *finding_json(const struct report *report, const struct report_row *row,
                            enum oracle_word word) {
    const struct oracle_finding *finding = &row->oracle.findings[word];
    char sentence[PROSE_LINE];
    json_t *lines = json_array();

    if (report_tell(report, row, word, on_line, &lines) != 0) {
        json_decref(lines);
        return NULL;
    }
    return JSON_TEXT_OBJECT(
        {"word", json_text(oracle_word_text(word))},
        {"meaning", json_text(oracle_word_meaning(word))},
        {"count", json_integer((json_int_t)finding->count)},
        {"length_ms", json_ms((double)finding->length_ns)},
        {"text", json_text(prose_finding(word, finding, sentence, sizeof sentence))},
        {"history", lines});
}

static json_t *findings_json(const struct report *report, const struct report_row *row) {
    json_t *findings = json_array();

    for (int word = 0; word < ORACLE_WORD_COUNT; word++)
        if (row->oracle.findings[word].count > 0)
            json_text_append(&findings, finding_json(report, row, (enum oracle_word)word));
    return findings;
}

/* The second fault of a pair, or null. */
static json_t *second_json(const struct report_row *row) {
    const struct fault_case *second = &row->cases[1];

    if (second->fault == NULL)
        return json_null();
    return JSON_TEXT_OBJECT(
        {"about", json_text(second->fault->about)},
        {"moment", json_text(fault_moment_clause(second->moment))},
        {"part_pct", json_integer(row->second_pct)},
        {"victim", row->has_second_hit ? json_integer(row->second_victim + 1) : json_null()},
        {"is_more", json_boolean(row->is_more)});
}

static json_t *row_json(const struct report *report, const struct report_row *row) {
    return JSON_TEXT_OBJECT(
        {"fault", json_text(row->name)}, {"about", json_text(row->cases[0].fault->about)},
        {"moment", json_text(fault_moment_clause(row->cases[0].moment))},
        {"second", second_json(row)}, {"verdict", json_text(oracle_verdict_key(row->verdict))},
        {"text", json_text(oracle_verdict_text(row->verdict))}, {"reason", json_text(row->reason)},
        {"is_expected", json_boolean(!row->is_unexpected)}, {"expected", json_text(row->expected)},
        {"victim", json_integer(row->victim + 1)}, {"grant", json_integer(row->grant)},
        {"trials", json_integer(row->trials)}, {"repeated", json_integer(row->again)},
        {"grants", json_integer((json_int_t)row->oracle.grants)},
        {"writes", json_integer((json_int_t)row->oracle.writes)},
        {"refused", json_integer((json_int_t)row->oracle.refused)},
        {"stalled_ms", json_ms((double)row->oracle.stalled_ns)},
        {"found", findings_json(report, row)});
}

json_t *report_json(const struct report *report) {
    json_t *rows = json_array(), *command = json_array();
    char caps[LINE_CAPS_TEXT];

    line_caps_text(report->caps, caps, sizeof caps);
    for (size_t i = 0; report->command[i] != NULL; i++)
        json_text_append(&command, json_text(report->command[i]));
    for (size_t i = 0; i < report->count; i++)
        json_text_append(&rows, row_json(report, &report->rows[i]));
    return JSON_TEXT_OBJECT(
        {"schema_version", json_integer(REPORT_SCHEMA_VERSION)}, {"command", command},
        {"caps", json_text(caps)}, {"ttl_ms", json_integer(report->ttl_ms)},
        {"slack_ms", json_integer(report->slack_ms)}, {"workers", json_integer(report->workers)},
        {"trials", json_integer(report->trials)}, {"seed", json_integer((json_int_t)report->seed)},
        {"rows", rows});
}
