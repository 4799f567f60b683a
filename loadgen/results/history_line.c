/* Cuts a line into members and reads them. jansson reads only nested values, texts with escapes or
 * beyond ASCII, and broken JSON, for its error message. */
#include "history_line.h"

#include "json_read.h"
#include "utf8.h"
#include "uuid.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- the lines of a file */

/* Reads on until the bytes have a newline, the file ends or a line is too long. Returns the place
 * of the newline, or NULL. */
static char *find_newline(struct history_lines *lines) {
    char *newline = memchr(lines->bytes + lines->begin, '\n', lines->end - lines->begin);

    while (newline == NULL && lines->end - lines->begin <= HISTORY_LINE_MOST) {
        size_t got;

        if (lines->begin > 0) {
            lines->end -= lines->begin;
            memmove(lines->bytes, lines->bytes + lines->begin, lines->end);
            lines->begin = 0;
        }
        got = fread(lines->bytes + lines->end, 1, HISTORY_LINE_MOST + 1 - lines->end, lines->from);
        if (got == 0)
            return NULL;
        newline = memchr(lines->bytes + lines->end, '\n', got);
        lines->end += got;
    }
    return newline;
}

int history_lines_next(struct history_lines *lines, char **line, size_t *length, struct why *why) {
    char *newline;

    if (lines->bytes == NULL)
        lines->bytes = malloc(HISTORY_LINE_MOST + 2);
    if (lines->bytes == NULL)
        return why_set(why, "out of memory");
    newline = find_newline(lines);
    if (ferror(lines->from))
        return why_set(why, "%s", strerror(errno));
    *line = lines->bytes + lines->begin;
    *length = newline != NULL ? (size_t)(newline - *line) : lines->end - lines->begin;
    if (newline == NULL && *length == 0)
        return 0;
    lines->number++;
    lines->is_cut = newline == NULL;
    if (*length > HISTORY_LINE_MOST)
        return why_set(why, "it is longer than %zu bytes", HISTORY_LINE_MOST);
    (*line)[*length] = '\0';
    lines->begin += *length + (newline != NULL);
    return 1;
}

int history_lines_rewind(struct history_lines *lines) {
    lines->begin = lines->end = lines->number = 0;
    return fseeko(lines->from, 0, SEEK_SET);
}

void history_lines_free(struct history_lines *lines) {
    free(lines->bytes);
    lines->bytes = NULL;
}

/* ---- storing */

/* Stores a number, a word or a flag. */
static void history_line_set_number(const struct history_field *field, int64_t value, void *at) {
    if (field->size == sizeof(uint8_t))
        *(uint8_t *)at = (uint8_t)value;
    else if (field->size == sizeof(int16_t))
        *(int16_t *)at = (int16_t)value;
    else if (field->size == sizeof(uint32_t))
        *(uint32_t *)at = (uint32_t)value;
    else
        *(int64_t *)at = value;
}

/* ---- cutting */

