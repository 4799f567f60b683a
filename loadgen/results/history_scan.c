/* Reads the lines that are many, requests and a ledger's rows, where they stand byte for byte as
 * the writer puts them: seven times as fast as any JSON. What stands in any other way, or holds
 * anything unusual, is left to the reader of JSON, which also says what is wrong with it. */
#include "history_fields.h"

#include "record.h"

#include <limits.h>
#include <string.h>

#define DIGITS_MAX 18 /* of which no number leaves an int64_t */

/* Each moves `*at` behind what it took; after a false it stands anywhere. */

static bool take(const char **at, const char *text, size_t length) {
    bool is_there = strncmp(*at, text, length) == 0;

    *at += is_there ? length : 0;
    return is_there;
}

#define TAKE(at, text) take(at, text, sizeof text - 1)

static bool take_number(const char **at, int64_t *value) {
    bool is_negative = **at == '-';
    const char *first = *at + is_negative, *digit = first;
    int64_t sum = 0;

    for (; *digit >= '0' && *digit <= '9' && digit - first < DIGITS_MAX; digit++)
        sum = 10 * sum + (*digit - '0');
    *at = digit;
    *value = is_negative ? -sum : sum;
    return digit > first && !(*digit >= '0' && *digit <= '9') &&
           (*first != '0' || (digit == first + 1 && !is_negative));
}

/* What is plain ASCII and fits whole. */
static bool take_text(const char **at, char *to, size_t size) {
    const char *end;

    if (!TAKE(at, "\""))
        return false;
    for (end = *at; *end >= ' ' && *end <= '~' && *end != '"' && *end != '\\'; end++)
        continue;
    if (*end != '"' || (size_t)(end - *at) >= size)
        return false;
    *(char *)mempcpy(to, *at, (size_t)(end - *at)) = '\0';
    *at = end + 1;
    return true;
}

static bool take_uuid(const char **at, char to[UUID_TEXT]) {
    char text[UUID_TEXT] = "";

    if (!TAKE(at, "\"") || strnlen(*at, UUID_TEXT) < UUID_TEXT)
        return false;
    memcpy(text, *at, UUID_TEXT - 1);
    *at += UUID_TEXT - 1;
    return TAKE(at, "\"") && uuid_parse(text, to) == 0;
}

static bool take_flag(const char **at, bool *to) {
    *to = TAKE(at, "true");
    return *to || TAKE(at, "false");
}

static bool take_value(const char **at, const struct history_field *field, char *to) {
    int64_t number;

    switch (field->type) {
    case HISTORY_STRING:
        return take_text(at, to, field->size);
    case HISTORY_MOMENT:
        return take_text(at, to, field->size) && history_is_moment(to);
    case HISTORY_UUID:
        return take_uuid(at, to);
    case HISTORY_NUMBER:
        return take_number(at, &number) && history_set_number(field, number, to) == 0;
    case HISTORY_FLAG:
        return take_flag(at, (bool *)to);
    }
    return false;
}

static bool take_key(const char **at, const char *key) {
    return TAKE(at, ",\"") && take(at, key, strlen(key)) && TAKE(at, "\":");
}

static bool take_fields(const char **at, const struct history_field *fields, void *to) {
    for (const struct history_field *field = fields; field->key != NULL; field++) {
        char *value = (char *)to + field->offset;
        const char *before = *at;

        if (take_key(at, field->key)) {
            if (!take_value(at, field, value))
                return false;
        } else {
            if (!field->is_optional)
                return false;
            history_set_usual(field, value);
            *at = before;
        }
    }
    return true;
}

static bool take_type(const char **at, const char *type) {
    return TAKE(at, "{\"type\":\"") && take(at, type, strlen(type)) && TAKE(at, "\"");
}

static bool is_end(const char *at) {
    return strcmp(at, "}\n") == 0;
}

static bool take_outcome(const char **at, enum record_outcome *outcome) {
    char name[16];

    return TAKE(at, ",\"outcome\":") && take_text(at, name, sizeof name) &&
           history_set_outcome(name, outcome) == 0;
}

static bool take_cost(const char **at, struct record_cost *cost) {
    int64_t parts[HISTORY_COST];

    parts[HISTORY_COST_1] = -1;
    for (size_t i = 0; i < HISTORY_COST && !(i == HISTORY_COST_1 && **at == ']'); i++)
        if (!take(at, i == 0 ? ",\"cost\":[" : ",", i == 0 ? 9 : 1) || !take_number(at, &parts[i]))
            return false;
    return TAKE(at, "]") && history_set_cost(parts, cost) == 0;
}

bool history_scan_request(const char *line, struct record *record) {
    cost_init(&record->cost);
    return take_type(&line, "request") && take_fields(&line, history_request, record) &&
           take_outcome(&line, &record->outcome) &&
           (is_end(line) || (take_cost(&line, &record->cost) && is_end(line)));
}

bool history_scan_row(const char *line, const struct history_rows *rows, void *row) {
    if (!take_type(&line, rows->type))
        return false;
    memset(row, 0, rows->size);
    return take_fields(&line, rows->fields, row) && is_end(line);
}
