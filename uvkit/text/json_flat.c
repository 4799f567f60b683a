/* One pass over the bytes, which copies strings. */
#include "json_flat.h"

#include <assert.h>
#include <string.h>

#define DIGITS_MOST 18 /* any so many digits fit an int64_t */

struct reader {
    struct json_flat *flat;
    const char *at, *end;
};

static const char *json_flat_skip(const char *bytes, const char *end) {
    while (bytes < end && (*bytes == ' ' || *bytes == '\t' || *bytes == '\n' || *bytes == '\r'))
        bytes++;
    return bytes;
}

/* If `c` comes next, move past it and return true. */
static bool json_flat_take(struct reader *reader, char c) {
    reader->at = json_flat_skip(reader->at, reader->end);
    if (reader->at == reader->end || *reader->at != c)
        return false;
    reader->at++;
    return true;
}

static bool take_word(struct reader *reader, const char *word, size_t length) {
    if ((size_t)(reader->end - reader->at) < length || memcmp(reader->at, word, length) != 0)
        return false;
    reader->at += length;
    return true;
}

/* Copy text up to the next character that has a special meaning. False: the text and one byte more
 * do not fit, or the text has no end. */
static bool copy_plain(struct reader *reader) {
    struct json_flat *flat = reader->flat;
    const char *at = reader->at;
    size_t length;

    assert(flat->used <= sizeof flat->bytes);
    while (at < reader->end && *at >= ' ' && *at <= '~' && *at != '"' && *at != '\\')
        at++;
    length = (size_t)(at - reader->at);
    if (at == reader->end || length >= sizeof flat->bytes - flat->used)
        return false;
    memcpy(flat->bytes + flat->used, reader->at, length);
    flat->used += (unsigned)length;
    reader->at = at;
    return true;
}

/* Read from behind the opening quote up to the closing one. */
static bool json_flat_read_string(struct reader *reader, unsigned *begin) {
    struct json_flat *flat = reader->flat;

    *begin = flat->used;
    while (copy_plain(reader)) {
        char c = *reader->at++;

        if (c == '"') {
            flat->bytes[flat->used++] = '\0';
            return true;
        }
        if (c != '\\' || reader->at == reader->end || memchr("\"\\/", *reader->at, 3) == NULL)
            return false;
        flat->bytes[flat->used++] = *reader->at++;
    }
    return false;
}

/* A fraction or an exponent fails later, where a comma is expected. */
static bool read_integer(struct reader *reader, int64_t *number) {
    bool is_negative = take_word(reader, "-", 1);
    const char *from = reader->at;

    for (*number = 0; reader->at < reader->end; reader->at++) {
        if (*reader->at < '0' || *reader->at > '9')
            break;
        if (reader->at - from == DIGITS_MOST)
            return false;
        *number = *number * 10 + (*reader->at - '0');
    }
    if (reader->at == from || (*from == '0' && reader->at - from > 1))
        return false;
    *number = is_negative ? -*number : *number;
    return true;
}

static bool json_flat_read_value(struct reader *reader) {
    unsigned index = reader->flat->count;

    reader->flat->members[index].number = 0;
    if (json_flat_take(reader, '"')) {
        reader->flat->members[index].kind = JSON_FLAT_STRING;
        return json_flat_read_string(reader, &reader->flat->members[index].text);
    }
    reader->flat->members[index].kind = JSON_FLAT_BOOLEAN;
    if (take_word(reader, "false", 5))
        return true;
    reader->flat->members[index].number = 1;
    if (take_word(reader, "true", 4))
        return true;
    reader->flat->members[index].kind = JSON_FLAT_INTEGER;
    return read_integer(reader, &reader->flat->members[index].number);
}

/* -1: no member has this name. */
static int json_flat_find(const struct json_flat *flat, const char *name) {
    for (unsigned i = 0; i < flat->count; i++) {
        const char *found = flat->bytes + flat->members[i].name;

        if (*found == *name && strcmp(found, name) == 0)
            return (int)i;
    }
    return -1;
}

static bool read_member(struct reader *reader) {
    struct json_flat *flat = reader->flat;
    unsigned name;

    if (flat->count == JSON_FLAT_MEMBERS || !json_flat_take(reader, '"') ||
        !json_flat_read_string(reader, &name) || json_flat_find(flat, flat->bytes + name) >= 0 ||
        !json_flat_take(reader, ':') || !json_flat_read_value(reader))
        return false;
    flat->members[flat->count++].name = name;
    return true;
}

static bool read_object(struct reader *reader) {
    if (!json_flat_take(reader, '{'))
        return false;
    if (json_flat_take(reader, '}'))
        return true;
    do
        if (!read_member(reader))
            return false;
    while (json_flat_take(reader, ','));
    return json_flat_take(reader, '}');
}

const char *json_flat_read_next(struct json_flat *flat, const char *bytes, const char *end) {
    struct reader reader = {flat, bytes, end};

    flat->count = flat->used = 0;
    return read_object(&reader) ? reader.at : NULL;
}

bool json_flat_read(struct json_flat *flat, const char *bytes, size_t length) {
    const char *rest = json_flat_read_next(flat, bytes, bytes + length);

    if (rest != NULL && json_flat_skip(rest, bytes + length) == bytes + length)
        return true;
    flat->count = 0;
    return false;
}

static int find_kind(const struct json_flat *flat, const char *name, enum json_flat_kind kind) {
    int index = json_flat_find(flat, name);

    return index >= 0 && flat->members[index].kind == kind ? index : -1;
}

const char *json_flat_text(const struct json_flat *flat, const char *name) {
    int index = find_kind(flat, name, JSON_FLAT_STRING);

    return index >= 0 ? flat->bytes + flat->members[index].text : NULL;
}

bool json_flat_integer(const struct json_flat *flat, const char *name, int64_t *number) {
    int index = find_kind(flat, name, JSON_FLAT_INTEGER);

    if (index >= 0)
        *number = flat->members[index].number;
    return index >= 0;
}

bool json_flat_is_true(const struct json_flat *flat, const char *name) {
    int index = find_kind(flat, name, JSON_FLAT_BOOLEAN);

    return index >= 0 && flat->members[index].number == 1;
}
