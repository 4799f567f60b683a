/* The parts of a chart that need the ledgers: the stock, and the requests around
 * counterexamples. */
#ifndef LOADGEN_CHART_LEDGER_H
#define LOADGEN_CHART_LEDGER_H

#include "round.h"

#include <jansson.h>
#include <stdint.h>

#define CHART_US    1000 /* nanoseconds */
#define CHART_OPS   200  /* most operations around a counterexample */
#define CHART_STEPS 400  /* points of a line over time */

/* A round, while it is drawn. */
struct chart {
    const struct round *round;
    const struct record *records;
    size_t count;       /* of records */
    int64_t end_us;     /* the last event of the round */
    int64_t planned_us; /* planned time of the last request */
    int place
        [RECORD_OUTCOME_COUNT]; /* place of an outcome among the outcomes that occurred, or -1 */
    json_t *instances;          /* names: first the recorder's, then the ledger's; borrowed */
};

/* The end of the request; if it was not sent, its planned time. */
static inline int64_t chart_end_us(const struct record *record) {
    return (record->received_ns > 0 ? record->received_ns : record->planned_ns) / CHART_US;
}

/* Sets `stock` in `json` (null without ledgers), and the other keys that come from the ledgers. */
void chart_set_stock(const struct chart *chart, json_t **json);
/* A new reference, or NULL without memory. */
json_t *chart_examples(struct chart *chart);

#endif
