/* A table of text cells whose columns are as wide as they need to be and no wider than a line. */
#ifndef LOADGEN_TABLE_H
#define LOADGEN_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define TABLE_COLUMNS 16
#define TABLE_CELL    64 /* bytes */
#define TABLE_NAME    16 /* characters of a name that tell it from others */

/* Colours of a terminal, for a row's cells. */
#define TABLE_RED    "\033[31m"
#define TABLE_GREEN  "\033[32m"
#define TABLE_YELLOW "\033[33m"
#define TABLE_PLAIN  "\033[0m"

struct table_row {
    char cell[TABLE_COLUMNS][TABLE_CELL]; /* UTF-8 */
    const char *colour[TABLE_COLUMNS];    /* TABLE_RED, ..., or NULL */
};

/* Columns on a terminal that `text` takes: its characters, one column each. */
size_t table_width(const char *text);

/* How wide what is printed to `to` may be: as COLUMNS in the environment says, else as the terminal
 * is, or 80; at most 120, as longer lines are hard to read. */
size_t table_columns(FILE *to);

/* Fill a cell; what does not fit is cut. */
__attribute__((format(printf, 2, 3))) void table_fill(char cell[TABLE_CELL], const char *format,
                                                      ...);

/* Print the rows, the first `left` columns (at most 3) to the left and the others to the right; a
 * column without any text takes no room. When they do not fit into `width` columns, the gaps are
 * narrowed, and then the leftmost column is cut to no fewer than TABLE_NAME characters and the
 * second to no fewer than 12. Colours only on a terminal that shows them, where nobody asked for
 * none with NO_COLOR (https://no-color.org). */
void table_print(const struct table_row *rows, size_t count, size_t left, size_t width, FILE *to);

/* When the rows would not fit even so, leave columns out as `order` says, the first of it first; 0
 * ends it. */
void table_narrow(struct table_row *rows, size_t count, size_t left, size_t width,
                  const unsigned char *order);

/* Leave column `c` out when no row below the first says more in it than "-", or, when
 * `is_zero_nothing`, than "0". */
void table_hide_empty(struct table_row *rows, size_t count, size_t c, bool is_zero_nothing);

/* Print what the columns that are not left out mean, `meanings` of each or NULL, and `more`, which
 * may be NULL, as one indented paragraph of at most `width` columns. */
void table_print_legend(const struct table_row *head, const char *const meanings[TABLE_COLUMNS],
                        const char *more, size_t width, FILE *to);

/* Print `text` in lines of at most `width` columns, broken at spaces: the first indented by
 * `first`, the others by `indent`. */
void table_print_indented(const char *text, size_t first, size_t indent, size_t width, FILE *to);

/* The same of a formatted text, of at most 4 KB, as wide as table_columns(): the first line
 * indented by `indent`, the others by 2 more. */
__attribute__((format(printf, 3, 4))) void table_say(FILE *to, size_t indent, const char *format,
                                                     ...);

#endif
