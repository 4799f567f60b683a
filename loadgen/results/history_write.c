/* Writes a history, a line at a time: a round may have millions of requests, so that no more than a
 * line is ever in memory. What is built as JSON is NULL without memory (json_text.h), and its line
 * then fails. */
#include "history.h"

#include "history_fields.h"
#include "json_text.h"

#include <assert.h>
#include <jansson.h>
#include <string.h>

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
    const struct history_run run = {.version = HISTORY_VERSION,
                                    .started_us = started_us,
                                    .settings = option_history(options),
                                    .strategies = strategies_json(options),
                                    .stages = stages_json(&options->shape)};
    int code = history_line_write(to, "run", history_run, &run);

    json_decref(run.settings);
    json_decref(run.strategies);
    json_decref(run.stages);
    return code == 0 && fflush(to) == 0 ? 0 : -1;
}

/* ---- a round */

static int write_begin(FILE *to, const struct round *round) {
    const struct recorder *recorder = round->recorder;
    const struct history_round begin = {
        .round = *round,
        .requests = (int64_t)recorder->ended,
        .planned = (int64_t)recorder->planned,
        .late_launches = (int64_t)recorder->late_launches,
        .instances = json_text_array(recorder->instances[0], sizeof recorder->instances[0],
                                     recorder->instance_count),
        .products = json_text_array(round->products[0].id, sizeof round->products[0], round->items),
    };
    int code = history_line_write(to, "round", history_round, &begin);

    assert(round->products != NULL && round->items > 0);
    json_decref(begin.instances);
    json_decref(begin.products);
    return code;
}

static int history_write_rows(FILE *to, const struct ledger *ledger,
                              const struct history_rows *rows) {
    const char *row;
    size_t count;

    memcpy(&row, (const char *)ledger + rows->array, sizeof row);
    memcpy(&count, (const char *)ledger + rows->count, sizeof count);
    for (size_t i = 0; i < count; i++)
        if (history_line_write(to, rows->type, rows->fields, row + i * rows->size) != 0)
            return -1;
    return 0;
}

static int write_ledger(FILE *to, const struct round *round, size_t item) {
    const struct history_product product = {(int64_t)item, round->ledgers[item]};

    if (history_line_write(to, "product", history_product, &product) != 0)
        return -1;
    for (size_t i = 0; i < HISTORY_ROWS; i++)
        if (history_write_rows(to, &round->ledgers[item], &history_rows[i]) != 0)
            return -1;
    return 0;
}

int history_write_round(FILE *to, const struct round *round) {
    const struct recorder *recorder = round->recorder;

    assert(recorder->records != NULL || recorder->ended == 0);
    if (write_begin(to, round) != 0)
        return -1;
    for (size_t i = 0; i < recorder->ended; i++)
        if (history_line_write(to, "request", history_request, &recorder->records[i]) != 0)
            return -1;
    for (size_t i = 0; i < round->events.count; i++)
        if (history_line_write(to, "event", history_event, &round->events.items[i]) != 0)
            return -1;
    /* What was read before the problem proves nothing. */
    for (size_t i = 0; round->ledgers != NULL && round->problem.text[0] == '\0' && i < round->items;
         i++)
        if (write_ledger(to, round, i) != 0)
            return -1;
    return history_line_write(to, "end", history_end, round) == 0 && fflush(to) == 0 ? 0 : -1;
}
