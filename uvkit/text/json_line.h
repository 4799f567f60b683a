/* Writes a JSON object member by member into the caller's memory, without a tree. */
#ifndef UVKIT_JSON_LINE_H
#define UVKIT_JSON_LINE_H

#include <stddef.h>
#include <stdint.h>

struct json_line {
    char *bytes;
    size_t size, length; /* length > size: it did not fit */
};

/* `bytes` has room for at least one byte. */
struct json_line json_line_begin(char *bytes, size_t size);
/* `text` is UTF-8 (utf8.h); `name` needs no escape. */
void json_line_text(struct json_line *line, const char *name, const char *text);
void json_line_integer(struct json_line *line, const char *name, int64_t number);
/* Its length; 0: it did not fit. There is no NUL. */
size_t json_line_end(struct json_line *line);

#endif
