/* Opens, writes and closes the files for a pull request. */
#include "ci_files.h"

#include "clock.h"
#include "complain.h"
#include "digest.h"
#include "environment.h"
#include "exit_code.h"
#include "file_error.h"
#include "junit.h"

#include <assert.h>
#include <sys/stat.h>
#include <unistd.h>

/* Its text stays until all files are open. */
static int open_one(FILE **file, const char *flag, const char *path, struct why *why) {
    *file = path != NULL && path[0] != '\0' ? fopen(path, "ae") : NULL;
    if (*file != NULL || path == NULL || path[0] == '\0')
        return 0;
    return why_set(why, "--%s %.1000s: %s", flag, path, file_error(errno));
}

static bool is_regular(FILE *file, const char *path, struct stat *found) {
    return (file != NULL ? fstat(fileno(file), found) : stat(path, found)) == 0 &&
           S_ISREG(found->st_mode);
}

/* Names may differ: a link, or ./ before the name. The other file is at `path` if `other` is
 * NULL. */
static bool is_same(FILE *file, FILE *other, const char *path) {
    struct stat a, b;

    return file != NULL && is_regular(file, "", &a) && is_regular(other, path, &b) &&
           a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* The file behind stdout, as in `--markdown /dev/stdout >>FILE`, keeps its text. */
static void clear(FILE *file) {
    if (file != NULL && !is_same(file, stdout, ""))
        (void)!ftruncate(fileno(file), 0); /* a pipe or a device has nothing to clear */
}

static void forget(FILE **file) {
    if (*file != NULL)
        (void)fclose(*file);
    *file = NULL;
}

static int open_both(struct ci_files *files, const char *junit, const char *markdown,
                     struct why *why) {
    const char *output = files->options->output;

    if (open_one(&files->junit, "junit", junit, why) != 0 ||
        open_one(&files->markdown, "markdown", markdown, why) != 0)
        return -1;
    if (is_same(files->junit, files->markdown, "") || is_same(files->junit, NULL, output) ||
        is_same(files->markdown, NULL, output))
        return why_set(why, "--junit, --markdown and --output each need a file of their own");
    return 0;
}

int ci_files_open(struct ci_files *files, const struct options *options, struct why *why) {
    const bool is_diff = options->command == COMMAND_DIFF;

    *files = (struct ci_files){.options = options};
    if (!is_diff && options->command != COMMAND_FIRE && options->command != COMMAND_CHECK)
        return 0;
    if (open_both(files, is_diff ? "" : options->junit, options->markdown, why) != 0) {
        forget(&files->junit);
        forget(&files->markdown);
        return -1;
    }
    clear(files->junit);
    clear(files->markdown);
    return 0;
}

/* After `rc` of writing it. The first error counts. */
static int close_one(FILE **file, const char *flag, const char *path, int rc, struct why *why) {
    int error = errno;

    if (fclose(*file) != 0 && rc == 0) {
        rc = -1;
        error = errno;
    }
    *file = NULL;
    return rc == 0 ? 0 : why_set(why, "--%s %.1000s: %s", flag, path, file_error(error));
}

int ci_files_end_markdown(struct ci_files *files, struct why *why) {
    assert(files->markdown != NULL);
    return close_one(&files->markdown, "markdown", files->options->markdown,
                     fflush(files->markdown) == 0 && !ferror(files->markdown) ? 0 : -1, why);
}

int ci_files_write(struct ci_files *files, const struct summary *summary, const json_t *environment,
                   struct why *why) {
    int rc = 0;

    if (files->junit != NULL)
        rc = close_one(&files->junit, "junit", files->options->junit,
                       junit_write(summary, environment, files->junit), why);
    if (files->markdown != NULL &&
        close_one(&files->markdown, "markdown", files->options->markdown,
                  digest_write(summary, environment, files->markdown), why) != 0)
        rc = -1;
    return rc;
}

int ci_files_close(struct ci_files *files, int exit_code) {
    const int64_t now_us = clock_wall_us();
    struct summary nothing = {.options = files->options,
                              .exit_code = exit_code,
                              .started_us = now_us,
                              .ended_us = now_us};
    struct why why;
    json_t *environment;
    int rc;

    if (files->junit == NULL && files->markdown == NULL)
        return exit_code;
    environment = environment_json(&nothing);
    rc = ci_files_write(files, &nothing, environment, &why);
    json_decref(environment);
    if (rc == 0)
        return exit_code;
    complain("loadgen", "%s", why.text);
    return EXIT_INTERNAL;
}
