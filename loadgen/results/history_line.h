/* A line of a history: its bytes, its members, and their values. A history of a million orders has
 * three million lines, so a line is cut into its members without a tree of JSON. */
#ifndef LOADGEN_HISTORY_LINE_H
#define LOADGEN_HISTORY_LINE_H

#include "history_fields.h"
#include "why.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* A longer line is refused, so memory stays bounded. */
#define HISTORY_LINE_MOST ((size_t)1 << 20)

/* ---- the lines of a file */

/* Zeroed but for `from`, which the caller closes. */
struct history_lines {
    FILE *from;
    char *bytes;
    size_t begin, end; /* of the bytes that were read and are not yet told */
    size_t number;     /* of the last line, from 1 */
    bool is_cut;       /* the last line has no newline: it ends the file */
};

/* Sets `line` to the next line without its newline; text[length] is a NUL. It is valid until the
 * next call. Returns 1; 0 at the end of the file; or -1 with the reason in `why`. */
__attribute__((warn_unused_result)) int history_lines_next(struct history_lines *lines, char **line,
                                                           size_t *length, struct why *why);
/* Begins again with the first line. Returns 0, or -1 with errno: the file cannot be read twice. */
__attribute__((warn_unused_result)) int history_lines_rewind(struct history_lines *lines);
void history_lines_free(struct history_lines *lines);

/* ---- the members of a line */

#define HISTORY_MEMBERS 24

/* They stay inside the text of the line: keys without their quotes, values with them. */
struct history_member {
    const char *key, *value;
    size_t key_length, length;
};
struct history_line {
    size_t count;
    const struct history_member *type; /* one of `members` */
    /* The caller sets these for HISTORY_KEY, HISTORY_ANSWER, HISTORY_OWNED and HISTORY_NAME. */
    struct texts *texts;
    struct ledger *ledger;
    /* NULL, or finds the text of an id that somebody keeps already; or returns NULL. */
    const char *(*find_kept)(void *keeper, const char *id);
    void *keeper;
    struct history_member members[HISTORY_MEMBERS];
};

/* Cuts the line into members, which stay in `text`. text[length] must be a NUL. Returns 0; or -1
 * with the reason in `why`, like history_line_read(). */
__attribute__((warn_unused_result)) int history_line_cut(struct history_line *line,
                                                         const char *text, size_t length,
                                                         struct why *why);
/* Whether the line has this type. */
bool history_line_is(const struct history_line *line, const char *type);
/* Reads the members into the structure `to`. Refuses a member that is missing, given twice,
 * unknown, of another type or out of range; `why` names it and what it must be. */
__attribute__((warn_unused_result)) int history_line_read(const struct history_line *line,
                                                          const struct history_field *fields,
                                                          void *to, struct why *why);

#endif
