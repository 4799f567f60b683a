/* The metrics of this process, printed in Prometheus' text format (version 0.0.4). */
#include "metrics.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double bounds[METRIC_BOUNDS] = {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005,
                                             0.01,   0.025,   0.05,   0.1,   0.25,   0.5,
                                             1,      2.5,     5,      10}; /* seconds */

static STAILQ_HEAD(, metric) metrics = STAILQ_HEAD_INITIALIZER(metrics);

/* Metrics of one name stand together in the list: the format needs them in one group. */
void metric_register(struct metric *metric) {
    struct metric *each, *last_of_name = NULL;

    if (metric->is_registered)
        return;
    STAILQ_FOREACH (each, &metrics, entry)
        if (strcmp(each->name, metric->name) == 0)
            last_of_name = each;
    if (last_of_name != NULL)
        STAILQ_INSERT_AFTER(&metrics, last_of_name, metric, entry);
    else
        STAILQ_INSERT_TAIL(&metrics, metric, entry);
    metric->is_registered = true;
}

void metric_add(struct metric *metric, double amount) {
    assert(metric->type != METRIC_TIMES && !metric->read);
    metric_register(metric);
    metric->value += amount;
}

void metric_time(struct metric *metric, int64_t ns) {
    double seconds = ns > 0 ? (double)ns / 1e9 : 0;
    size_t i = 0;

    assert(metric->type == METRIC_TIMES);
    metric_register(metric);
    while (i < METRIC_BOUNDS && seconds > bounds[i])
        i++;
    metric->counts[i]++;
    metric->count++;
    metric->value += seconds;
}

static void print_sample(FILE *out, const struct metric *metric, const char *suffix, double value) {
    fprintf(out, "%s%s", metric->name, suffix);
    if (metric->labels != NULL && *metric->labels)
        fprintf(out, "{%s}", metric->labels);
    fprintf(out, " %.15g\n", value);
}

static void print_bucket(FILE *out, const struct metric *metric, const char *le, uint64_t count) {
    const char *labels = metric->labels != NULL ? metric->labels : "";

    fprintf(out, "%s_bucket{%s%sle=\"%s\"} %" PRIu64 "\n", metric->name, labels, *labels ? "," : "",
            le, count);
}

static void print_times(FILE *out, const struct metric *metric) {
    uint64_t below = 0;
    char le[32];

    for (size_t i = 0; i < METRIC_BOUNDS; i++) {
        below += metric->counts[i];
        (void)snprintf(le, sizeof le, "%g", bounds[i]);
        print_bucket(out, metric, le, below);
    }
    print_bucket(out, metric, "+Inf", metric->count);
    print_sample(out, metric, "_sum", metric->value);
    print_sample(out, metric, "_count", (double)metric->count);
}

char *metrics_text(size_t *length) {
    static const char *const types[] = {
        [METRIC_COUNTER] = "counter", [METRIC_GAUGE] = "gauge", [METRIC_TIMES] = "histogram"};
    const char *name = "";
    char *text = NULL;
    FILE *out = open_memstream(&text, length);
    struct metric *each;
    bool has_failed;

    if (out == NULL)
        return NULL;
    STAILQ_FOREACH (each, &metrics, entry) {
        if (strcmp(each->name, name) != 0)
            fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", each->name, each->help, each->name,
                    types[each->type]);
        name = each->name;
        if (each->type == METRIC_TIMES)
            print_times(out, each);
        else
            print_sample(out, each, "", each->read != NULL ? each->read(each->data) : each->value);
    }
    has_failed = ferror(out);
    if (fclose(out) == 0 && !has_failed)
        return text;
    free(text);
    return NULL;
}
