/* A grading, told to people. */
#include "grading.h"

#include "model.h"
#include "shell_word.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

static void grading_text_print_bound(const struct check *check, FILE *to) {
    bool is_first = true;

    fprintf(to, "--orders %d --instances %d --stock %d --preemptions %d --faults ", check->orders,
            check->instances, check->stock, check->preemptions);
    for (int i = 0; i < FAULT_COUNT; i++)
        if ((check->faults >> i & 1U) != 0) {
            fprintf(to, "%s%s", is_first ? "" : ",", sale_fault_name((enum sale_fault)i));
            is_first = false;
        }
    if (is_first)
        fputs("none", to);
    if (check->options[0] != '\0') {
        fputs(" --options ", to);
        shell_word_print(check->options, strlen(check->options), to);
    }
}

static void print_failure(const struct grading *grading, size_t i, FILE *to, bool is_whole) {
    const struct attempt *attempt = &grading->attempts[i];
    const struct check *check = &grading->chapter.checks[i];

    fprintf(to, "      %s\n", attempt->summary);
    if (is_whole && attempt->story[0] != '\0')
        fprintf(to, "%s", attempt->story);
    if (attempt->id[0] != '\0') {
        fputs("      See it: lab explore ", to);
        shell_word_print(grading->name, strlen(grading->name), to);
        fputc(' ', to);
        grading_text_print_bound(check, to);
        fprintf(to, " --replay %s\n", attempt->id);
    }
    fprintf(to, "      Next: %s\n", check->advice);
}

void grading_print_check(const struct grading *grading, size_t i, FILE *to, bool is_whole) {
    const struct attempt *attempt = &grading->attempts[i];
    const struct check *check = &grading->chapter.checks[i];
    const bool holds = attempt->end == ATTEMPT_HOLDS;

    assert(i < grading->attempted);
    fprintf(to, "  %-6s %3d of %3d  %s", holds ? "holds" : "FAILS", holds ? check->points : 0,
            check->points, check->name);
    if (holds)
        fprintf(to, ": all %" PRId64 " schedules\n", attempt->schedules);
    else if (attempt->end == ATTEMPT_VIOLATED && attempt->violated > 0)
        fprintf(to, ": %" PRId64 " of %" PRId64 " schedules fail\n", attempt->violated,
                attempt->schedules);
    else
        fprintf(to, "\n");
    if (!holds)
        print_failure(grading, i, to, is_whole);
}

void grading_print(const struct grading *grading, FILE *to, bool is_whole) {
    fprintf(to, "Chapter %d, %s: ", grading->chapter.number, grading->chapter.title);
    shell_word_print(grading->name, strlen(grading->name), to);
    fputc('\n', to);
    if (grading->file != GRADING_CHECKED)
        fprintf(to, "  %s\n", grading->why);
    for (size_t i = 0; i < grading->attempted; i++)
        grading_print_check(grading, i, to, is_whole);
    fprintf(to, "  %d of 100 points\n", grading_points(grading));
}
