/* JSON from bytes: first counts the brackets, then lets jansson parse it. */
#include "json_read.h"

#include "buffer.h"
#include "text_copy.h"
#include "utf8.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Counts brackets outside of strings; jansson checks that they match. Returns the first bracket
 * that is too deep, or NULL. */
static const char *too_deep(const char *bytes, size_t length) {
    const char *end = bytes + length;
    bool is_string = false;
    int depth = 0;

    for (const char *at = bytes; at < end; at++) {
        if (is_string && *at == '\\')
            at++;
        else if (*at == '"')
            is_string = !is_string;
        else if (!is_string)
            depth += (*at == '{' || *at == '[') - (*at == '}' || *at == ']');
        if (depth > JSON_READ_DEPTH)
            return at;
    }
    return NULL;
}

static void point(json_error_t *error, const char *bytes, const char *at) {
    *error = (json_error_t){.line = 1, .column = 1, .position = (int)(at - bytes) + 1};
    for (; bytes < at; bytes++) {
        error->column = *bytes == '\n' ? 1 : error->column + 1;
        error->line += *bytes == '\n';
    }
    (void)snprintf(error->text, sizeof error->text, "nested too deeply: over %d levels",
                   JSON_READ_DEPTH);
}

json_t *json_read_as_is(const char *bytes, size_t length, json_error_t *error) {
    const char *deep;
    json_t *json = NULL;

    bytes = bytes != NULL ? bytes : ""; /* an empty buffer has none */
    deep = too_deep(bytes, length);
    if (deep == NULL)
        json = json_loadb(bytes, length, JSON_REJECT_DUPLICATES, error);
    else if (error != NULL)
        point(error, bytes, deep);
    if (json == NULL && error != NULL)
        utf8_make_printable(error->text); /* it quotes the input */
    return json;
}

json_t *json_read_string(const char *bytes, size_t length) {
    return length > 0 && *bytes == '"' ? json_loadb(bytes, length, JSON_DECODE_ANY, NULL) : NULL;
}

/* A string keeps its length, so it can be changed in place. */
static void json_read_make_printable(json_t *json) {
    const char *key;
    json_t *value;
    size_t i;

    if (json_is_string(json))
        utf8_make_printable((char *)(uintptr_t)json_string_value(json));
    json_array_foreach (json, i, value)
        json_read_make_printable(value);
    json_object_foreach (json, key, value)
        json_read_make_printable(value);
}

json_t *json_read(const char *bytes, size_t length, json_error_t *error) {
    json_t *json = json_read_as_is(bytes, length, error);

    json_read_make_printable(json);
    return json;
}

/* 0, or the value of errno. */
static int json_read_all(FILE *file, struct buffer *content) {
    char bytes[16 * 1024];
    size_t length;

    while ((length = fread(bytes, 1, sizeof bytes, file)) > 0)
        if (!buffer_append(content, bytes, length))
            return ENOMEM;
    return ferror(file) ? errno : 0;
}

json_t *json_read_file(const char *path, json_error_t *error) {
    struct buffer content = {0};
    FILE *file = fopen(path, "re");
    int failed = file == NULL ? errno : json_read_all(file, &content);
    json_t *json = NULL;

    if (failed == 0) {
        json = json_read(content.bytes, content.length, error);
    } else if (error != NULL) {
        *error = (json_error_t){.line = -1, .column = -1};
        text_copy(error->text, sizeof error->text, strerror(failed));
    }
    if (file != NULL)
        (void)fclose(file); /* only read */
    buffer_free(&content);
    return json;
}
