/* Text that others wrote, in Markdown that GitHub and GitLab show: names, servers' messages.
 *
 * Such text stands only in code: a span or a block. There it makes no markup, no link and no
 * mention, and needs no escape but those below. */
#ifndef LOADGEN_MARKDOWN_H
#define LOADGEN_MARKDOWN_H

#include <stdio.h>

/* Print it as a code span of one line. A backquote in it makes the marks around it longer. "" is
 * printed as a dash. */
void markdown_code(const char *text, FILE *to);
/* The same in a cell of a table: a | is escaped. After a backslash it would end the cell even so: a
 * space stands between the two. */
void markdown_cell(const char *text, FILE *to);
/* Print its lines as a block of code, between empty lines. The marks around it are longer than any
 * row of backquotes in it. */
void markdown_block(const char *text, FILE *to);

#endif
