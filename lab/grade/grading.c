/* Checks a student's file and prints the result. */
#include "grading.h"

#include "json_text.h"
#include "model.h"
#include "shell_word.h"
#include "student.h"
#include "user_command.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void grading_refuse(struct grading *grading, enum grading_file file, const char *why) {
    grading->file = file;
    (void)snprintf(grading->why, sizeof grading->why, "%s", why);
    attempt_make_plain(grading->why);
}

static void make_each(struct grading *grading, struct pair *pair, const struct values *values,
                      struct student_file *file) {
    assert(grading->chapter.check_count > 0 && grading->chapter.check_count <= CHAPTER_CHECKS);
    for (size_t i = 0; i < grading->chapter.check_count; i++) {
        struct attempt *attempt = &grading->attempts[i];

        attempt_make(pair, &grading->chapter.checks[i], values, attempt);
        attempt->line = student_line(file, attempt->crashed_at);
        if (attempt->end == ATTEMPT_STOPPED || attempt->end == ATTEMPT_BROKEN) {
            grading->file = attempt->end == ATTEMPT_STOPPED ? GRADING_STOPPED : GRADING_BROKEN;
            (void)snprintf(grading->why, sizeof grading->why, "%s", attempt->summary);
            return;
        }
        grading->attempted++;
        if (grading->is_first && attempt->end != ATTEMPT_HOLDS)
            break;
    }
    grading->file = GRADING_CHECKED;
}

static void make_all(struct grading *grading, const char *path, struct student_file *file,
                     const volatile bool *is_interrupted) {
    struct pair pair = {.path = file->object, .is_interrupted = is_interrupted};
    struct values values;

    if (values_read(&values, path, grading->seed) != 0) {
        grading_refuse(grading, GRADING_BROKEN, strerror(errno));
        return;
    }
    make_each(grading, &pair, &values, file);
    pair_leave(&pair);
}

/* A link is not missing, even if its target is. */
static bool is_missing(const char *path) {
    return faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) != 0 &&
           (errno == ENOENT || errno == ENOTDIR);
}

void grading_make(struct grading *grading, const char *path, const volatile bool *is_interrupted) {
    struct student_file file;

    grading->attempted = 0;
    grading->why[0] = grading->warnings[0] = '\0';
    if (is_missing(path)) {
        grading_refuse(grading, GRADING_MISSING, "this file was not handed in");
        return;
    }
    switch (student_build(path, grading->name, &file)) {
    case STUDENT_OK:
        memcpy(grading->warnings, file.warnings, sizeof grading->warnings);
        make_all(grading, path, &file, is_interrupted);
        break;
    case STUDENT_REFUSED:
        grading_refuse(grading, GRADING_REFUSED, file.message);
        break;
    case STUDENT_BROKEN:
        grading_refuse(grading, GRADING_BROKEN, file.message);
        break;
    }
    assert(grading->file != GRADING_CHECKED || grading->is_first ||
           grading->attempted == grading->chapter.check_count);
    if (*is_interrupted)
        grading->file = GRADING_STOPPED;
    student_remove(&file);
}

int grading_points(const struct grading *grading) {
    int points = 0;

    assert(grading->attempted <= grading->chapter.check_count);
    for (size_t i = 0; i < grading->attempted; i++)
        if (grading->attempts[i].end == ATTEMPT_HOLDS)
            points += grading->chapter.checks[i].points;
    assert(points <= 100); /* chapter_read() has added up those of all checks */
    return points;
}

/* ---- for people */

static void print_bound(const struct check *check, const struct attempt *attempt, FILE *to) {
    char faults[MODEL_FAULTS_TEXT];

    fprintf(to, "--orders %d --instances %d --stock %d --preemptions %d --faults %s", check->orders,
            check->instances, attempt->stock, check->preemptions,
            check->faults == 0 ? "none" : model_faults_write(check->faults, ",", faults));
    if (check->others > 0)
        fprintf(to, " --others %d", check->others);
    if (attempt->version > 0)
        fprintf(to, " --first-version %d", attempt->version);
    if (check->serves_all)
        fputs(" --serves-all", to);
    if (check->knows_all)
        fputs(" --knows-all", to);
    if (attempt->fence > 0)
        fprintf(to, " --first-fence %d", attempt->fence);
    if (check->stall_ms > 0)
        fprintf(to, " --stall-ms %d", check->stall_ms);
    if (check->options[0] != '\0') {
        fputs(" --options ", to);
        shell_word_print(check->options, strlen(check->options), to);
    }
}

