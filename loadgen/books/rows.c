/* The first character of the output tells its form: { or [ begins JSON; else the first line names
 * the columns of CSV, or of TSV if it has a tab. */
#include "rows.h"

#include "buffer.h"
#include "json_read.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIELDS_MAX 64 /* of a line */

const char *const column_names[COLUMN_COUNT] = {
#define X(id, name) name,
    COLUMNS(X)
#undef X
};

static int refuse_memory(const struct rows *rows, struct why *why) {
    return why_set(why, "%s: out of memory", rows->query);
}

enum column column_find(const char *name, size_t length) {
    size_t i = 0;

    while (i < COLUMN_COUNT &&
           (strlen(column_names[i]) != length || memcmp(column_names[i], name, length) != 0))
        i++;
    return (enum column)i;
}

int rows_add(struct rows *rows, struct why *why) {
    const size_t capacity = rows->capacity == 0 ? 16 : 2 * rows->capacity;
    struct row *more;

    if (rows->count == ROWS_MAX)
        return why_set(why, "%s: more than %d rows", rows->query, ROWS_MAX);
    if (rows->count == rows->capacity) {
        more = realloc(rows->items, capacity * sizeof *more);
        if (more == NULL)
            return refuse_memory(rows, why);
        rows->items = more;
        rows->capacity = capacity;
    }
    rows->items[rows->count++] = (struct row){{NULL}};
    return 0;
}

int rows_set(struct rows *rows, enum column column, const char *text, size_t length,
             struct why *why) {
    char **cell = &rows->items[rows->count - 1].cells[column];
    char *copy = strndup(text, length);

    if (copy == NULL)
        return refuse_memory(rows, why);
    free(*cell);
    *cell = copy;
    return 0;
}

void rows_free(struct rows *rows) {
    for (size_t i = 0; i < rows->count; i++)
        for (size_t c = 0; c < COLUMN_COUNT; c++)
            free(rows->items[i].cells[c]);
    free(rows->items);
    *rows = (struct rows){.query = rows->query};
}

/* ---- JSON */

static int set_json(struct rows *rows, enum column column, const json_t *value, struct why *why) {
    char *text;
    int code;

    if (json_is_null(value))
        return 0;
    if (json_is_string(value))
        return rows_set(rows, column, json_string_value(value), json_string_length(value), why);
    if (!json_is_number(value))
        return why_set(why, "%s, row %zu: the column %s is neither a text nor a number",
                       rows->query, rows->count, column_names[column]);
    text = json_dumps(value, JSON_ENCODE_ANY);
    if (text == NULL)
        return refuse_memory(rows, why);
    code = rows_set(rows, column, text, strlen(text), why);
    free(text);
    return code;
}

static int take_object(struct rows *rows, json_t *object, struct why *why) {
    const char *name;
    json_t *value;

    if (rows_add(rows, why) != 0)
        return -1;
    if (!json_is_object(object))
        return why_set(why, "%s, row %zu: it is not a JSON object", rows->query, rows->count);
    rows->has_head = true;
    json_object_foreach (object, name, value) {
        const enum column column = column_find(name, strlen(name));

        if (column == COLUMN_COUNT)
            continue;
        rows->has[column] = true;
        if (set_json(rows, column, value, why) != 0)
            return -1;
    }
    return 0;
}

static int read_json(struct rows *rows, const char *text, size_t length, struct why *why) {
    json_error_t error;
    json_t *json = json_read_as_is(text, length, &error), *one;
    int code = 0;
    size_t i;

    if (json == NULL)
        return why_set(why,
                       "%s, row %zu: this is not JSON: %s; print one object a line, as jq -c does",
                       rows->query, rows->count + 1, error.text);
    if (json_is_object(json))
        code = take_object(rows, json, why);
    else
        json_array_foreach (json, i, one)
            if ((code = take_object(rows, one, why)) != 0)
                break;
    json_decref(json);
    return code;
}

static int read_json_lines(struct rows *rows, const char *text, struct why *why) {
    while (*text != '\0') {
        const size_t length = strcspn(text, "\n");

        if (strspn(text, " \t\r") < length && read_json(rows, text, length, why) != 0)
            return -1;
        text += length + (text[length] != '\0');
    }
    return 0;
}

/* ---- CSV and TSV */

struct line_reader {
    struct rows *rows;
    const char *at;
    char separator;
    struct buffer field;
    bool is_null;                    /* the field that was read last */
    enum column columns[FIELDS_MAX]; /* of the head */
    size_t column_count;
    struct why *why;
};

static bool take_byte(struct line_reader *reader, char byte) {
    return buffer_append(&reader->field, &byte, 1);
}

