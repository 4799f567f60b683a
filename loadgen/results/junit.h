/* The file of --junit: a run as a report of tests, in the XML that Jenkins, GitLab and others read.
 *
 *     testsuite           the run; its properties are the seed, the rate, the revision, the command
 *     loadgen.run         one test: the run came to its end
 *     loadgen.verdict     a test for each round of each strategy. An unexpected anomaly is a
 *                         failure. INCONCLUSIVE is an error: the job fails with exit code 2, and
 *                         a test that is only skipped would not show why. A round that was not run,
 *                         not finished or not judged is skipped. With --repeat and an expected anomaly, one more
 *                         test fails if no round showed that anomaly.
 *     loadgen.threshold   a test for each threshold and strategy
 *
 * XML 1.0 forbids most control characters: U+FFFD replaces them, and bytes that are not UTF-8. */
#ifndef LOADGEN_JUNIT_H
#define LOADGEN_JUNIT_H

#include "summary.h"

#include <jansson.h>
#include <stdio.h>

/* The summary may be of a run without a finished round. `environment` is that of env.json, or NULL.
 * 0; or -1 when it could not be written, with errno. */
__attribute__((warn_unused_result)) int junit_write(const struct summary *summary,
                                                    const json_t *environment, FILE *to);

#endif
