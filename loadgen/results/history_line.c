/* Writes and reads a line of a history by its table of fields. A history of a million orders has
 * three million lines, so a line is cut into its members without a tree of JSON; jansson reads only
 * what is nested, texts with escapes or beyond ASCII, and says what is wrong with broken JSON. */
#include "history_line.h"

#include "decimal.h"
#include "json_read.h"
#include "ledger.h"
#include "utf8.h"
#include "uuid.h"

#include <assert.h>
#include <string.h>

/* ---- numbers, which words and flags are, too */

static int64_t history_line_number_of(const struct history_field *field, const void *at) {
    if (field->size == sizeof(bool))
        return *(const bool *)at;
    if (field->size == sizeof(int16_t))
        return *(const int16_t *)at;
    if (field->size == sizeof(uint32_t))
        return field->low < 0 ? *(const int32_t *)at : (int64_t) * (const uint32_t *)at;
    assert(field->size == sizeof(int64_t));
    return *(const int64_t *)at;
}

static void history_line_set_number(const struct history_field *field, int64_t value, void *at) {
    if (field->size == sizeof(bool))
        *(bool *)at = value != 0;
    else if (field->size == sizeof(int16_t))
        *(int16_t *)at = (int16_t)value;
    else if (field->size == sizeof(uint32_t))
        *(uint32_t *)at = (uint32_t)value;
    else
        *(int64_t *)at = value;
}

static bool is_text(const struct history_field *field) {
    return field->type == HISTORY_STRING || field->type == HISTORY_MOMENT ||
           field->type == HISTORY_UUID;
}

/* ---- writing */

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

static void history_line_put_number(FILE *to, int64_t number) {
    char digits[DECIMAL_BYTES];

    (void)decimal_write(digits, number);
    (void)fputs(digits, to);
}

