/* A table of text cells whose columns are as wide as they need to be and no wider than a line. */
#ifndef LOADGEN_REPORT_TABLE_H
#define LOADGEN_REPORT_TABLE_H

#include <stddef.h>
#include <stdio.h>

#define TABLE_COLUMNS 14
#define TABLE_CELL    64 /* bytes */

struct table_row {
    char cell[TABLE_COLUMNS][TABLE_CELL]; /* UTF-8 */
};

/* Columns on a terminal that `text` takes: its characters, one column each. */
size_t table_width(const char *text);

/* Print the rows, the first two columns to the left and the others to the right. When they do not
 * fit into `width` columns, the gaps are narrowed, and then the two left columns are cut. */
void table_print(const struct table_row *rows, size_t count, size_t width, FILE *to);

/* Print `text` in lines of at most `width` columns, broken at spaces; each but the first is
 * indented. */
void table_print_wrapped(const char *text, size_t indent, size_t width, FILE *to);

#endif
