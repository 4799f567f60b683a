/* Writes the results of a class. */
#include "sheet.h"

#include "whole_file.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define NAME_LEAST 7
#define LINE_MOST  100

/* ---- for people */

static size_t columns_of(const char *text) {
    size_t columns = 0;

    for (; *text != '\0'; text++)
        columns += ((unsigned char)*text & 0xc0) != 0x80;
    return columns;
}

/* Print a text in `width` columns. A longer text ends with a period. */
static void print_name(const char *text, size_t width, FILE *to) {
    const size_t columns = columns_of(text);
    size_t left = columns > width ? width - 1 : columns;

    for (; *text != '\0'; text++) {
        if (((unsigned char)*text & 0xc0) != 0x80 && left-- == 0)
            break;
        putc(*text, to);
    }
    fprintf(to, "%s%*s", columns > width ? "." : "", (int)(columns > width ? 0 : width - columns),
            "");
}

/* A line has a name, five columns for each chapter, and eight for the sum. */
static size_t name_width(const struct class *class) {
    const size_t most = LINE_MOST - 8 - 5 * class->chapter_count;
    size_t width = NAME_LEAST;

    for (size_t i = 0; i < class->roster.count; i++) {
        const size_t columns = columns_of(class->roster.students[i].shown);

        width = columns > width ? columns : width;
    }
    return width < most ? width : most;
}

static void print_result(const struct class_result *result, FILE *to) {
    if (result->tests == NULL)
        fputs("    ?", to);
    else if (result->file == GRADING_MISSING)
        fputs("    -", to);
    else
        fprintf(to, " %4d", result->points);
}

static void sheet_print_table(const struct class *class, FILE *to) {
    const size_t width = name_width(class);

    fprintf(to, "%-*s", (int)width, "student");
    for (size_t i = 0; i < class->chapter_count; i++)
        fprintf(to, " %4d", class->chapters[i].number);
    fputs("   sum\n", to);
    for (size_t i = 0; i < class->roster.count; i++) {
        print_name(class->roster.students[i].shown, width, to);
        for (size_t j = 0; j < class->chapter_count; j++)
            print_result(class_result_of(class, i, j), to);
        fprintf(to, " %5d%s\n", class_points(class, i), class_ungraded(class, i) > 0 ? " ?" : "");
    }
    fprintf(to,
            "Of %zu points. -: not handed in, 0 points. ?: not graded, because of the machine; "
            "grade again.\n",
            100 * class->chapter_count);
}

/* Print why a student has no points or no grade for a file, each reason between the two texts. */
static void print_reasons(const struct class *class, size_t student, const char *before,
                          const char *after, FILE *to) {
    const struct roster_student *its = &class->roster.students[student];

    if (its->why != NULL)
        fprintf(to, "%s%s%s", before, its->why, after);
    for (size_t i = 0; i < class->chapter_count; i++) {
        const struct class_result *result = class_result_of(class, student, i);

        if (result->tests == NULL || result->file == GRADING_REFUSED)
            fprintf(to, "%schapter %d: %s%.300s%s", before, class->chapters[i].number,
                    result->tests == NULL ? "not graded: " : "",
                    result->file == GRADING_STOPPED ? "stopped" : result->why, after);
    }
}

void sheet_print(const struct class *class, FILE *to) {
    sheet_print_table(class, to);
    for (size_t i = 0; i < class->roster.count; i++) {
        char before[NAME_MAX + 3];

        (void)snprintf(before, sizeof before, "%s: ", class->roster.students[i].shown);
        print_reasons(class, i, before, "\n", to);
    }
}

/* ---- CSV */

/* A spreadsheet runs a text that begins with one of these. An apostrophe makes it a text. */
static void put_field(const char *text, FILE *to) {
    const char *danger = "=+-@\t\r";

    putc('"', to);
    if (*text != '\0' && strchr(danger, *text) != NULL)
        putc('\'', to);
    for (; *text != '\0'; text++)
        fprintf(to, *text == '"' ? "\"\"" : "%c", *text);
    putc('"', to);
}

static void put_remarks(const struct class *class, size_t student, FILE *to) {
    char *text = NULL;
    size_t size;
    FILE *memory = open_memstream(&text, &size);

    if (memory == NULL)
        return;
    print_reasons(class, student, "", "; ", memory);
    if (fclose(memory) == 0) {
        text[size > 2 ? size - 2 : 0] = '\0';
        put_field(text, to);
    }
    free(text);
}

int sheet_write_csv(const void *data, FILE *to) {
    const struct class *class = data;

    fputs("student", to);
    for (size_t i = 0; i < class->chapter_count; i++)
        fprintf(to, ",chapter %d", class->chapters[i].number);
    fputs(",sum,most,not graded,remarks\r\n", to);
    for (size_t i = 0; i < class->roster.count; i++) {
        put_field(class->roster.students[i].shown, to);
        for (size_t j = 0; j < class->chapter_count; j++) {
            const struct class_result *result = class_result_of(class, i, j);

            putc(',', to);
            if (result->tests != NULL)
                fprintf(to, "%d", result->points);
        }
        fprintf(to, ",%d,%zu,%zu,", class_points(class, i), 100 * class->chapter_count,
                class_ungraded(class, i));
        put_remarks(class, i, to);
        fputs("\r\n", to);
    }
    return ferror(to) ? -1 : 0;
}

/* ---- results.json */

struct one {
    const struct class *class;
    size_t student;
};

static int write_one(const void *data, FILE *to) {
    const struct one *one = data;
    json_t *tests = json_array();

    for (size_t i = 0; i < one->class->chapter_count && tests != NULL; i++)
        if (json_array_extend(tests, class_result_of(one->class, one->student, i)->tests) != 0) {
            json_decref(tests);
            tests = NULL;
        }
    return grading_write_results(tests, to);
}

static int make_folder(const char *path) {
    return mkdir(path, 0777) == 0 || errno == EEXIST ? 0 : -1;
}

int sheet_write_results(const struct class *class, const char *folder, struct why *why) {
    char path[PATH_MAX];

    if (make_folder(folder) != 0)
        return why_set(why, "%s: %s", folder, strerror(errno));
    for (size_t i = 0; i < class->roster.count; i++) {
        const struct one one = {class, i};
        const char *name = class->roster.students[i].name;

        if (class_ungraded(class, i) > 0)
            continue;
        if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path - 20)
            return why_set(why, "%s: the path is too long", folder);
        if (make_folder(path) != 0)
            return why_set(why, "%s: %s", path, strerror(errno));
        strcat(path, "/results.json");
        if (whole_file_write(path, write_one, &one) != 0)
            return why_set(why, "%s: %s", path, strerror(errno));
    }
    return 0;
}
