/* Reads summary.json of an earlier run. All checks of it are here: the file may be cut, edited, or
 * written by another program, so its size is bounded before it is parsed. */
#ifndef LOADGEN_SUMMARY_READ_H
#define LOADGEN_SUMMARY_READ_H

#include "why.h"

#include <jansson.h>
#include <stddef.h>

#define SUMMARY_MAX (8 * 1024 * 1024) /* bytes; a strategy takes 20,000 */

/* Each returns a new reference to an object with an array `strategies`; or NULL, with the reason in
 * `why`. */

/* Reads FOLDER/summary.json. */
__attribute__((warn_unused_result)) json_t *summary_read(const char *folder, struct why *why);
/* Parses a NUL-terminated text of `length` bytes that anyone may have written; a small stack is
 * enough. `why` lacks its subject: "is not JSON: ...". */
__attribute__((warn_unused_result)) json_t *summary_parse(const char *text, size_t length,
                                                          struct why *why);
/* Reads FOLDER/env.json: any JSON. Returns NULL with an empty `why` if there is no such file. */
__attribute__((warn_unused_result)) json_t *summary_read_environment(const char *folder,
                                                                     struct why *why);

/* The text of a member, or "" if it is no text. */
const char *summary_text(const json_t *object, const char *key);
/* The value at a path such as "spread.p50_ms.median", or NULL. */
const json_t *summary_find(const json_t *from, const char *path);
/* The `i`th strategy, and its name as the user gave it; NULL and "" beyond the last. */
const json_t *summary_strategy(const json_t *summary, size_t i);
const char *summary_given(const json_t *summary, size_t i);
/* The entry of the other summary for the `i`th strategy, or NULL. If a strategy is listed twice,
 * the second of one summary belongs to the second of the other. */
const json_t *summary_partner(const json_t *of, size_t i, const json_t *among);
/* The count of the anomaly of this name under the strategy, which may be NULL. */
json_int_t summary_anomaly_count(const json_t *strategy, const char *name);

#endif