static const char *skip_space(const char *at) {
    while (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r')
        at++;
    return at;
}

/* Returns the place after the string at `at`, or NULL. An even number of backslashes precedes its
 * last quote. */
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

/* Returns the place after the value at `at`, or NULL. The reader of its field checks the value. */
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

/* Returns the place after the member at `at`, or NULL. */
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

/* Returns the place after the object. NULL: it is no object, or has more members than any line. */
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

static bool is_key_of(const struct history_member *member, const char *key, size_t length) {
    return member->key_length == length && memcmp(member->key, key, length) == 0;
}

int history_line_cut(struct history_line *line, const char *text, size_t length, struct why *why) {
    const bool is_whole = cut_object(line, text) == text + length;
    json_error_t error;
    json_t *json;

    assert(text[length] == '\0');
    line->texts = NULL;
    line->ledger = NULL;
    line->find_kept = NULL;
    for (size_t i = 0; is_whole && i < line->count; i++)
        if (is_key_of(&line->members[i], "type", strlen("type"))) {
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

/* Copies plain text; jansson reads text with escapes or beyond ASCII. */
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

/* Copies a text of exactly this length; its own reader checks the content. */
static bool read_exact(const struct history_member *member, char *to, size_t length) {
    if (member->length != length + 2 || *member->value != '"')
        return false;
    *(char *)mempcpy(to, member->value + 1, length) = '\0';
    return true;
}

static bool read_moment(const struct history_member *member, int64_t *at_us) {
    char text[LEDGER_TIME];

    *at_us = 0;
    if (read_exact(member, text, 0))
        return true;
    if (read_exact(member, text, sizeof text - 1))
        *at_us = ledger_time_us(text);
    return *at_us != 0;
}

/* Without memory the name is refused, too. */
static bool read_name(const struct history_line *line, const struct history_member *member,
                      const char **to) {
    char name[LEDGER_INSTANCE];

    assert(line->ledger != NULL);
    return history_line_read_string(member, name, sizeof name) &&
           ledger_keep_instance(line->ledger, to, name) == 0;
}

/* An id of any shop. A UUID gets lower case, so that both sides of the history agree. */
static bool read_id(const struct history_member *member, char to[RECORD_ID]) {
    const size_t length = member->length - 2;

    if (*member->value != '"' || length < 1 || length >= RECORD_ID)
        return false;
    if (length == UUID_TEXT - 1 && uuid_read(member->value + 1, to) == 0)
        return true;
    *(char *)mempcpy(to, member->value + 1, length) = '\0';
    return strlen(to) == length && record_is_id(to);
}

/* Without memory the id is refused, too. */
static bool read_key(const struct history_line *line, const struct history_member *member,
                     struct record_id *to) {
    char id[RECORD_ID];

    assert(line->texts != NULL);
    return read_id(member, id) && record_set_id(to, line->texts, id) == 0;
}

static bool read_answer(const struct history_line *line, const struct history_member *member,
                        struct record *record) {
    char id[RECORD_ID];

    assert(line->texts != NULL);
    return read_id(member, id) && record_set_order_id(record, line->texts, id) == 0;
}

static bool read_owned(const struct history_line *line, const struct history_member *member,
                       const char **to) {
    char id[RECORD_ID];

    assert(line->texts != NULL);
    if (!read_id(member, id))
        return false;
    *to = line->find_kept != NULL ? line->find_kept(line->keeper, id) : NULL;
    if (*to == NULL)
        *to = texts_add(line->texts, id);
    return *to != NULL;
}

/* Sums up below zero: the negative range has one more number. */
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

static bool history_line_read_value(const struct history_line *line,
                                    const struct history_field *field,
                                    const struct history_member *member, void *to) {
    switch (field->type) {
    case HISTORY_STRING:
        return history_line_read_string(member, to, field->size);
    case HISTORY_MOMENT:
        return read_moment(member, to);
    case HISTORY_ID:
        return read_id(member, to);
    case HISTORY_KEY:
        return read_key(line, member, to);
    case HISTORY_ANSWER:
        return read_answer(line, member, (void *)((char *)to - offsetof(struct record, order_id)));
    case HISTORY_UUID:
        return read_exact(member, to, UUID_TEXT - 1) && uuid_parse(to, to) == 0;
    case HISTORY_OWNED:
        return read_owned(line, member, to);
    case HISTORY_NUMBER:
        return history_line_read_number(field, member, to);
    case HISTORY_WORD:
        return read_word(field, member, to);
    case HISTORY_NAME:
        return read_name(line, member, to);
    case HISTORY_FLAG:
        *(bool *)to = history_line_is_word(member, "true");
        return *(bool *)to || history_line_is_word(member, "false");
    case HISTORY_JSON:
        *(json_t **)to = json_read_as_is(member->value, member->length, NULL);
        return *(json_t **)to != NULL;
    }
    return false;
}

/* Most lines follow the order of the table, so the search begins at `next`. */
static const struct history_field *find_field(const struct history_field *fields,
                                              const struct history_field *next,
                                              const struct history_member *member) {
    for (const struct history_field *field = next; field->key != NULL; field++)
        if (is_key_of(member, field->key, field->key_length))
            return field;
    for (const struct history_field *field = fields; field < next; field++)
        if (is_key_of(member, field->key, field->key_length))
            return field;
    return NULL;
}

#define MUST_TEXT 256

/* "must be a whole number from 0 to 999" */
static const char *must_be(const struct history_field *field, char text[MUST_TEXT]) {
    size_t used = 0;

    switch (field->type) {
    case HISTORY_STRING:
    case HISTORY_NAME:
        return "must be a text";
    case HISTORY_MOMENT:
        return "must be a time such as \"2026-11-21T10:01:02.123456Z\", or \"\"";
    case HISTORY_ID:
    case HISTORY_KEY:
    case HISTORY_ANSWER:
    case HISTORY_OWNED:
        return "must be an id: 1 to 128 printable ASCII characters without spaces, \" and \\";
    case HISTORY_UUID:
        return "must be a UUID";
    case HISTORY_NUMBER:
        snprintf(text, MUST_TEXT, "must be a whole number from %" PRId64 " to %" PRId64, field->low,
                 field->high);
        return text;
    case HISTORY_WORD:
        for (int64_t i = 0; i <= field->high && used < MUST_TEXT; i++)
            used += (size_t)snprintf(text + used, MUST_TEXT - used, "%s\"%s\"",
                                     i == 0 ? "must be one of " : ", ", field->words[i]);
        return text;
    case HISTORY_FLAG:
        return "must be true or false";
    case HISTORY_JSON:
        return "must be an array or an object";
    }
    return "";
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
    char must[MUST_TEXT];

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
        if (!history_line_read_value(line, field, member, (char *)to + field->offset))
            return blame(why, member->key, member->key_length, must_be(field, must));
    }
    for (const struct history_field *field = fields; field->key != NULL; field++) {
        if ((given & UINT32_C(1) << (field - fields)) != 0)
            continue;
        if (!field->is_optional)
            return blame(why, field->key, strlen(field->key), "is missing");
        if (history_field_is_text(field))
            ((char *)to)[field->offset] = '\0';
        else if (field->type == HISTORY_JSON)
            *(json_t **)(void *)((char *)to + field->offset) = NULL;
        else
            history_line_set_number(field, field->usual, (char *)to + field->offset);
    }
    return 0;
}
