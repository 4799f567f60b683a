/* What the two halves of thresholds share: threshold_parse.c reads them, threshold.c holds them. */
#ifndef LOADGEN_THRESHOLD_INTERNAL_H
#define LOADGEN_THRESHOLD_INTERNAL_H

#include "record.h"
#include "threshold.h"
#include "verdict.h"

enum metric_kind {
    METRIC_ANOMALY,
    METRIC_ANOMALIES,
    METRIC_OUTCOME,
    METRIC_OFFERED,
    METRIC_LATENCY,
    METRIC_SERVICE,
    METRIC_MEAN,
    METRIC_MAX,
    METRIC_RATE,
    METRIC_LATE,
};

struct threshold_metric {
    const char *name; /* anomalies in capitals, as they are printed */
    enum metric_kind kind;
    int which; /* anomaly or outcome */
};

/* By enum threshold_op: which measured values keep the limit. */
struct threshold_operator {
    const char *text;
    bool below, equal, above;
};
#define THRESHOLD_OPS (THRESHOLD_GE + 1)
extern const struct threshold_operator threshold_operators[THRESHOLD_OPS];

extern const struct threshold_metric threshold_metrics[]; /* the last one's name is NULL */

/* NULL when there is none of this name, whose case and hyphens do not matter. */
const struct threshold_metric *threshold_find(const char *name);
bool threshold_is_time(enum metric_kind kind);

#endif
