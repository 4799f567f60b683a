/* See reader.h. */
#include "reader.h"

#include "shop.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define FOUND_BYTES 40 /* of the text that an error quotes */

static int column_of(const struct reader *reader, const char *at) {
    int column = 1;

    while (at > reader->start && at[-1] != '\n')
        column += (*--at & 0xC0) != 0x80;
    return column;
}

int reader_line(const struct reader *reader, const char *at) {
    int line = 1;

    for (const char *c = reader->start; c < at; c++)
        line += *c == '\n';
    return line;
}

int reader_fail(struct reader *reader, const char *at, const char *format, ...) {
    char text[1024];
    va_list list;

    assert(at >= reader->start && at <= reader->end);
    va_start(list, format);
    (void)vsnprintf(text, sizeof text, format, list);
    va_end(list);
    return why_set(reader->why, "%.400s:%d:%d: %s", reader->path, reader_line(reader, at),
                   column_of(reader, at), text);
}

int reader_no_memory(struct reader *reader) {
    return why_set(reader->why, "%.400s: out of memory", reader->path);
}

int reader_expected(struct reader *reader, const char *at, const char *what) {
    const size_t length = strcspn(at, "\n");
    size_t shown = length < FOUND_BYTES ? length : FOUND_BYTES;

    while (shown < length && (at[shown] & 0xC0) == 0x80)
        shown--;
    if (at == reader->end)
        return reader_fail(reader, at, "expected %s, found the end of the file", what);
    if (length == 0)
        return reader_fail(reader, at, "expected %s, found the end of the line", what);
    return reader_fail(reader, at, "expected %s, found: %.*s%s", what, (int)shown, at,
                       shown < length ? "…" : "");
}

static void reader_find_line_end(struct reader *reader) {
    reader->line_end = reader->at + strcspn(reader->at, "\n");
}

void reader_skip_blanks(struct reader *reader) {
    while (reader_is_blank(*reader->at))
        reader->at++;
}

void reader_leave_line(struct reader *reader) {
    reader_find_line_end(reader);
    reader->at = reader->line_end < reader->end ? reader->line_end + 1 : reader->end;
    reader_find_line_end(reader);
}

bool reader_next(struct reader *reader) {
    reader_find_line_end(reader);
    for (;;) {
        reader_skip_blanks(reader);
        if (reader->at == reader->end)
            return false;
        if (*reader->at != '\n' && *reader->at != '#')
            return true;
        reader_leave_line(reader);
    }
}

int reader_finish_line(struct reader *reader) {
    reader_skip_blanks(reader);
    if (reader->at < reader->line_end && (*reader->at != '#' || !reader_is_blank(reader->at[-1])))
        return reader_expected(reader, reader->at, "the end of the line");
    reader_leave_line(reader);
    return 0;
}

bool reader_at_word(const struct reader *reader, const char *word) {
    return reader_word(reader) == strlen(word) && strncmp(reader->at, word, strlen(word)) == 0;
}

size_t reader_word(const struct reader *reader) {
    return strcspn(reader->at, " \t\n");
}

const char *reader_value_end(struct reader *reader) {
    const char *end = reader->at;

    for (const char *c = reader->at; c < reader->line_end; c++) {
        if (*c == '#' && (c == reader->at || reader_is_blank(c[-1])))
            break;
        if (*c == '#') {
            (void)reader_fail(reader, c,
                              "expected \\# for a # of the value, or a blank before "
                              "the # of a comment");
            return NULL;
        }
        if (*c == '\\' && c + 1 < reader->line_end)
            c++;
        if (!reader_is_blank(*c))
            end = c + 1;
    }
    return end;
}

void *reader_grow(struct reader *reader, void *items, size_t count, size_t item_bytes,
                  const char *what) {
    void *larger;

    if (count == SHOP_ITEMS) {
        (void)reader_fail(reader, reader->at, "expected at most %d %s", SHOP_ITEMS, what);
        return NULL;
    }
    larger = memory_grow(reader->memory, items, count, item_bytes);
    if (larger == NULL)
        (void)reader_no_memory(reader);
    return larger;
}