/* The reason, after its place in the file. */
static void print_reason(const struct grading *grading, const struct attempt *attempt, FILE *to) {
    if (attempt->line > 0)
        fprintf(to, "%s:%d: ", grading->name, attempt->line);
    fprintf(to, "%s\n", attempt->summary);
}

static void print_failure(const struct grading *grading, size_t i, FILE *to, bool has_story) {
    const struct attempt *attempt = &grading->attempts[i];
    const struct check *check = &grading->chapter.checks[i];

    fputs("      ", to);
    print_reason(grading, attempt, to);
    if (has_story && attempt->story[0] != '\0')
        fprintf(to, "%s", attempt->story);
    if (attempt->id[0] != '\0') {
        fprintf(to, "      See it: %s explore ", user_command(USER_EXPLORER));
        shell_word_print(grading->name, strlen(grading->name), to);
        fputc(' ', to);
        print_bound(check, attempt, to);
        fprintf(to, " --replay %s\n", attempt->id);
    }
    fputs("      Next: ", to);
    user_command_print_text(attempt->advice != NULL ? attempt->advice : check->advice, to);
    fputc('\n', to);
}

/* The length of the first sentence, without its full stop; at most 120. */
static int first_sentence(const char *text) {
    const char *end = strstr(text, ". ");
    const size_t length = end != NULL ? (size_t)(end - text) : strnlen(text, 120);

    return length < 120 ? (int)length : 120;
}

/* How a check failed, in a few words. */
static void print_short(const struct attempt *attempt, FILE *to) {
    if (attempt->end == ATTEMPT_VIOLATED && attempt->violated > 0)
        fprintf(to, ": %" PRId64 " of %" PRId64 " schedules fail", attempt->violated,
                attempt->schedules);
    else if (attempt->end == ATTEMPT_DIED)
        fputs(": it crashes", to);
    else if (attempt->end == ATTEMPT_ENDLESS)
        fputs(": it does not end", to);
    else if (attempt->end == ATTEMPT_INCOMPLETE)
        fputs(": it has too many schedules", to);
    else
        fprintf(to, ": %.*s", first_sentence(attempt->summary), attempt->summary);
}

/* Print one check that was attempted, in a line. Return true if it holds. */
static bool print_line(const struct grading *grading, size_t i, FILE *to) {
    const struct attempt *attempt = &grading->attempts[i];
    const struct check *check = &grading->chapter.checks[i];
    const bool holds = attempt->end == ATTEMPT_HOLDS;

    assert(i < grading->attempted);
    fprintf(to, "  %-6s %3d of %3d  %s", holds ? "holds" : "FAILS", holds ? check->points : 0,
            check->points, check->name);
    if (holds)
        fprintf(to, ": all %" PRId64 " schedules", attempt->schedules);
    else
        print_short(attempt, to);
    fputc('\n', to);
    return holds;
}

/* The checks that hold say nothing of more than this. */
static void print_not_asked(const struct chapter *chapter, FILE *to) {
    int orders = 0, stock = 0, preemptions = 0, others = 0;
    unsigned faults = 0;
    char names[MODEL_FAULTS_TEXT];

    for (size_t i = 0; i < chapter->check_count; i++) {
        const struct check *check = &chapter->checks[i];

        orders = check->orders > orders ? check->orders : orders;
        stock = check->stock.most > stock ? check->stock.most : stock;
        preemptions = check->preemptions > preemptions ? check->preemptions : preemptions;
        others = check->others > others ? check->others : others;
        faults |= check->faults;
    }
    fprintf(to, "  Not asked: more than %d orders, %d units or %d preemptions", orders, stock,
            preemptions);
    if (others > 0)
        fprintf(to, "; more than %d sales at another shop between the reads and writes of a sale",
                others);
    if (faults != SURVIVES_ALL)
        fprintf(to, "; the faults %s", model_faults_write(SURVIVES_ALL & ~faults, ", ", names));
    fputc('\n', to);
}

