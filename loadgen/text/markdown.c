/* Puts text into code spans and blocks. */
#include "markdown.h"

#include "utf8.h"

#include <stdbool.h>
#include <string.h>

#define BLOCK_MARKS 3

/* The longest row of backquotes. */
static size_t longest_row(const char *text) {
    size_t longest = 0;

    while (*text != '\0') {
        size_t row = strspn(text, "`");

        longest = row > longest ? row : longest;
        text += row > 0 ? row : 1;
    }
    return longest;
}

static void put_marks(size_t count, FILE *to) {
    while (count-- > 0)
        putc('`', to);
}

/* Print the character that begins here, and return its end. A line break stays in a block. */
static const char *put_character(const char *text, bool is_block, FILE *to) {
    size_t length = utf8_printable(text);

    if (length > 0)
        fwrite(text, 1, length, to);
    else if (*text == '\n' && is_block)
        putc('\n', to);
    else
        putc(*text == '\n' || *text == '\t' ? ' ' : '?', to);
    return text + (length > 0 ? length : 1);
}

static void put_span(const char *text, bool is_cell, FILE *to) {
    const size_t marks = longest_row(text) + 1;

    if (text[0] == '\0') {
        putc('-', to);
        return;
    }
    put_marks(marks, to);
    if (marks > 1 || text[0] == ' ') /* of a space on each side, the reader takes one away */
        putc(' ', to);
    for (const char *at = text; *at != '\0'; at = put_character(at, false, to))
        if (*at == '|' && is_cell)
            fputs(at > text && at[-1] == '\\' ? " \\" : "\\", to);
    if (marks > 1 || text[0] == ' ')
        putc(' ', to);
    put_marks(marks, to);
}

void markdown_code(const char *text, FILE *to) {
    put_span(text, false, to);
}

void markdown_cell(const char *text, FILE *to) {
    put_span(text, true, to);
}

void markdown_block(const char *text, FILE *to) {
    const size_t row = longest_row(text), marks = row < BLOCK_MARKS ? BLOCK_MARKS : row + 1;
    const size_t length = strlen(text);

    putc('\n', to);
    put_marks(marks, to);
    fputs("text\n", to);
    while (*text != '\0')
        text = put_character(text, true, to);
    if (length > 0 && text[-1] != '\n')
        putc('\n', to);
    put_marks(marks, to);
    fputs("\n\n", to);
}
