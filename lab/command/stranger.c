/* Builds the file, starts its process, and prints how that ended. */
#include "stranger.h"

#include "command.h"
#include "complain.h"
#include "plan.h"
#include "student.h"
#include "values.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

static struct {
    struct student_file file;
    struct pupil pupil;
    struct plan plan;
    bool is_met;
} stranger;

static int print_end(const char *path, enum plan_end end, const char *why) {
    static const int codes[] = {
        [PLAN_OK] = 0,
        [PLAN_DIED] = EXIT_VIOLATED,
        [PLAN_ENDLESS] = EXIT_VIOLATED,
        [PLAN_DIFFERS] = EXIT_VIOLATED,
        [PLAN_TOO_LARGE] = EXIT_INCOMPLETE,
        [PLAN_STOPPED] = EXIT_INTERRUPTED,
        [PLAN_BROKEN] = EXIT_INTERNAL,
    };
    const int line = student_line(&stranger.file, stranger.plan.crashed_at);
    char shown[PATH_MAX];

    if (end == PLAN_STOPPED)
        return codes[end];
    student_show_path(shown, path);
    if (line > 0)
        fprintf(stderr, "%s:%d: %s\n", shown, line, why);
    else
        fprintf(stderr, "%s: %s\n", shown, why);
    return codes[end];
}

static int stranger_refuse(const char *command, enum student_end end, const char *why) {
    if (end != STUDENT_BROKEN)
        fprintf(stderr, "%s\n", why);
    else
        complain(command, "%s", why);
    return end == STUDENT_BROKEN ? EXIT_INTERNAL : EXIT_USAGE;
}

int stranger_load(const char *command, const char *path, const volatile bool *is_interrupted,
                  const struct strategy **strategy) {
    struct pupil_hello hello;
    struct why why;
    const enum student_end built = student_build(path, path, &stranger.file);
    struct values values;
    enum pupil_end met;

    if (built != STUDENT_OK)
        return stranger_refuse(command, built, stranger.file.message);
    if (values_read(&values, path, 0) != 0)
        return stranger_refuse(command, STUDENT_BROKEN, strerror(errno));
    met = pupil_start(&stranger.pupil, stranger.file.object, 0, is_interrupted, &hello, &why);
    if (met != PUPIL_OK)
        return print_end(path, plan_end_of(met), why.text);
    stranger.is_met = true;
    if (hello.loaded != STUDENT_OK) {
        (void)why_set(&why, "%.400s: %s", path, hello.why);
        return stranger_refuse(command, hello.loaded, why.text);
    }
    plan_begin(&stranger.plan, &stranger.pupil, &hello, values.seed);
    stranger.plan.most_calls = UINT64_MAX; /* Ctrl-C ends it */
    *strategy = &stranger.plan.strategy;
    return 0;
}

const char *stranger_object(void) {
    return stranger.file.object;
}

bool stranger_is_well(void) {
    return stranger.plan.end == PLAN_OK;
}

int stranger_end(const char *path) {
    return stranger_is_well() ? 0 : print_end(path, stranger.plan.end, stranger.plan.why.text);
}

void stranger_forget(void) {
    (void)fflush(stdout);
    fputs(stranger.file.warnings, stderr);
    if (stranger.is_met) {
        plan_free(&stranger.plan);
        pupil_stop(&stranger.pupil);
    }
    student_remove(&stranger.file);
}