/* An editor jumps to a place in the first line. */
static void print_place(const struct grading *grading, FILE *to) {
    if (grading->file != GRADING_CHECKED)
        fprintf(to, "%s\n", grading->why);
    for (size_t i = 0; i < grading->attempted; i++)
        if (grading->attempts[i].line > 0) {
            print_reason(grading, &grading->attempts[i], to);
            return;
        }
}

void grading_print(const struct grading *grading, FILE *to, bool has_story) {
    size_t failed = 0;

    if (has_story) {
        print_place(grading, to);
        fputs(grading->warnings, to);
    }
    fprintf(to, "Chapter %d, %s: ", grading->chapter.number, grading->chapter.title);
    shell_word_print(grading->name, strlen(grading->name), to);
    fputc('\n', to);
    if (grading->file != GRADING_CHECKED && !has_story)
        fprintf(to, "  %s\n", grading->why);
    for (size_t i = 0; i < grading->attempted; i++)
        if (!print_line(grading, i, to) && failed++ == 0)
            print_failure(grading, i, to, has_story);
    if (grading->file == GRADING_CHECKED && grading->attempted < grading->chapter.check_count)
        fputs("  The other checks were not run.\n", to);
    fprintf(to, "  %d of 100 points\n", grading_points(grading));
    if (grading_points(grading) == 100)
        print_not_asked(&grading->chapter, to);
}

/* ---- Gradescope's results.json (its documentation: Autograder specifications, Output format) */

/* A new string with the text about one check. */
static json_t *output_of(const struct grading *grading, size_t i) {
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    json_t *string;

    if (to == NULL)
        return NULL;
    if (!print_line(grading, i, to))
        print_failure(grading, i, to, true);
    string = fclose(to) == 0 ? json_string(text) : NULL;
    free(text);
    return string;
}

static json_t *test_of(const struct grading *grading, size_t i) {
    const struct check *check = &grading->chapter.checks[i];
    const struct attempt *attempt = &grading->attempts[i];
    const bool is_attempted = i < grading->attempted;
    const bool holds = is_attempted && attempt->end == ATTEMPT_HOLDS;
    char number[40];

    (void)snprintf(number, sizeof number, "%d.%zu", grading->chapter.number, i + 1);
    return JSON_TEXT_OBJECT(
        {"name", json_text(check->name)}, {"number", json_text(number)},
        {"score", json_integer(holds ? check->points : 0)},
        {"max_score", json_integer(check->points)},
        {"status", json_text(holds ? "passed" : "failed")}, {"visibility", json_text("visible")},
        {"output", is_attempted ? output_of(grading, i) : json_text(grading->why)},
        {"extra_data",
         JSON_TEXT_OBJECT({"file", json_text(grading->name)},
                          {"schedules", json_integer(is_attempted ? attempt->schedules : 0)},
                          {"replay", json_text(is_attempted ? attempt->id : "")})});
}

json_t *grading_tests(const struct grading *grading) {
    json_t *tests = json_array();

    for (size_t i = 0; i < grading->chapter.check_count; i++)
        json_text_append(&tests, test_of(grading, i));
    return tests;
}

int grading_write_results(json_t *tests, FILE *to) {
    json_int_t points = 0;
    const json_t *test;
    size_t i;

    json_array_foreach (tests, i, test)
        points += json_integer_value(json_object_get(test, "score"));
    errno = ENOMEM;
    return json_text_print(JSON_TEXT_OBJECT({"score", json_integer(points)},
                                            {"output_format", json_text("text")},
                                            {"visibility", json_text("visible")}, {"tests", tests}),
                           to);
}
