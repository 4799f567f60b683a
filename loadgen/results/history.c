/* Writes a history, a line at a time, without building JSON in memory: a round may have millions of
 * requests. */
#include "history.h"

#include "history_fields.h"
#include "json_text.h"
#include "option_table.h"

#include <jansson.h>
#include <string.h>

/* ---- the first line */

static json_t *strategies_json(const struct options *options) {
    json_t *json = json_array();

    for (size_t i = 0; i < options->list.count; i++) {
        const struct strategy_item *item = &options->list.items[i];

        json_text_append(&json,
                         json_pack("{s:o, s:o, s:o, s:s}", "name", json_text(item->name), "given",
                                   json_text(item->given), "spec", json_text(item->spec),
                                   "expected", expect_name(&options->expectations[i])));
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
    json_t *json =
        json_pack("{s:s, s:i, s:I, s:o, s:o, s:o}", "type", "run", "version", HISTORY_VERSION,
                  "started_us", (json_int_t)started_us, "settings", option_history(options),
                  "strategies", strategies_json(options), "stages", stages_json(&options->shape));
    int rc = json_dumpf(json, to, JSON_COMPACT);

    json_decref(json);
    return rc == 0 && putc('\n', to) != EOF && fflush(to) == 0 ? 0 : -1;
}

/* ---- a round */

/* A line under construction. The longest, a round's, is written in pieces. */
struct line {
    char text[4096];
    char *end;
};

static void put(struct line *line, const char *text) {
    const size_t length = strlen(text);

    memcpy(line->end, text, length);
    line->end += length;
}

static void begin(struct line *line, const char *type) {
    line->end = line->text;
    put(line, "{\"type\":\"");
    put(line, type);
    put(line, "\"");
}

static void put_fields(struct line *line, const struct history_field *fields, const void *from) {
    line->end = history_put(line->end, fields, from);
}

static int flush(struct line *line, FILE *to) {
    size_t length = (size_t)(line->end - line->text);

    line->end = line->text;
    return fwrite(line->text, 1, length, to) == length ? 0 : -1;
}

static int finish(struct line *line, FILE *to) {
    put(line, "}\n");
    return flush(line, to);
}

static int write_texts(struct line *line, const char *key, const char *first, size_t size,
                       size_t count, FILE *to) {
    put(line, key);
    for (size_t i = 0; i < count; i++) {
        put(line, i > 0 ? "," : "");
        line->end = json_text_quote(line->end, first + i * size);
        if (flush(line, to) != 0)
            return -1;
    }
    put(line, "]");
    return 0;
}

static int write_begin(FILE *to, const struct round *round) {
    const struct recorder *recorder = round->recorder;
    const struct history_counts counts = {.requests = (int64_t)recorder->ended,
                                          .planned = (int64_t)recorder->planned,
                                          .late_launches = (int64_t)recorder->late_launches};
    struct line line;

    begin(&line, "round");
    put_fields(&line, history_round_begin, round);
    put_fields(&line, history_round_counts, &counts);
    if (write_texts(&line, ",\"instances\":[", recorder->instances[0],
                    sizeof recorder->instances[0], recorder->instance_count, to) != 0 ||
        write_texts(&line, ",\"products\":[", round->products[0].id, sizeof round->products[0],
                    round->items, to) != 0)
        return -1;
    return finish(&line, to);
}

static void put_cost(struct line *line, const struct record_cost *cost) {
    const int32_t parts[HISTORY_COST] = {cost->wait_us,  cost->hold_us, cost->commit_us,
                                         cost->postgres, cost->redis,   cost->retries,
                                         cost->shard,    cost->lock};
    bool is_told = false;

    for (size_t i = 0; i < HISTORY_COST; i++)
        is_told = is_told || parts[i] >= 0;
    if (!is_told)
        return;
    put(line, ",\"cost\":");
    for (size_t i = 0; i < HISTORY_COST; i++) {
        put(line, i == 0 ? "[" : ",");
        line->end = history_put_number(line->end, parts[i]);
    }
    put(line, "]");
}

static int write_request(FILE *to, const struct record *record) {
    struct line line;

    begin(&line, "request");
    put_fields(&line, history_request, record);
    put(&line, ",\"outcome\":\"");
    put(&line, record_outcome_name(record->outcome));
    put(&line, "\"");
    put_cost(&line, &record->cost);
    return finish(&line, to);
}

static int write_rows(FILE *to, const struct ledger *ledger, const struct history_rows *rows) {
    const char *row;
    size_t count;
    struct line line;

    memcpy(&row, (const char *)ledger + rows->array, sizeof row);
    memcpy(&count, (const char *)ledger + rows->count, sizeof count);
    for (size_t i = 0; i < count; i++) {
        begin(&line, rows->type);
        put_fields(&line, rows->fields, row + i * rows->size);
        if (finish(&line, to) != 0)
            return -1;
    }
    return 0;
}

static int write_ledger(FILE *to, const struct round *round, size_t item) {
    struct line line;

    begin(&line, "product");
    put(&line, ",\"item\":");
    line.end = history_put_number(line.end, (int64_t)item);
    put_fields(&line, history_product, &round->ledgers[item]);
    if (finish(&line, to) != 0)
        return -1;
    for (size_t i = 0; i < HISTORY_ROWS; i++)
        if (write_rows(to, &round->ledgers[item], &history_rows[i]) != 0)
            return -1;
    return 0;
}

static int write_end(FILE *to, const struct round *round) {
    struct line line;

    begin(&line, "end");
    put(&line, ",\"verdict\":\"");
    put(&line, verdict_kind_name(round->verdict.kind));
    put(&line, "\"");
    put_fields(&line, history_round_end, round);
    return finish(&line, to);
}

int history_write_round(FILE *to, const struct round *round) {
    const struct recorder *recorder = round->recorder;

    if (write_begin(to, round) != 0)
        return -1;
    for (size_t i = 0; i < recorder->ended; i++)
        if (write_request(to, &recorder->records[i]) != 0)
            return -1;
    /* What was read before the problem proves nothing. */
    for (size_t i = 0; round->ledgers != NULL && round->problem[0] == '\0' && i < round->items; i++)
        if (write_ledger(to, round, i) != 0)
            return -1;
    return write_end(to, round) == 0 && fflush(to) == 0 ? 0 : -1;
}
