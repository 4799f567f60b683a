/* The report of a run, as a table for people or as JSON for programs. */
#ifndef LOADGEN_REPORT_H
#define LOADGEN_REPORT_H

#include "audit.h"
#include "options.h"
#include "record.h"
#include "verdict.h"

#include <stddef.h>
#include <stdio.h>

/* One strategy under the whole plan. */
struct round {
    const struct strategy_item *item;
    const struct expectation *expectation;
    struct audit_product product;
    struct recorder *recorder; /* without its records */
    struct verdict verdict;
    bool is_realtime; /* sent with real-time priority */
};

struct report {
    const struct options *options;
    const struct round *rounds;
    size_t count; /* of rounds that were run */
    int exit_code;
    int64_t started_us; /* wall clock */
};

#define REPORT_COLUMNS 120

/* 0, or -1 when it could not be written. */
__attribute__((warn_unused_result)) int report_text(const struct report *report, FILE *to);
__attribute__((warn_unused_result)) int report_json(const struct report *report, FILE *to);

/* Answers per second, from the start to the last of them. */
double report_rate(const struct recorder *recorder);

#define DURATION_TEXT 16
/* "850 µs", "4.1 ms", "12 ms", "1.2 s"; returns `text`. */
const char *report_duration(char text[DURATION_TEXT], int64_t ns);

#endif
