/* The lanes of a chart: what each instance did over time, what failed on purpose, where an instance
 * was silent, and the requests around each counterexample. */
#ifndef LOADGEN_CHART_LANES_H
#define LOADGEN_CHART_LANES_H

#include "round.h"

#include <jansson.h>
#include <stdint.h>

#define CHART_US  1000 /* nanoseconds */
#define CHART_OPS 200  /* around a counterexample */

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

/* How often something failed on purpose. */
size_t chart_event_count(const struct chart *chart);
/* Each a new reference, or NULL without memory. */
json_t *chart_events(const struct chart *chart); /* some of what failed on purpose */
json_t *chart_faults(const struct chart *chart);
json_t *chart_examples(struct chart *chart);

/* A ledger's time on the round's clock; -1 when it cannot be read. */
int64_t chart_ledger_us(const struct round *round, const char *at);
/* When the request ended, or was to be sent and was not. */
int64_t chart_end_us(const struct record *record);
/* The order that a request is about. */
const char *chart_order_id(const struct record *record);
/* The ledger row of an order, or NULL. */
const struct ledger_sale *chart_sale(const struct round *round, uint32_t item,
                                     const char *order_id);
/* For qsort(), of what is or begins with an int64_t. */
int chart_by_number(const void *a, const void *b);

#endif
