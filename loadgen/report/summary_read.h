/* summary.json of an earlier run, read back: the one place that knows what may be wrong with it. It
 * may have been cut, edited, or written by another program, so it is bounded before it is parsed.
 */
#ifndef LOADGEN_SUMMARY_READ_H
#define LOADGEN_SUMMARY_READ_H

#include "why.h"

#include <jansson.h>
#include <stddef.h>

#define SUMMARY_MAX                                                                                \
    (8 * 1024 * 1024) /* bytes, of one that others may write; a strategy takes 20,000 */

/* Each is an object with an array `strategies`, a new reference; or NULL, and `why` says why. */

/* Of DIR/summary.json. */
__attribute__((warn_unused_result)) json_t *summary_read(const char *folder, struct why *why);
/* Of a NUL-terminated text of `length` bytes, whoever wrote it, on a small stack; `why` lacks its
 * subject: "is not JSON: ...". */
__attribute__((warn_unused_result)) json_t *summary_parse(const char *text, size_t length,
                                                          struct why *why);
/* DIR/env.json, whatever it is; `why` is "" when there is none. */
__attribute__((warn_unused_result)) json_t *summary_read_environment(const char *folder,
                                                                     struct why *why);

/* A member that is a text, else "". */
const char *summary_text(const json_t *object, const char *key);
/* The `i`th strategy, and its name as it was given; NULL and "" beyond the last. */
const json_t *summary_strategy(const json_t *summary, size_t i);
const char *summary_given(const json_t *summary, size_t i);
/* How often the anomaly of this name was found under the strategy, which may be NULL. */
json_int_t summary_anomaly_count(const json_t *strategy, const char *name);

#endif
