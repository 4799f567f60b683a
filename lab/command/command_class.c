/* Grades a class, prints its table, and writes its files. */
#include "command_class.h"

#include "alike.h"
#include "clock.h"
#include "command.h"
#include "complain.h"
#include "sheet.h"
#include "version.h"
#include "whole_file.h"
#include "wrong.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LINE_MS 10000 /* between two lines of progress, where no line can be overwritten */

static struct { int64_t begun_ms, told_ms; } progress;

static void command_class_tell(size_t ended, size_t files) {
    const int64_t now_ms = clock_now_ms();
    const bool is_terminal = isatty(STDERR_FILENO) != 0;

    if (!is_terminal && ended < files && now_ms < progress.told_ms + LINE_MS)
        return;
    progress.told_ms = now_ms;
    fprintf(stderr, "%slab grade: %zu of %zu different files, %" PRId64 " s%s",
            is_terminal ? "\r" : "", ended, files, (now_ms - progress.begun_ms) / 1000,
            is_terminal && ended < files ? "" : "\n");
    (void)fflush(stderr);
}

static size_t processors(void) {
    cpu_set_t usable;

    return sched_getaffinity(0, sizeof usable, &usable) == 0 ? (size_t)CPU_COUNT(&usable) : 1;
}

static int write_file(const char *option, const char *path,
                      int (*write)(const void *data, FILE *to), const void *data) {
    if (path[0] == '\0' || whole_file_write(path, write, data) == 0)
        return 0;
    complain("lab grade", "--%s %s: %s", option, path, strerror(errno));
    return EXIT_INTERNAL;
}

/* All are written, even if one cannot be. */
static int command_class_write(const struct command_class *its, const struct class *class) {
    const struct wrong_page page = {class, its->has_names};
    int code = write_file("csv", its->csv, sheet_write_csv, class);
    struct why why;

    if (write_file("page", its->page, wrong_write_page, &page) != 0)
        code = EXIT_INTERNAL;
    if (its->gradescope[0] != '\0' && sheet_write_results(class, its->gradescope, &why) != 0) {
        complain("lab grade", "--gradescope %s", why.text);
        code = EXIT_INTERNAL;
    }
    return code;
}

static int command_class_tell_all(const struct command_class *its, const struct class *class) {
    struct alikes alikes;
    size_t ungraded = 0;
    int code;

    sheet_print(class, stdout);
    alikes_find(class, &alikes);
    alikes_print(class, &alikes, stdout);
    alikes_free(&alikes);
    code = command_class_write(its, class);
    for (size_t i = 0; i < class->roster.count; i++)
        ungraded += class_ungraded(class, i);
    if (*its->is_interrupted)
        return EXIT_INTERRUPTED;
    return ungraded > 0 ? EXIT_INTERNAL : code;
}

int command_class(const struct command_class *its) {
    struct class class;
    struct why why;
    int code = EXIT_USAGE;

    if (class_read(&class, its->folder, its->chapters, (int)its->chapter, &why) != 0) {
        complain("lab grade", "%s", why.text);
    } else if (its->keep[0] != '\0' &&
               kept_open(&class.kept, its->keep, version_text(), &why) != 0) {
        complain("lab grade", "--keep %s", why.text);
        code = EXIT_INTERNAL;
    } else {
        class.seed = (uint64_t)its->seed;
        progress.begun_ms = progress.told_ms = clock_now_ms();
        class_grade(&class, its->processes > 0 ? (size_t)its->processes : processors(),
                    its->is_interrupted, command_class_tell);
        if (*its->is_interrupted && isatty(STDERR_FILENO) != 0)
            putc('\n', stderr); /* the line of progress has no end */
        code = command_class_tell_all(its, &class);
    }
    class_free(&class);
    return code;
}
