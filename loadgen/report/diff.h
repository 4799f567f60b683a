/* Two runs side by side: what changed from summary A to summary B.
 *
 *     {"a": {"name", "started_at"}, "b": {...},
 *      "unequal": [{"setting", "a", "b"}],         what makes their figures hard to compare
 *      "strategies": [{"strategy", "is_worse",
 *                      "verdict": {"a", "b"}, "sold": {...}, "anomalies": {...},
 *                      "p50_ms": {"a", "b", "ratio"}, "p99_ms", "rate",
 *                      "postgres_per_order", "redis_per_order",
 *                      "anomaly_counts": [{"name", "a", "b"}]}],
 *      "only_a": ["mutex"], "only_b": [],
 *      "is_worse": false}
 *
 * A value that a summary does not tell is null, and so is a ratio B / A that follows from it. */
#ifndef LOADGEN_DIFF_H
#define LOADGEN_DIFF_H

#include <jansson.h>
#include <stdio.h>

/* A new reference, or NULL without memory. The environments (env.json) may be NULL. A strategy is
 * worse when its verdict is (VALID, INCONCLUSIVE, VIOLATED) or when an anomaly appeared. */
__attribute__((warn_unused_result)) json_t *diff_make(const json_t *a, const json_t *b,
                                                      const json_t *env_a, const json_t *env_b);

/* Print it for people; the folders are as they were given. */
void diff_print(const json_t *diff, const char *folder_a, const char *folder_b, FILE *to);

#endif
