/* What the parts of a chart share. */
#ifndef LOADGEN_CHART_INTERNAL_H
#define LOADGEN_CHART_INTERNAL_H

#include "chart.h"

#include <stdint.h>

#define CHART_US 1000 /* nanoseconds */

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

/* A ledger's time on the round's clock; -1 when it cannot be read. */
int64_t chart_ledger_us(const struct round *round, const char *at);
/* When the request ended, or was to be sent and was not. */
int64_t chart_end_us(const struct record *record);
/* The order that a request is about. */
const char *chart_order_id(const struct record *record);
/* The ledger row of an order, or NULL. */
const struct ledger_sale *chart_sale(const struct round *round, uint32_t item,
                                     const char *order_id);
/* The place of the instance of this name; added when it is new. -1 for "". */
int chart_instance(struct chart *chart, const char *name);

/* How often something failed on purpose. */
size_t chart_event_count(const struct chart *chart);
/* Whether an event explains why this instance, or with NULL all of them, said nothing. */
bool chart_is_known(const struct chart *chart, const char *instance, int64_t from_us,
                    int64_t to_us);

/* Each a new reference, or NULL without memory. */
json_t *chart_faults(const struct chart *chart);
json_t *chart_events(const struct chart *chart); /* what failed on purpose */
json_t *chart_example_events(const struct chart *chart, const struct counterexample *example);
json_t *chart_scatter(const struct chart *chart, json_t *names); /* of the outcomes */
json_t *chart_latency(const struct chart *chart);
json_t *chart_examples(struct chart *chart);
/* Sets what `*json` has of the ledgers; without memory it is freed and becomes NULL. */
void chart_stock(const struct chart *chart, json_t **json);

/* A round length of time, at least `least_us`, so that no more than `most` of them fill the span.
 */
int64_t chart_step_us(int64_t span_us, int64_t least_us, int64_t most);
/* For qsort(), of what is or begins with an int64_t. */
int chart_by_number(const void *a, const void *b);

#endif
