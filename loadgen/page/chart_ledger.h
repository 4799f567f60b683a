/* What a chart draws of the ledgers: the stock, and the requests around each counterexample. */
#ifndef LOADGEN_CHART_LEDGER_H
#define LOADGEN_CHART_LEDGER_H

#include "round.h"

#include <jansson.h>
#include <stdint.h>

#define CHART_US    1000 /* nanoseconds */
#define CHART_OPS   200  /* around a counterexample */
#define CHART_STEPS 400  /* of a line over time */

/* A round that is being drawn. */
struct chart {
    const struct round *round;
    const struct record *records;
    size_t count;                    /* of records */
    int64_t end_us;                  /* the last thing that happened */
    int64_t planned_us;              /* the last request that was due */
    int place[RECORD_OUTCOME_COUNT]; /* of an outcome among those that occurred, or -1 */
    json_t *instances;               /* names, those of the ledger after the recorder's; borrowed */
};

/* When the request ended, or was to be sent and was not. */
static inline int64_t chart_end_us(const struct record *record) {
    return (record->received_ns > 0 ? record->received_ns : record->planned_ns) / CHART_US;
}

/* Set what the ledgers say in `json`: `stock`, null without them, and what goes with it. */
void chart_set_stock(const struct chart *chart, json_t **json);
/* A new reference, or NULL without memory. */
json_t *chart_examples(struct chart *chart);

#endif
