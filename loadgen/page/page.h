/* report.html: the page of one run, or of several side by side. One file that loads nothing. */
#ifndef LOADGEN_PAGE_H
#define LOADGEN_PAGE_H

#include "summary.h"

#include <jansson.h>
#include <stddef.h>
#include <stdio.h>

/* No page is larger: charts are thinned out until it fits. */
#define PAGE_BYTES 2000000

/* A run on the page. The page does not take over the references. */
struct page_run {
    json_t *summary; /* as in summary.json */
    json_t *charts;  /* an array with the chart of each strategy of the summary, or null for none */
    json_t *environment; /* as in env.json, or null */
};

/* The round whose chart is drawn: the first that violated something, else the first. */
const struct round *page_round(const struct result *result);

/* 0, or -1 without memory or when it could not be written. `runs` is not empty. */
__attribute__((warn_unused_result)) int page_write_runs(const struct page_run *runs, size_t count,
                                                        FILE *to);
__attribute__((warn_unused_result)) int page_write(const struct summary *summary, FILE *to);

#endif
