/* A student's file, checked. */
#include "grading.h"

#include "student.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void make_all(struct grading *grading, const char *object,
                     const volatile bool *is_interrupted) {
    assert(grading->chapter.check_count > 0 && grading->chapter.check_count <= CHAPTER_CHECKS);
    for (size_t i = 0; i < grading->chapter.check_count; i++) {
        struct attempt *attempt = &grading->attempts[i];

        attempt_make(object, &grading->chapter.checks[i], is_interrupted, attempt);
        if (attempt->end == ATTEMPT_STOPPED || attempt->end == ATTEMPT_BROKEN) {
            grading->file = attempt->end == ATTEMPT_STOPPED ? GRADING_STOPPED : GRADING_BROKEN;
            (void)snprintf(grading->why, sizeof grading->why, "%s", attempt->summary);
            return;
        }
        grading->attempted++;
    }
    grading->file = GRADING_CHECKED;
}

static void grading_refuse(struct grading *grading, enum grading_file file, const char *why) {
    grading->file = file;
    (void)snprintf(grading->why, sizeof grading->why, "%s", why);
    attempt_make_plain(grading->why);
}

/* A link is there, wherever it leads. */
static bool is_missing(const char *path) {
    return faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) != 0 &&
           (errno == ENOENT || errno == ENOTDIR);
}

void grading_make(struct grading *grading, const char *path, const volatile bool *is_interrupted) {
    struct student_file file;

    grading->attempted = 0;
    grading->why[0] = '\0';
    if (is_missing(path)) {
        grading_refuse(grading, GRADING_MISSING, "this file was not handed in");
        return;
    }
    switch (student_build(path, &file)) {
    case STUDENT_OK:
        make_all(grading, file.object, is_interrupted);
        break;
    case STUDENT_REFUSED:
        grading_refuse(grading, GRADING_REFUSED, file.message);
        break;
    case STUDENT_BROKEN:
        grading_refuse(grading, GRADING_BROKEN, file.message);
        break;
    }
    assert(grading->file != GRADING_CHECKED || grading->attempted == grading->chapter.check_count);
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
