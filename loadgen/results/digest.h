/* The file of --markdown: a run in one screen, for a pull request on GitHub or GitLab.
 *
 * It has the exit code, a table of verdicts, a sentence for each strategy, the thresholds, and how
 * the run was made. The counterexample of the first violation that was not expected is folded. Text
 * that others wrote stands in code (markdown.h). */
#ifndef LOADGEN_DIGEST_H
#define LOADGEN_DIGEST_H

#include "summary.h"

#include <jansson.h>
#include <stdio.h>

/* The summary may be of a run without a finished round. `environment` is that of env.json, or NULL.
 * 0; or -1 when it could not be written, with errno. */
__attribute__((warn_unused_result)) int digest_write(const struct summary *summary,
                                                     const json_t *environment, FILE *to);

#endif
