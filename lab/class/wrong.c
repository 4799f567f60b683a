/* Counts the failures of each check, and writes the page. */
#include "wrong.h"

#include "xml_text.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

extern const char class_wrong_html[], class_wrong_style[];

/* A check over all students. */
struct wrong {
    size_t chapter, check;
    size_t graded, failed; /* files in which the check ran */
    const json_t *example; /* the test of the failing file of the most students */
    size_t example_has;    /* students with that file */
};

static bool wrong_is_failed(const json_t *test) {
    const char *status = json_string_value(json_object_get(test, "status"));

    return status != NULL && strcmp(status, "failed") == 0;
}

/* The students with this file. */
static size_t owners_of(const struct class *class, size_t chapter, const json_t *tests) {
    size_t count = 0;

    for (size_t i = 0; i < class->roster.count; i++)
        count += class_result_of(class, i, chapter)->tests == tests;
    return count;
}

static struct wrong wrong_count(const struct class *class, size_t chapter, size_t check) {
    struct wrong wrong = {.chapter = chapter, .check = check};

    for (size_t i = 0; i < class->roster.count; i++) {
        const struct class_result *result = class_result_of(class, i, chapter);
        const json_t *test = json_array_get(result->tests, check);
        size_t owners;

        if (result->tests == NULL || result->file != GRADING_CHECKED)
            continue;
        wrong.graded++;
        if (!wrong_is_failed(test))
            continue;
        wrong.failed++;
        owners = owners_of(class, chapter, result->tests);
        if (owners > wrong.example_has) {
            wrong.example = test;
            wrong.example_has = owners;
        }
    }
    return wrong;
}

static int by_failed(const void *a, const void *b) {
    const struct wrong *one = a, *other = b;

    if (one->failed != other->failed)
        return one->failed > other->failed ? -1 : 1;
    if (one->chapter != other->chapter)
        return one->chapter < other->chapter ? -1 : 1;
    return one->check < other->check ? -1 : 1;
}

/* ---- the parts, by their marks in wrong.html */

static void put_check(const struct class *class, const struct wrong *wrong, FILE *to) {
    const struct chapter *chapter = &class->chapters[wrong->chapter];
    const char *output = json_string_value(json_object_get(wrong->example, "output"));

    fprintf(to, "<details><summary><span class=\"share\">%zu of %zu failed</span> chapter %d, ",
            wrong->failed, wrong->graded, chapter->number);
    xml_text_put(chapter->checks[wrong->check].name, false, to);
    fprintf(to, "<span class=\"bar\" style=\"width: %zu%%\"></span></summary>\n<pre>",
            100 * wrong->failed / wrong->graded);
    xml_text_put(output != NULL ? output : "", false, to);
    fputs("</pre></details>\n", to);
}

static int put_checks(const struct wrong_page *page, FILE *to) {
    const struct class *class = page->class;
    struct wrong *all = calloc(CHAPTERS * (size_t)CHAPTER_CHECKS, sizeof *all);
    size_t count = 0, failed = 0;

    if (all == NULL)
        return -1;
    for (size_t i = 0; i < class->chapter_count; i++)
        for (size_t j = 0; j < class->chapters[i].check_count; j++)
            all[count++] = wrong_count(class, i, j);
    qsort(all, count, sizeof *all, by_failed);
    while (failed < count && all[failed].failed > 0)
        failed++;
    fprintf(
        to,
        "<p class=\"faint\">%zu students. Of the files in which a check ran; open a line for one "
        "file that fails it.</p>\n",
        class->roster.count);
    if (failed == 0)
        fputs("<p class=\"held\">No check failed.</p>\n", to);
    for (size_t i = 0; i < failed; i++)
        put_check(class, &all[i], to);
    free(all);
    return 0;
}

static int put_chapters(const struct wrong_page *page, FILE *to) {
    const struct class *class = page->class;

    fputs("<div class=\"wide\"><table><thead><tr><th>chapter<th>handed in<th>all points<th>not "
          "compiled or refused<th>not graded<th>points on average<tbody>\n",
          to);
    for (size_t i = 0; i < class->chapter_count; i++) {
        size_t has = 0, full = 0, refused = 0, ungraded = 0;
        int points = 0;

        for (size_t j = 0; j < class->roster.count; j++) {
            const struct class_result *result = class_result_of(class, j, i);

            has += result->file != GRADING_MISSING;
            full += result->points == 100;
            refused += result->file == GRADING_REFUSED;
            ungraded += result->tests == NULL;
            points += result->points;
        }
        fprintf(to, "<tr><td>%d, ", class->chapters[i].number);
        xml_text_put(class->chapters[i].title, false, to);
        fprintf(to, "<td>%zu<td>%zu<td>%zu<td>%zu<td>%.0f\n", has, full, refused, ungraded,
                has > ungraded ? (double)points / (double)(has - ungraded) : 0);
    }
    fputs("</table></div>\n", to);
    return 0;
}

static void put_student(const struct class *class, size_t student, FILE *to) {
    fputs("<tr><td>", to);
    xml_text_put(class->roster.students[student].shown, false, to);
    for (size_t i = 0; i < class->chapter_count; i++) {
        const struct class_result *result = class_result_of(class, student, i);

        if (result->tests == NULL)
            fputs("<td>?", to);
        else if (result->file == GRADING_MISSING)
            fputs("<td>–", to);
        else
            fprintf(to, "<td>%d", result->points);
    }
    fprintf(to, "<td>%d\n", class_points(class, student));
}

static int put_students(const struct wrong_page *page, FILE *to) {
    const struct class *class = page->class;

    if (!page->has_names)
        return 0;
    fputs("<h2>Students</h2>\n<div class=\"wide\"><table><thead><tr><th>student", to);
    for (size_t i = 0; i < class->chapter_count; i++)
        fprintf(to, "<th>%d", class->chapters[i].number);
    fputs("<th>sum<tbody>\n", to);
    for (size_t i = 0; i < class->roster.count; i++)
        put_student(class, i, to);
    fputs("</table></div>\n", to);
    return 0;
}

static int put_style(const struct wrong_page *page, FILE *to) {
    (void)page;
    fputs(class_wrong_style, to);
    return 0;
}

static const struct {
    const char *mark;
    int (*put)(const struct wrong_page *page, FILE *to);
} parts[] = {{"@style@", put_style},
             {"@checks@", put_checks},
             {"@chapters@", put_chapters},
             {"@students@", put_students}};

int wrong_write_page(const void *data, FILE *to) {
    const char *at = class_wrong_html;

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const char *mark = strstr(at, parts[i].mark);

        assert(mark != NULL);
        fprintf(to, "%.*s", (int)(mark - at), at);
        if (parts[i].put(data, to) != 0) {
            errno = ENOMEM;
            return -1;
        }
        at = mark + strlen(parts[i].mark);
    }
    fputs(at, to);
    return ferror(to) ? -1 : 0;
}
