/* Foreign text in Markdown for GitHub and GitLab: names, messages of servers.
 *
 * Such text stands only in code: a span or a block. There it makes no markup, no link and no
 * mention, and needs only the escapes below. */
#ifndef LOADGEN_MARKDOWN_H
#define LOADGEN_MARKDOWN_H

#include <stdio.h>

/* Print it as a code span of one line. A backquote in it makes the marks around it longer. "" is
 * printed as a dash. */
void markdown_code(const char *text, FILE *to);
/* The same in a cell of a table: a | is escaped. If a backslash precedes a |, a space separates the
 * two, or the cell would end there. */
void markdown_cell(const char *text, FILE *to);
/* Print its lines as a block of code, between empty lines. The marks around it are longer than any
 * row of backquotes in it. */
void markdown_block(const char *text, FILE *to);

#endif
