/* Appends. Bytes that do not fit are counted and left out. */
#include "json_line.h"

#include "decimal.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static void json_line_append(struct json_line *line, const char *bytes, size_t length) {
    if (line->length <= line->size && length <= line->size - line->length)
        memcpy(line->bytes + line->length, bytes, length);
    line->length += length;
}

struct json_line json_line_begin(char *bytes, size_t size) {
    assert(size > 0);
    bytes[0] = '{';
    return (struct json_line){bytes, size, 1};
}

static void begin_member(struct json_line *line, const char *name) {
    if (line->length > 1)
        json_line_append(line, ",", 1);
    json_line_append(line, "\"", 1);
    json_line_append(line, name, strlen(name));
    json_line_append(line, "\":", 2);
}

/* May it stand in a string without an escape? */
static bool json_line_is_plain(char c) {
    return (unsigned char)c >= ' ' && c != '"' && c != '\\';
}

static void json_line_append_escaped(struct json_line *line, char c) {
    char escape[8] = {'\\', c};
    int length = c == '"' || c == '\\' ? 2 : snprintf(escape, sizeof escape, "\\u%04x", c);

    json_line_append(line, escape, (size_t)length);
}

void json_line_text(struct json_line *line, const char *name, const char *text) {
    begin_member(line, name);
    json_line_append(line, "\"", 1);
    for (;;) {
        size_t plain = 0;

        while (json_line_is_plain(text[plain]))
            plain++;
        json_line_append(line, text, plain);
        text += plain;
        if (*text == '\0')
            break;
        json_line_append_escaped(line, *text++);
    }
    json_line_append(line, "\"", 1);
}

void json_line_integer(struct json_line *line, const char *name, int64_t number) {
    char digits[DECIMAL_BYTES];

    begin_member(line, name);
    json_line_append(line, digits, decimal_write(digits, number));
}

size_t json_line_end(struct json_line *line) {
    json_line_append(line, "}", 1);
    return line->length <= line->size ? line->length : 0;
}
