/* Writes a history line by line: a round may have millions of requests, so only one line is in
 * memory at a time. A value that is built as JSON is NULL without memory (json_text.h); then its
 * line fails. */
#include "history.h"

#include "decimal.h"
#include "history_fields.h"
#include "json_text.h"
#include "utf8.h"

#include <assert.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* ---- a line: the fields of the structure `from` */

static int64_t history_line_number_of(const struct history_field *field, const void *at) {
    if (field->size == sizeof(uint8_t))
        return *(const uint8_t *)at;
    if (field->size == sizeof(int16_t))
        return *(const int16_t *)at;
    if (field->size == sizeof(uint32_t))
        return field->low < 0 ? *(const int32_t *)at : (int64_t) * (const uint32_t *)at;
    assert(field->size == sizeof(int64_t));
    return *(const int64_t *)at;
}

static void history_line_put_text(FILE *to, const char *text) {
    (void)putc('"', to);
    while (*text != '\0') {
        size_t length = *text >= ' ' && *text < 0x7f ? 1 : utf8_printable(text);

        if (*text == '"' || *text == '\\')
            (void)putc('\\', to);
        for (size_t i = 0; i < length; i++)
            (void)putc(text[i], to);
        if (length == 0)
            (void)putc('?', to);
        text += length > 0 ? length : 1;
    }
    (void)putc('"', to);
}

/* The record that has this `order_id`. */
static const struct record *record_of(const void *order_id) {
    return (const void *)((const char *)order_id - offsetof(struct record, order_id));
}

/* Returns false if it is JSON and there was no memory for it. */
static bool put_value(FILE *to, const struct history_field *field, const void *at) {
    char digits[DECIMAL_BYTES], moment[LEDGER_TIME];

    switch (field->type) {
    case HISTORY_STRING:
    case HISTORY_ID:
    case HISTORY_UUID:
        history_line_put_text(to, at);
        return true;
    case HISTORY_KEY:
        history_line_put_text(to, record_id(at));
        return true;
    case HISTORY_ANSWER:
        history_line_put_text(to, record_order_id(record_of(at)));
        return true;
    case HISTORY_OWNED:
    case HISTORY_NAME:
        history_line_put_text(to, *(const char *const *)at != NULL ? *(const char *const *)at : "");
        return true;
    case HISTORY_MOMENT:
        history_line_put_text(to, ledger_time_text(moment, *(const int64_t *)at));
        return true;
    case HISTORY_NUMBER:
        (void)decimal_write(digits, history_line_number_of(field, at));
        (void)fputs(digits, to);
        return true;
    case HISTORY_WORD:
        history_line_put_text(to, field->words[history_line_number_of(field, at)]);
        return true;
    case HISTORY_FLAG:
        (void)fputs(history_line_number_of(field, at) != 0 ? "true" : "false", to);
        return true;
    case HISTORY_JSON:
        return json_dumpf(*(json_t *const *)at, to, JSON_COMPACT) == 0;
    }
    return false;
}

static bool is_left_out(const struct history_field *field, const void *at) {
    if (!field->is_optional)
        return false;
    if (field->type == HISTORY_JSON)
        return *(json_t *const *)at == NULL;
    return history_field_is_text(field) ? *(const char *)at == '\0'
                                        : history_line_number_of(field, at) == field->usual;
}

/* A NULL key ends the fields. Returns 0, or -1 with errno. */
static int history_line_write(FILE *to, const char *type, const struct history_field *fields,
                              const void *from) {
    bool is_whole = fprintf(to, "{\"type\":\"%s\"", type) > 0;

    for (; fields->key != NULL; fields++) {
        const char *at = (const char *)from + fields->offset;

        if (is_left_out(fields, at))
            continue;
        (void)putc(',', to);
        history_line_put_text(to, fields->key);
        (void)putc(':', to);
        is_whole = put_value(to, fields, at) && is_whole;
    }
    (void)fputs("}\n", to);
    return is_whole && !ferror(to) ? 0 : -1;
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

/* The stages as they are sent, from --stages or from other settings. */
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
    const bool has_shop = options->about.name != NULL;
    const struct history_run run = {.version = HISTORY_VERSION,
                                    .started_us = started_us,
                                    .settings = option_history(options),
                                    .strategies = strategies_json(options),
                                    .stages = stages_json(&options->shape),
                                    .shop = has_shop ? shop_about_json(&options->about) : NULL};
    int code = has_shop && run.shop == NULL ? -1 : history_line_write(to, "run", history_run, &run);

    json_decref(run.shop);
    json_decref(run.settings);
    json_decref(run.strategies);
    json_decref(run.stages);
    return code == 0 && fflush(to) == 0 ? 0 : -1;
}

/* ---- a round */

/* On the heap: a round would take half of a fiber's stack. */
static int write_begin(FILE *to, const struct round *round) {
    const struct recorder *recorder = round->recorder;
    struct history_round *begin = calloc(1, sizeof *begin);
    int code;

    assert(round->products != NULL && round->items > 0);
    if (begin == NULL)
        return -1;
    begin->round = *round;
    begin->requests = (int64_t)recorder->ended;
    begin->planned = (int64_t)recorder->planned;
    begin->late_launches = (int64_t)recorder->late_launches;
    begin->start_ns = round->part > 0 ? recorder->start_ns : 0;
    begin->instances = json_text_array(recorder->instances[0], sizeof recorder->instances[0],
                                       recorder->instance_count);
    begin->products =
        json_text_array(round->products[0].id, sizeof round->products[0], round->items);
    code = history_line_write(to, "round", history_round, begin);
    json_decref(begin->instances);
    json_decref(begin->products);
    free(begin);
    return code;
}

static int write_row(FILE *to, const struct history_rows *rows, const void *row) {
    struct history_sale sale;

    if (rows->array == offsetof(struct ledger, sales)) {
        memcpy(&sale.sale, row, sizeof sale.sale);
        sale.extra = ledger_extra(&sale.sale);
        row = &sale;
    }
    return history_line_write(to, rows->type, rows->fields, row);
}

static int history_write_rows(FILE *to, const struct ledger *ledger,
                              const struct history_rows *rows) {
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
    for (size_t i = 0; i < round->sample_count; i++)
        if (history_line_write(to, "clock", history_clock, &round->samples[i]) != 0)
            return -1;
    for (size_t i = 0; i < round->events.count; i++)
        if (history_line_write(to, "event", history_event, &round->events.items[i]) != 0)
            return -1;
    /* Ledgers that were read before the problem prove nothing. */
    for (size_t i = 0; round->ledgers != NULL && round->problem.text[0] == '\0' && i < round->items;
         i++)
        if (write_ledger(to, round, i) != 0)
            return -1;
    for (size_t i = 0; i < round->doubt_count; i++)
        if (history_line_write(to, "doubt", history_doubt, &round->doubts[i]) != 0)
            return -1;
    return history_line_write(to, "end", history_end, round) == 0 && fflush(to) == 0 ? 0 : -1;
}
