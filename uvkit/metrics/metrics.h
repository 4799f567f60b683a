/* Metrics of one process in Prometheus' text format: static counters, gauges, histograms of time.
 *
 *     static struct metric sold = {
 *         .name = "inventory_sold_total", .help = "Units sold", .type = METRIC_COUNTER};
 *     metric_add(&sold, 1);
 *
 * Its first use registers a metric. metric_register() does it earlier, so that it shows as 0 from
 * the start. `labels` tells apart metrics of one name: `strategy="redis"`. One thread only. */
#ifndef UVKIT_METRICS_H
#define UVKIT_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

enum metric_type {
    METRIC_COUNTER,
    METRIC_GAUGE,
    METRIC_TIMES, /* seconds, a Prometheus histogram with fixed bounds from 100 us to 10 s */
};

#define METRIC_BOUNDS 16

struct metric {
    const char *name;
    const char *help; /* one line, without a backslash */
    enum metric_type type;
    const char *labels;         /* or NULL */
    double (*read)(void *data); /* for a gauge or counter that is read when printed; or NULL */
    void *data;

    /* Internal. */
    double value;
    uint64_t counts[METRIC_BOUNDS + 1];
    uint64_t count;
    STAILQ_ENTRY(metric) entry;
    bool is_registered;
};

void metric_register(struct metric *metric);
void metric_add(struct metric *metric, double amount); /* counter and gauge */
void metric_time(struct metric *metric, int64_t ns);   /* times */

/* All metrics as text, HELP and TYPE once per name. The caller frees it; NULL without memory. */
char *metrics_text(size_t *length);

#endif
