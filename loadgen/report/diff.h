/* Two runs side by side: the changes from summary A to summary B.
 *
 *     {"a": {"name", "started_at"}, "b": {...},
 *      "unequal": [{"setting", "a", "b"}],         different conditions, which change figures
 *      "strategies": [{"strategy", "is_worse",
 *                      "verdict": {"a", "b"}, "sold": {...}, "anomalies": {...},
 *                      "p50_ms": {"a", "b", "ratio"}, "p99_ms", "rate",
 *                      "postgres_per_order", "redis_per_order",
 *                      "anomaly_counts": [{"name", "a", "b"}]}],
 *      "only_a": ["mutex"], "only_b": [],
 *      "is_worse": false,
 *      "limits": [...]}                            limit.h; the caller adds it
 *
 * A value that a summary lacks is null, and so is its ratio B / A. */
#ifndef LOADGEN_DIFF_H
#define LOADGEN_DIFF_H

#include "limit.h"

#include <jansson.h>
#include <stdio.h>

/* A new reference, or NULL without memory. The environments (env.json) may be NULL. A strategy is
 * worse if its verdict is further right in VALID, INCONCLUSIVE, VIOLATED, or if a new anomaly
 * appeared. */
__attribute__((warn_unused_result)) json_t *diff_make(const json_t *a, const json_t *b,
                                                      const json_t *env_a, const json_t *env_b);

/* What `diff` ends with, and why: 1 before 99 before 0. */
int diff_exit_code(const json_t *diff, const struct limit_outcomes *limits, const char **meaning);

/* Print it for people. The folders are printed as the user gave them. */
void diff_print(const json_t *diff, const char *folder_a, const char *folder_b,
                const struct limit_outcomes *limits, FILE *to);

/* The same in Markdown, for a pull request. */
void diff_print_markdown(const json_t *diff, const char *folder_a, const char *folder_b,
                         const struct limit_outcomes *limits, FILE *to);

#endif
