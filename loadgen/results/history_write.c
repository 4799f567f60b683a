/* Writes a history, a line at a time: a round may have millions of requests, so that no more than a
 * line is ever in memory. The many are printed, the others built as JSON: one that lacks memory is
 * NULL from there on (json_text.h), and fails when it is written. */
#include "history.h"

#include "history_fields.h"
#include "json_text.h"

#include <assert.h>
#include <jansson.h>
#include <string.h>

static json_t *line_of(const char *type) {
    return json_pack("{s:s}", "type", type);
}

/* Write the line, and free it. 0, or -1 with errno. */
static int write_line(FILE *to, json_t *line) {
    int rc = json_dumpf(line, to, JSON_COMPACT);

    json_decref(line);
    return rc == 0 && putc('\n', to) != EOF ? 0 : -1;
}

/* ---- the first line */

static json_t *strategies_json(const struct options *options) {
    json_t *json = json_array();

    for (size_t i = 0; i < options->list.count; i++) {
        const struct strategy_item *item = &options->list.items[i];
        char expected[EXPECT_TEXT];

        json_text_append(&json,
                         json_pack("{s:o, s:o, s:o, s:s}", "name", json_text(item->name), "given",
                                   json_text(item->given), "spec", json_text(item->spec),
                                   "expected", expect_name(&options->expectations[i], expected)));
    }
    return json;
}

/* The stages as they are sent, whichever settings they follow from. */
static json_t *stages_json(const struct plan_shape *shape) {
    json_t *json = json_array();

    for (size_t i = 0; i < shape->stage_count; i++) {
        const struct plan_stage *stage = &shape->stages[i];

        json_text_append(
            &json, json_pack("[I, f, f]", (json_int_t)stage->span_ns, stage->from, stage->to));
    }
    return json;
}

int history_write_run(FILE *to, const struct options *options, int64_t started_us) {
    json_t *line = line_of("run");

    json_text_set(&line, "version", json_integer(HISTORY_VERSION));
    json_text_set(&line, "started_us", json_integer(started_us));
    json_text_set(&line, "settings", option_history(options));
    json_text_set(&line, "strategies", strategies_json(options));
    json_text_set(&line, "stages", stages_json(&options->shape));
    return write_line(to, line) == 0 && fflush(to) == 0 ? 0 : -1;
}

/* ---- a round */

static int write_begin(FILE *to, const struct round *round) {
    const struct recorder *recorder = round->recorder;
    const struct history_counts counts = {.requests = (int64_t)recorder->ended,
                                          .planned = (int64_t)recorder->planned,
                                          .late_launches = (int64_t)recorder->late_launches};
    json_t *line = line_of("round");

    assert(round->products != NULL && round->items > 0);
    history_put(&line, history_round_begin, round);
    history_put(&line, history_round_counts, &counts);
    json_text_set(&line, "instances",
                  json_text_array(recorder->instances[0], sizeof recorder->instances[0],
                                  recorder->instance_count));
    json_text_set(&line, "products",
                  json_text_array(round->products[0].id, sizeof round->products[0], round->items));
    return write_line(to, line);
}

static int write_request(FILE *to, const struct record *record) {
    char line[HISTORY_LINE];
    size_t length = history_print_request(line, record);

    return fwrite(line, length, 1, to) == 1 ? 0 : -1;
}

static int write_event(FILE *to, const struct event *event) {
    json_t *line = line_of("event");

    json_text_set(&line, "kind", json_string(event_kind_name(event->kind)));
    history_put(&line, history_event, event);
    if (event->result != EVENT_NONE)
        json_text_set(&line, "result", json_string(event_result_name(event->result)));
    return write_line(to, line);
}

static int write_row(FILE *to, const struct history_rows *rows, const char *row) {
    char line[HISTORY_LINE];
    size_t length = history_print_row(line, rows, row);

    return fwrite(line, length, 1, to) == 1 ? 0 : -1;
}

static int write_rows(FILE *to, const struct ledger *ledger, const struct history_rows *rows) {
    const char *row;
    size_t count;

    memcpy(&row, (const char *)ledger + rows->array, sizeof row);
    memcpy(&count, (const char *)ledger + rows->count, sizeof count);
    for (size_t i = 0; i < count; i++)
        if (write_row(to, rows, row + i * rows->size) != 0)
            return -1;
    return 0;
}

static int write_ledger(FILE *to, const struct round *round, size_t item) {
    json_t *line = line_of("product");

    json_text_set(&line, "item", json_integer((json_int_t)item));
    history_put(&line, history_product, &round->ledgers[item]);
    if (write_line(to, line) != 0)
        return -1;
    for (size_t i = 0; i < HISTORY_ROWS; i++)
        if (write_rows(to, &round->ledgers[item], &history_rows[i]) != 0)
            return -1;
    return 0;
}

static int write_end(FILE *to, const struct round *round) {
    json_t *line = line_of("end");

    json_text_set(&line, "verdict", json_string(verdict_kind_name(round->verdict.kind)));
    history_put(&line, history_round_end, round);
    return write_line(to, line);
}

int history_write_round(FILE *to, const struct round *round) {
    const struct recorder *recorder = round->recorder;

    assert(recorder->records != NULL || recorder->ended == 0);
    if (write_begin(to, round) != 0)
        return -1;
    for (size_t i = 0; i < recorder->ended; i++)
        if (write_request(to, &recorder->records[i]) != 0)
            return -1;
    for (size_t i = 0; i < round->events.count; i++)
        if (write_event(to, &round->events.items[i]) != 0)
            return -1;
    /* What was read before the problem proves nothing. */
    for (size_t i = 0; round->ledgers != NULL && round->problem[0] == '\0' && i < round->items; i++)
        if (write_ledger(to, round, i) != 0)
            return -1;
    return write_end(to, round) == 0 && fflush(to) == 0 ? 0 : -1;
}
