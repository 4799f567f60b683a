/* Lays out a table and wraps lines. */
#include "report_table.h"

#include <stdbool.h>
#include <string.h>

#define LEFT_COLUMNS 2

/* What stays of the two left columns when there is no room. */
static const size_t left_min[LEFT_COLUMNS] = {6, 12};

static bool is_character_start(char byte) {
    return ((unsigned char)byte & 0xc0) != 0x80;
}

size_t table_width(const char *text) {
    size_t width = 0;

    for (; *text != '\0'; text++)
        width += is_character_start(*text);
    return width;
}

static void print_spaces(size_t count, FILE *to) {
    while (count-- > 0)
        fputc(' ', to);
}

/* At most `width` characters, the last one an ellipsis when something was cut. */
static void print_cut(const char *text, size_t width, FILE *to) {
    bool is_cut = table_width(text) > width;
    size_t room = is_cut ? width - 1 : width;

    for (; *text != '\0'; text++) {
        if (is_character_start(*text) && room-- == 0)
            break;
        fputc(*text, to);
    }
    if (is_cut)
        fputs("…", to);
}

static void print_cell(const char *text, size_t width, bool is_left, FILE *to) {
    size_t own = table_width(text) < width ? table_width(text) : width;

    if (!is_left)
        print_spaces(width - own, to);
    print_cut(text, width, to);
    if (is_left)
        print_spaces(width - own, to);
}

static void measure(const struct table_row *rows, size_t count, size_t widths[TABLE_COLUMNS]) {
    memset(widths, 0, TABLE_COLUMNS * sizeof widths[0]);
    for (size_t i = 0; i < count; i++) {
        for (size_t c = 0; c < TABLE_COLUMNS; c++) {
            size_t width = table_width(rows[i].cell[c]);

            if (width > widths[c])
                widths[c] = width;
        }
    }
}

/* Returns the gap between columns. */
static size_t fit(size_t widths[TABLE_COLUMNS], size_t width) {
    size_t total = 0, gap;

    for (size_t c = 0; c < TABLE_COLUMNS; c++)
        total += widths[c];
    gap = total + 2 * (TABLE_COLUMNS - 1) <= width ? 2 : 1;
    total += gap * (TABLE_COLUMNS - 1);
    for (size_t c = 0; c < LEFT_COLUMNS; c++) {
        while (total > width && widths[c] > left_min[c]) {
            widths[c]--;
            total--;
        }
    }
    return gap;
}

void table_print(const struct table_row *rows, size_t count, size_t width, FILE *to) {
    size_t widths[TABLE_COLUMNS], gap;

    measure(rows, count, widths);
    gap = fit(widths, width);
    for (size_t i = 0; i < count; i++) {
        for (size_t c = 0; c < TABLE_COLUMNS; c++) {
            print_spaces(c > 0 ? gap : 0, to);
            print_cell(rows[i].cell[c], widths[c], c < LEFT_COLUMNS, to);
        }
        fputc('\n', to);
    }
}

void table_print_wrapped(const char *text, size_t indent, size_t width, FILE *to) {
    size_t column = 0;

    while (*text != '\0') {
        int length = (int)strcspn(text, " ");
        char word[TABLE_CELL * 4];
        size_t word_width;

        snprintf(word, sizeof word, "%.*s", length, text);
        word_width = table_width(word);
        if (column > 0 && column + 1 + word_width > width) {
            fputc('\n', to);
            print_spaces(indent, to);
            column = indent;
        } else if (column > 0) {
            fputc(' ', to);
            column++;
        }
        fputs(word, to);
        column += word_width;
        text += length;
        text += *text == ' ';
    }
    fputc('\n', to);
}
