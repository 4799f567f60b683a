/* A place in the text of a shop file, and the names with a value there. */
#ifndef LOADGEN_SHOP_READER_H
#define LOADGEN_SHOP_READER_H

#include "memory.h"
#include "names.h"
#include "why.h"

#include <stdbool.h>
#include <stddef.h>

/* The text is UTF-8 with LF as its line ends, and a NUL at `end`. */
struct reader {
    const char *path;
    const char *start, *at, *end;
    const char *line_end; /* of the line of `at`: its LF, or `end` */
    struct shop_memory *memory;
    struct names names;
    enum name_scope scope; /* names up to this scope have a value here */
    struct why *why;
};

/* Writes `path:line:column: ` and the text into `why`; the place is that of `at`. Returns -1. */
int reader_fail(struct reader *reader, const char *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same, and appends the text at `at`: `expected a number, found "ten"`. */
int reader_expected(struct reader *reader, const char *at, const char *what);
int reader_no_memory(struct reader *reader);

/* The line of a place, from 1. */
int reader_line(const struct reader *reader, const char *at);

/* Goes to the first character of the next line that has more than blanks and a comment, from the
 * beginning of a line. False at the end of the file. */
bool reader_next(struct reader *reader);
void reader_skip_blanks(struct reader *reader);
/* Goes behind the line. Returns -1 if more than blanks and a comment is left of it. */
int reader_finish_line(struct reader *reader);
/* Goes behind the line without a look at it. */
void reader_leave_line(struct reader *reader);

/* Whether the line goes on with this word, and then a blank, a comment, or its end. */
bool reader_at_word(const struct reader *reader, const char *word);
/* The length of the word here: up to a blank or the line's end. */
size_t reader_word(const struct reader *reader);
/* Where the unquoted value that begins here ends: before a comment, without blanks at its end.
 * Returns NULL with the reason if it has a # that may be a part of the value. */
const char *reader_value_end(struct reader *reader);

/* memory_grow() for a list of at most SHOP_ITEMS; NULL with the reason. */
void *reader_grow(struct reader *reader, void *items, size_t count, size_t item_bytes,
                  const char *what);

static inline bool reader_is_blank(char c) {
    return c == ' ' || c == '\t';
}

#endif
