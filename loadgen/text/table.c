/* Lays out a table and wraps lines. */
#include "table.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define CUT_COLUMNS 2
#define LEGEND      1024
#define WIDTH       80
#define WIDTH_MIN   20
#define WIDTH_MAX   120

/* The least width of the two leftmost columns. */
static const size_t cut_min[CUT_COLUMNS] = {TABLE_NAME, 12};

size_t table_columns(FILE *to) {
    const char *given = getenv("COLUMNS");
    struct winsize size = {.ws_col = 0};
    long columns = given != NULL ? strtol(given, NULL, 10) : 0;
    int fd = fileno(to);

    if (columns <= 0 && fd >= 0 && ioctl(fd, TIOCGWINSZ, &size) == 0)
        columns = size.ws_col;
    if (columns <= 0)
        return WIDTH;
    return columns < WIDTH_MIN ? WIDTH_MIN : columns > WIDTH_MAX ? WIDTH_MAX : (size_t)columns;
}

static bool has_colours(FILE *to) {
    const char *refused = getenv("NO_COLOR"), *terminal = getenv("TERM");
    int fd = fileno(to);

    return fd >= 0 && isatty(fd) && (refused == NULL || refused[0] == '\0') &&
           (terminal == NULL || strcmp(terminal, "dumb") != 0);
}

static bool is_character_start(char byte) {
    return ((unsigned char)byte & 0xc0) != 0x80;
}

size_t table_width(const char *text) {
    size_t width = 0;

    for (; *text != '\0'; text++)
        width += is_character_start(*text);
    return width;
}

void table_fill(char cell[TABLE_CELL], const char *format, ...) {
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(cell, TABLE_CELL, format, arguments);
    va_end(arguments);
}

/* Prints at most `width` characters; an ellipsis is the last if text was cut. */
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

struct layout {
    size_t widths[TABLE_COLUMNS];
    size_t left, gap;
    bool is_coloured;
};

static void table_measure(const struct table_row *rows, size_t count, struct layout *layout) {
    for (size_t i = 0; i < count; i++)
        for (size_t c = 0; c < TABLE_COLUMNS; c++) {
            size_t width = table_width(rows[i].cell[c]);

            if (width > layout->widths[c])
                layout->widths[c] = width;
        }
}

static void table_fit(struct layout *layout, size_t width) {
    size_t total = 0, columns = 0;

    for (size_t c = 0; c < TABLE_COLUMNS; c++) {
        total += layout->widths[c];
        columns += layout->widths[c] > 0;
    }
    if (columns == 0)
        return;
    layout->gap = total + 2 * (columns - 1) <= width ? 2 : 1;
    total += layout->gap * (columns - 1);
    for (size_t c = 0; c < CUT_COLUMNS && c < layout->left; c++)
        for (; total > width && layout->widths[c] > cut_min[c]; total--)
            layout->widths[c]--;
}

/* Prints the spaces together with the text after them, so no line ends with a space. */
static void table_print_row(const struct table_row *row, const struct layout *layout, FILE *to) {
    size_t spaces = 0;
    bool is_first = true;

    for (size_t c = 0; c < TABLE_COLUMNS; c++) {
        size_t width = layout->widths[c], own = table_width(row->cell[c]);
        bool is_coloured = layout->is_coloured && row->colour[c] != NULL;

        if (width == 0)
            continue;
        own = own < width ? own : width;
        spaces += (is_first ? 0 : layout->gap) + (c < layout->left ? 0 : width - own);
        is_first = false;
        if (own > 0) {
            fprintf(to, "%*s", (int)spaces, "");
            spaces = 0;
            fputs(is_coloured ? row->colour[c] : "", to);
            print_cut(row->cell[c], width, to);
            fputs(is_coloured ? TABLE_PLAIN : "", to);
        }
        spaces += c < layout->left ? width - own : 0;
    }
    fputc('\n', to);
}

void table_print(const struct table_row *rows, size_t count, size_t left, size_t width, FILE *to) {
    struct layout layout = {.left = left, .is_coloured = has_colours(to)};

    assert(left <= TABLE_COLUMNS);
    table_measure(rows, count, &layout);
    table_fit(&layout, width);
    for (size_t i = 0; i < count; i++)
        table_print_row(&rows[i], &layout, to);
}

/* The width with the narrowest gaps and the least leftmost columns. */
static size_t least_width(const struct layout *layout) {
    size_t total = 0, columns = 0;

    for (size_t c = 0; c < TABLE_COLUMNS; c++) {
        bool is_cut = c < CUT_COLUMNS && c < layout->left && layout->widths[c] > cut_min[c];

        total += is_cut ? cut_min[c] : layout->widths[c];
        columns += layout->widths[c] > 0;
    }
    return total + columns - (columns > 0);
}

static void hide(struct table_row *rows, size_t count, size_t c) {
    for (size_t i = 0; i < count; i++)
        rows[i].cell[c][0] = '\0';
}

void table_narrow(struct table_row *rows, size_t count, size_t left, size_t width,
                  const unsigned char *order) {
    struct layout layout = {.left = left};

    table_measure(rows, count, &layout);
    for (; *order != 0 && least_width(&layout) > width; order++) {
        assert(*order < TABLE_COLUMNS);
        hide(rows, count, *order);
        layout.widths[*order] = 0;
    }
}

void table_hide_empty(struct table_row *rows, size_t count, size_t c, bool is_zero_nothing) {
    assert(c < TABLE_COLUMNS);
    for (size_t i = 1; i < count; i++) {
        const char *text = rows[i].cell[c];

        if (text[0] != '\0' && strcmp(text, "-") != 0 &&
            !(is_zero_nothing && strcmp(text, "0") == 0))
            return;
    }
    hide(rows, count, c);
}

void table_print_legend(const struct table_row *head, const char *const meanings[TABLE_COLUMNS],
                        const char *more, size_t width, FILE *to) {
    char text[LEGEND] = "";
    size_t used = 0;

    for (size_t c = 0; c <= TABLE_COLUMNS && used < sizeof text; c++) {
        const char *one = c == TABLE_COLUMNS ? more : head->cell[c][0] != '\0' ? meanings[c] : NULL;

        if (one != NULL)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", used > 0 ? "; " : "",
                                     one);
    }
    if (used > 0)
        table_print_indented(text, 2, 2, width, to);
}

void table_print_indented(const char *text, size_t first, size_t indent, size_t width, FILE *to) {
    size_t column = first;
    bool is_begun = false;

    fprintf(to, "%*s", (int)first, "");
    while (*text != '\0') {
        size_t length = strcspn(text, " "), word_width = 0;

        for (size_t i = 0; i < length; i++)
            word_width += is_character_start(text[i]);
        if (is_begun && column + 1 + word_width > width) {
            fprintf(to, "\n%*s", (int)indent, "");
            column = indent;
        } else if (is_begun) {
            fputc(' ', to);
            column++;
        }
        fwrite(text, 1, length, to);
        column += word_width;
        is_begun = true;
        text += length;
        text += *text == ' ';
    }
    fputc('\n', to);
}

void table_say(FILE *to, size_t indent, const char *format, ...) {
    char text[4096];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    table_print_indented(text, indent, indent + 2, table_columns(to), to);
}
