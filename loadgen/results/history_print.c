/* Writes the lines that are many, requests and a ledger's rows, byte for byte as jansson would, and
 * without building JSON of them first. */
#include "history_fields.h"

#include "record.h"
#include "utf8.h"

#include <assert.h>
#include <string.h>

/* Each returns where it ended. */

static char *put_number(char *to, int64_t value) {
    char digits[20];
    size_t first = sizeof digits;
    uint64_t left = value < 0 ? -(uint64_t)value : (uint64_t)value;

    do
        digits[--first] = (char)('0' + left % 10);
    while ((left /= 10) > 0);
    if (value < 0)
        *to++ = '-';
    return mempcpy(to, digits + first, sizeof digits - first);
}

/* Text that was made printable when it was read, so that only quotes are escaped. */
static char *put_text(char *to, const char *text) {
    *to++ = '"';
    while (*text != '\0') {
        size_t length = *text >= ' ' && *text < 0x7f ? 1 : utf8_printable(text);

        if (*text == '"' || *text == '\\')
            *to++ = '\\';
        to = length > 0 ? mempcpy(to, text, length) : stpcpy(to, "?");
        text += length > 0 ? length : 1;
    }
    *to++ = '"';
    return to;
}

static char *put_value(char *to, const struct history_field *field, const char *at) {
    switch (field->type) {
    case HISTORY_STRING:
    case HISTORY_MOMENT:
    case HISTORY_UUID:
        return put_text(to, at);
    case HISTORY_NUMBER:
        return put_number(to, history_number(field, at));
    case HISTORY_FLAG:
        return stpcpy(to, history_number(field, at) != 0 ? "true" : "false");
    }
    return to;
}

static char *put_fields(char *to, const char *type, const struct history_field *fields,
                        const void *from) {
    to = put_text(stpcpy(to, "{\"type\":"), type);
    for (; fields->key != NULL; fields++) {
        const char *at = (const char *)from + fields->offset;

        if (fields->is_optional && history_is_usual(fields, at))
            continue;
        *to++ = ',';
        to = put_text(to, fields->key);
        *to++ = ':';
        to = put_value(to, fields, at);
    }
    return to;
}

static size_t put_end(const char *line, char *to) {
    to = stpcpy(to, "}\n");
    assert(to - line < HISTORY_LINE);
    return (size_t)(to - line);
}

size_t history_print_row(char line[HISTORY_LINE], const struct history_rows *rows,
                         const void *row) {
    return put_end(line, put_fields(line, rows->type, rows->fields, row));
}

/* Nothing when the reply told nothing of it. */
static char *put_cost(char *to, const struct record_cost *cost) {
    const int32_t parts[HISTORY_COST] = {cost->wait_us,  cost->hold_us, cost->commit_us,
                                         cost->postgres, cost->redis,   cost->retries,
                                         cost->shard,    cost->lock,    cost->kept_us};
    const size_t count = cost->kept_us >= 0 ? HISTORY_COST : HISTORY_COST_1;
    bool is_told = false;

    for (size_t i = 0; i < count; i++)
        is_told = is_told || parts[i] >= 0;
    if (!is_told)
        return to;
    to = stpcpy(to, ",\"cost\":");
    for (size_t i = 0; i < count; i++) {
        *to++ = i == 0 ? '[' : ',';
        to = put_number(to, parts[i]);
    }
    *to++ = ']';
    return to;
}

size_t history_print_request(char line[HISTORY_LINE], const struct record *record) {
    char *to = put_fields(line, "request", history_request, record);

    to = put_text(stpcpy(to, ",\"outcome\":"), record_outcome_name(record->outcome));
    return put_end(line, put_cost(to, &record->cost));
}