/* Reads from behind the first quote to behind the last one. */
static int read_quoted(struct line_reader *reader) {
    for (; *reader->at != '\0'; reader->at++) {
        if (*reader->at == '"' && *++reader->at != '"')
            return 0;
        if (!take_byte(reader, *reader->at))
            return refuse_memory(reader->rows, reader->why);
    }
    return why_set(reader->why, "%s, row %zu: a \" is not closed", reader->rows->query,
                   reader->rows->count);
}

/* As `mariadb --batch` and COPY of Postgres write it. */
static char unescape(char letter) {
    static const char letters[] = "tnr0", bytes[] = "\t\n\r?";
    const char *found = strchr(letters, letter);

    return found != NULL ? bytes[found - letters] : letter;
}

static bool is_at_end(const struct line_reader *reader) {
    return *reader->at == '\0' || *reader->at == '\n' || *reader->at == reader->separator ||
           (reader->at[0] == '\r' && (reader->at[1] == '\n' || reader->at[1] == '\0'));
}

static int read_plain(struct line_reader *reader) {
    const char *from = reader->at;
    size_t length;

    for (; !is_at_end(reader); reader->at++) {
        char byte = *reader->at;

        if (reader->separator == '\t' && byte == '\\' && reader->at[1] != '\0' &&
            reader->at[1] != '\n')
            byte = unescape(*++reader->at);
        if (!take_byte(reader, byte))
            return refuse_memory(reader->rows, reader->why);
    }
    length = (size_t)(reader->at - from);
    reader->is_null = reader->separator == ',' ? length == 0
                                               : (length == 4 && memcmp(from, "NULL", 4) == 0) ||
                                                     (length == 2 && memcmp(from, "\\N", 2) == 0);
    return 0;
}

/* Reads one field into `field`, and goes behind its separator. Returns 1 if the line has more; 0 at
 * its end; -1 with the reason. */
static int read_field(struct line_reader *reader) {
    reader->field.length = 0;
    reader->is_null = false;
    if (reader->separator == ',' && *reader->at == '"') {
        reader->at++;
        if (read_quoted(reader) != 0)
            return -1;
        if (!is_at_end(reader))
            return why_set(reader->why, "%s, row %zu: text stands behind a closing \"",
                           reader->rows->query, reader->rows->count);
    } else if (read_plain(reader) != 0) {
        return -1;
    }
    if (*reader->at == reader->separator) {
        reader->at++;
        return 1;
    }
    reader->at += *reader->at == '\r';
    reader->at += *reader->at == '\n';
    return 0;
}

static int read_head(struct line_reader *reader) {
    int code;

    reader->rows->has_head = true;
    do {
        if ((code = read_field(reader)) < 0)
            return -1;
        if (reader->column_count == FIELDS_MAX)
            return why_set(reader->why, "%s: more than %d columns", reader->rows->query,
                           FIELDS_MAX);
        reader->columns[reader->column_count] =
            column_find(reader->field.length > 0 ? reader->field.bytes : "", reader->field.length);
        if (reader->columns[reader->column_count] != COLUMN_COUNT)
            reader->rows->has[reader->columns[reader->column_count]] = true;
        reader->column_count++;
    } while (code == 1);
    return 0;
}

static int read_line(struct line_reader *reader) {
    size_t count = 0;
    int code;

    if (rows_add(reader->rows, reader->why) != 0)
        return -1;
    do {
        if ((code = read_field(reader)) < 0)
            return -1;
        if (count < reader->column_count && reader->columns[count] != COLUMN_COUNT &&
            !reader->is_null &&
            rows_set(reader->rows, reader->columns[count],
                     reader->field.length > 0 ? reader->field.bytes : "", reader->field.length,
                     reader->why) != 0)
            return -1;
        count++;
    } while (code == 1);
    if (count != reader->column_count)
        return why_set(reader->why, "%s, row %zu: it has %zu fields, and the first line has %zu",
                       reader->rows->query, reader->rows->count, count, reader->column_count);
    return 0;
}

static int read_separated(struct rows *rows, const char *text, struct why *why) {
    struct line_reader reader = {.rows = rows, .at = text, .separator = ',', .why = why};
    int code;

    if (memchr(text, '\t', strcspn(text, "\n")) != NULL)
        reader.separator = '\t';
    code = read_head(&reader);
    while (code == 0 && *reader.at != '\0')
        code = read_line(&reader);
    buffer_free(&reader.field);
    return code;
}

int rows_read(struct rows *rows, const char *text, size_t length, struct why *why) {
    if (strlen(text) != length)
        return why_set(why, "%s: the output has a NUL", rows->query);
    text += strncmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    text += strspn(text, " \r\n");
    if (*text == '[')
        return read_json(rows, text, strlen(text), why);
    if (*text == '{')
        return read_json_lines(rows, text, why);
    return *text != '\0' ? read_separated(rows, text, why) : 0;
}
