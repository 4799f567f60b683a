/* report.html: the page of one run, or of several side by side. It is one file and loads
 * nothing. */
#ifndef LOADGEN_PAGE_H
#define LOADGEN_PAGE_H

#include "summary.h"

#include <jansson.h>
#include <stddef.h>
#include <stdio.h>

/* Size limit of a page: charts are thinned out until it fits. */
#define PAGE_BYTES 2000000

/* A run on the page. The references stay the caller's. */
struct page_run {
    json_t *summary;     /* as in summary.json */
    json_t *charts;      /* an array: the chart of each strategy of the summary, or null */
    json_t *environment; /* as in env.json, or null */
};

/* The round to draw: the first VIOLATED round, else the first round. */
const struct round *page_round(const struct result *result);

/* Return 0; or -1 without memory or if it could not be written. `runs` must not be empty. */
__attribute__((warn_unused_result)) int page_write_runs(const struct page_run *runs, size_t count,
                                                        FILE *to);
__attribute__((warn_unused_result)) int page_write(const struct summary *summary, FILE *to);

#endif