/* False when it is JSON for which there was no memory. */
static bool put_value(FILE *to, const struct history_field *field, const void *at) {
    switch (field->type) {
    case HISTORY_STRING:
    case HISTORY_MOMENT:
    case HISTORY_UUID:
        history_line_put_text(to, at);
        return true;
    case HISTORY_NUMBER:
        history_line_put_number(to, history_line_number_of(field, at));
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
    return is_text(field) ? *(const char *)at == '\0'
                          : history_line_number_of(field, at) == field->usual;
}

int history_line_write(FILE *to, const char *type, const struct history_field *fields,
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

/* ---- cutting a line into members */

static const char *skip_space(const char *at) {
    while (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r')
        at++;
    return at;
}

/* What follows the string that begins at `at`, or NULL: an even number of backslashes stands before
 * its last quote. */
static const char *string_end(const char *at) {
    bool is_escaped;

    do {
        at = strchr(at + 1, '"');
        is_escaped = false;
        for (const char *before = at; before != NULL && before[-1] == '\\'; before--)
            is_escaped = !is_escaped;
    } while (is_escaped);
    return at != NULL ? at + 1 : NULL;
}

/* What follows the value that begins at `at`, or NULL. The reader of its field looks into it. */
static const char *value_end(const char *at) {
    int depth = 0;

    while (depth > 0 ? *at != '\0' : *at > ' ' && *at != ',' && *at != '}') {
        depth += (*at == '{' || *at == '[') - (*at == '}' || *at == ']');
        at = *at == '"' ? string_end(at) : at + 1;
        if (at == NULL)
            return NULL;
    }
    return at;
}

/* What follows the member that begins at `at`, or NULL. */
static const char *cut_member(struct history_member *member, const char *at) {
    const char *end = *at == '"' ? string_end(at) : NULL;

    if (end == NULL)
        return NULL;
    member->key = at + 1;
    member->key_length = (size_t)(end - at) - 2;
    at = skip_space(end);
    if (*at != ':')
        return NULL;
    member->value = skip_space(at + 1);
    end = value_end(member->value);
    member->length = end != NULL ? (size_t)(end - member->value) : 0;
    return end;
}

/* What follows the object, or NULL: it is none, or has more members than any line. */
static const char *cut_object(struct history_line *line, const char *at) {
    line->count = 0;
    at = skip_space(at);
    if (*at != '{')
        return NULL;
    do {
        if (line->count == HISTORY_MEMBERS)
            return NULL;
        at = cut_member(&line->members[line->count++], skip_space(at + 1));
        if (at == NULL)
            return NULL;
        at = skip_space(at);
    } while (*at == ',');
    return *at == '}' ? skip_space(at + 1) : NULL;
}

static bool is_text_of(const struct history_member *member, const char *text) {
    const size_t length = strlen(text);

    return member->length == length + 2 && member->value[0] == '"' &&
           member->value[length + 1] == '"' && memcmp(member->value + 1, text, length) == 0;
}

static bool is_key_of(const struct history_member *member, const char *key) {
    return *member->key == *key && strncmp(member->key, key, member->key_length) == 0 &&
           key[member->key_length] == '\0';
}

int history_line_cut(struct history_line *line, const char *text, size_t length, struct why *why) {
    const bool is_whole = cut_object(line, text) == text + length;
    json_error_t error;
    json_t *json;

    assert(text[length] == '\0');
    for (size_t i = 0; is_whole && i < line->count; i++)
        if (is_key_of(&line->members[i], "type")) {
            line->type = &line->members[i];
            return 0;
        }
    json = json_read_as_is(text, length, &error);
    if (json == NULL)
        return why_set(why, "it is no JSON: %.100s", error.text);
    json_decref(json);
    return why_set(why,
                   line->count == HISTORY_MEMBERS ? "it has too many members" : "it has no type");
}

bool history_line_is(const struct history_line *line, const char *type) {
    return is_text_of(line->type, type);
}

/* ---- reading members */

/* Text that means what it says is copied; jansson reads any other. */
static bool history_line_read_string(const struct history_member *member, char *to, size_t size) {
    const char *text = member->value + 1;
    size_t plain = 0;
    json_t *json;

    if (*member->value != '"')
        return false;
    while (text[plain] >= ' ' && text[plain] <= '~' && text[plain] != '"' && text[plain] != '\\')
        plain++;
    if (plain + 2 == member->length && plain < size) {
        *(char *)mempcpy(to, text, plain) = '\0';
        return true;
    }
    json = json_read_string(member->value, member->length);
    if (json == NULL)
        return false;
    (void)snprintf(to, size, "%s", json_string_value(json));
    utf8_make_printable(to);
    json_decref(json);
    return true;
}

/* Copy a text of just this length. What is in it is for its own reader. */
static bool read_exact(const struct history_member *member, char *to, size_t length) {
    if (member->length != length + 2 || *member->value != '"')
        return false;
    *(char *)mempcpy(to, member->value + 1, length) = '\0';
    return true;
}

static bool read_moment(const struct history_member *member, char to[LEDGER_TIME]) {
    if (read_exact(member, to, 0))
        return true;
    return read_exact(member, to, LEDGER_TIME - 1) && ledger_is_time(to);
}

static bool read_uuid(const struct history_member *member, char to[UUID_TEXT]) {
    return read_exact(member, to, UUID_TEXT - 1) && uuid_parse(to, to) == 0;
}

/* Summed up below zero, where one more number has room. */
static bool history_line_read_number(const struct history_field *field,
                                     const struct history_member *member, void *to) {
    const char *at = member->value, *end = at + member->length;
    const bool is_negative = *at == '-';
    int64_t sum = 0;

    at += is_negative;
    if (at == end || (*at == '0' && end - at > 1))
        return false;
    for (; at < end; at++)
        if (*at < '0' || *at > '9' || __builtin_mul_overflow(sum, 10, &sum) ||
            __builtin_sub_overflow(sum, *at - '0', &sum))
            return false;
    if (!is_negative && __builtin_sub_overflow(0, sum, &sum))
        return false;
    history_line_set_number(field, sum, to);
    return sum >= field->low && sum <= field->high;
}

static bool read_word(const struct history_field *field, const struct history_member *member,
                      void *to) {
    for (int64_t i = 0; i <= field->high; i++)
        if (is_text_of(member, field->words[i])) {
            history_line_set_number(field, i, to);
            return true;
        }
    return false;
}

static bool history_line_is_word(const struct history_member *member, const char *word) {
    return member->length == strlen(word) && memcmp(member->value, word, member->length) == 0;
}

static bool history_line_read_value(const struct history_field *field,
                                    const struct history_member *member, void *to) {
    switch (field->type) {
    case HISTORY_STRING:
        return history_line_read_string(member, to, field->size);
    case HISTORY_MOMENT:
        return read_moment(member, to);
    case HISTORY_UUID:
        return read_uuid(member, to);
    case HISTORY_NUMBER:
        return history_line_read_number(field, member, to);
    case HISTORY_WORD:
        return read_word(field, member, to);
    case HISTORY_FLAG:
        *(bool *)to = history_line_is_word(member, "true");
        return *(bool *)to || history_line_is_word(member, "false");
    case HISTORY_JSON:
        *(json_t **)to = json_read_as_is(member->value, member->length, NULL);
        return *(json_t **)to != NULL;
    }
    return false;
}

/* Most lines are in the table's order, so that the search begins at `next`. */
static const struct history_field *find_field(const struct history_field *fields,
                                              const struct history_field *next,
                                              const struct history_member *member) {
    for (const struct history_field *field = next; field->key != NULL; field++)
        if (is_key_of(member, field->key))
            return field;
    for (const struct history_field *field = fields; field < next; field++)
        if (is_key_of(member, field->key))
            return field;
    return NULL;
}

static void set_usual(const struct history_field *field, void *to) {
    if (is_text(field))
        *(char *)to = '\0';
    else
        history_line_set_number(field, field->usual, to);
}

static int blame(struct why *why, const char *key, size_t length, const char *what) {
    (void)why_set(why, "its \"%.*s\" %s", (int)(length < 64 ? length : 64), key, what);
    utf8_make_printable(why->text);
    return -1;
}

int history_line_read(const struct history_line *line, const struct history_field *fields, void *to,
                      struct why *why) {
    const struct history_field *next = fields;
    uint32_t given = 0; /* a bit for each field */

    for (size_t i = 0; i < line->count; i++) {
        const struct history_member *member = &line->members[i];
        const struct history_field *field = find_field(fields, next, member);
        const uint32_t bit = field != NULL ? UINT32_C(1) << (field - fields) : 0;

        if (member == line->type)
            continue;
        if (field == NULL || (given & bit) != 0)
            return blame(why, member->key, member->key_length,
                         field == NULL ? "is unknown" : "is given twice");
        given |= bit;
        next = field + 1;
        if (!history_line_read_value(field, member, (char *)to + field->offset))
            return blame(why, member->key, member->key_length,
                         "is of another type or out of range");
    }
    for (const struct history_field *field = fields; field->key != NULL; field++) {
        if ((given & UINT32_C(1) << (field - fields)) != 0)
            continue;
        if (!field->is_optional)
            return blame(why, field->key, strlen(field->key), "is missing");
        set_usual(field, (char *)to + field->offset);
    }
    return 0;
}
