/* The files for a pull request: --junit and --markdown. They are opened before the run, so that a
 * place that cannot be written stops it. They are written at its end, also if it failed: a run
 * without a finished round leaves a file that says so, not an empty file. */
#ifndef LOADGEN_CI_FILES_H
#define LOADGEN_CI_FILES_H

#include "summary.h"
#include "why.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

struct ci_files {
    const struct options *options;
    FILE *junit, *markdown; /* NULL: not asked for, or written */
};

/* Open the files of the command: `diff` has no --junit, and other commands than a run, `check` and
 * `diff` have none. `options` must outlive it. 0, and the files are empty; or -1 and `why`: nothing
 * is open, and the files keep their text. A file that is stdout keeps its text, too. */
__attribute__((warn_unused_result)) int ci_files_open(struct ci_files *files,
                                                      const struct options *options,
                                                      struct why *why);

/* Write the run, and close. `environment` is that of env.json, or NULL. 0; or -1 and `why`, and the
 * other file is written. */
__attribute__((warn_unused_result)) int ci_files_write(struct ci_files *files,
                                                       const struct summary *summary,
                                                       const json_t *environment, struct why *why);

/* The caller has written the file of --markdown: close it. 0, or -1 and `why`. */
__attribute__((warn_unused_result)) int ci_files_end_markdown(struct ci_files *files,
                                                              struct why *why);

/* Write a run without a round into each file that is still open, and close it. Returns the exit
 * code of the program: `exit_code`; or EXIT_INTERNAL if a file could not be written, and stderr
 * says so. */
int ci_files_close(struct ci_files *files, int exit_code);

#endif
