/* A table of text cells. Each column has the width of its text; the table fits into a line. */
#ifndef LOADGEN_TABLE_H
#define LOADGEN_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define TABLE_COLUMNS 16
#define TABLE_CELL    64 /* bytes */
#define TABLE_NAME    16 /* characters that distinguish a name from others */

/* Colours of a terminal, for cells. */
#define TABLE_RED    "\033[31m"
#define TABLE_GREEN  "\033[32m"
#define TABLE_YELLOW "\033[33m"
#define TABLE_PLAIN  "\033[0m"

struct table_row {
    char cell[TABLE_COLUMNS][TABLE_CELL]; /* UTF-8 */
    const char *colour[TABLE_COLUMNS];    /* TABLE_RED, ..., or NULL */
};

/* The number of terminal columns of `text`: one per character. */
size_t table_width(const char *text);

/* The width of lines for `to`: COLUMNS of the environment, else the width of the terminal, else 80.
 * At most 120, because longer lines are hard to read. */
size_t table_columns(FILE *to);

/* Fills a cell; cuts text that does not fit. */
__attribute__((format(printf, 2, 3))) void table_fill(char cell[TABLE_CELL], const char *format,
                                                      ...);

/* Prints the rows; aligns the first `left` columns (at most 3) to the left, the others to the
 * right. An empty column takes no room. If the rows do not fit into `width`, the gaps are narrowed;
 * then the leftmost column is cut, to at least TABLE_NAME characters, and the second, to at least
 * 12. Colours appear only on a terminal with colours, and not if NO_COLOR is set
 * (https://no-color.org). */
void table_print(const struct table_row *rows, size_t count, size_t left, size_t width, FILE *to);

/* If the rows would not fit even then, removes columns in this `order`; 0 ends it. */
void table_narrow(struct table_row *rows, size_t count, size_t left, size_t width,
                  const unsigned char *order);

/* Removes column `c` if every row below the first has only "-" in it, or, if `is_zero_nothing`,
 * only "0" or "-". */
void table_hide_empty(struct table_row *rows, size_t count, size_t c, bool is_zero_nothing);

/* Prints one indented paragraph of at most `width` columns: the meanings of the remaining columns
 * (NULL: none), and `more`, which may be NULL. */
void table_print_legend(const struct table_row *head, const char *const meanings[TABLE_COLUMNS],
                        const char *more, size_t width, FILE *to);

/* Prints `text` in lines of at most `width` columns, broken at spaces. The first line is indented
 * by `first`, the others by `indent`. */
void table_print_indented(const char *text, size_t first, size_t indent, size_t width, FILE *to);

/* The same for a formatted text of at most 4 KB, in the width of table_columns(). The first line is
 * indented by `indent`, the others by 2 more. */
__attribute__((format(printf, 3, 4))) void table_say(FILE *to, size_t indent, const char *format,
                                                     ...);

#endif
