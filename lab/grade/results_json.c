/* Gradescope's results.json, as its documentation has it (Autograder specifications, Output
 * format).
 */
#include "grading.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>

/* What is told of one check, as a new string. */
static json_t *output_of(const struct grading *grading, size_t i) {
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    json_t *string;

    if (to == NULL)
        return NULL;
    grading_print_check(grading, i, to, true);
    string = fclose(to) == 0 ? json_string(text) : NULL;
    free(text);
    return string;
}

static json_t *test_of(const struct grading *grading, size_t i) {
    const struct check *check = &grading->chapter.checks[i];
    const struct attempt *attempt = &grading->attempts[i];
    const bool is_attempted = i < grading->attempted;
    const bool holds = is_attempted && attempt->end == ATTEMPT_HOLDS;
    char number[16];

    (void)snprintf(number, sizeof number, "%d.%zu", grading->chapter.number, i + 1);
    return json_pack("{s:s, s:s, s:i, s:i, s:s, s:s, s:o*, s:{s:s, s:I, s:s}}", "name", check->name,
                     "number", number, "score", holds ? check->points : 0, "max_score",
                     check->points, "status", holds ? "passed" : "failed", "visibility", "visible",
                     "output", is_attempted ? output_of(grading, i) : json_string(grading->why),
                     "extra_data", "file", grading->name, "schedules",
                     (json_int_t)(is_attempted ? attempt->schedules : 0), "replay",
                     is_attempted ? attempt->id : "");
}

int gradings_write_json(const struct grading *gradings, size_t count, FILE *to) {
    json_t *tests = json_array(), *whole;
    int points = 0, err = tests == NULL;

    for (size_t i = 0; i < count && err == 0; i++) {
        points += grading_points(&gradings[i]);
        for (size_t j = 0; j < gradings[i].chapter.check_count && err == 0; j++)
            err = json_array_append_new(tests, test_of(&gradings[i], j));
    }
    whole = json_pack("{s:i, s:s, s:s, s:o}", "score", points, "output_format", "text",
                      "visibility", "visible", "tests", tests);
    if (err == 0 && whole != NULL)
        err = json_dumpf(whole, to, JSON_INDENT(2)) != 0 || fputc('\n', to) == EOF;
    else
        errno = ENOMEM;
    json_decref(whole);
    return err == 0 && whole != NULL ? 0 : -1;
}
