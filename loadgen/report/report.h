/* The report of a run: tables for people, summary.json for programs. */
#ifndef LOADGEN_REPORT_H
#define LOADGEN_REPORT_H

#include "options.h"
#include "result.h"
#include "round.h"

#include <jansson.h>
#include <stddef.h>
#include <stdio.h>

/* A threshold held against the result of one strategy. */
struct threshold_outcome {
    const struct threshold *threshold;
    const struct result *result;
    double measured;
    bool holds;
};

struct report {
    const struct options *options;
    size_t count; /* of strategies with a finished round */
    struct result *results;
    size_t round_count; /* finished, in the order in which they were run */
    const struct round *rounds;
    size_t outcome_count;
    struct threshold_outcome *outcomes;
    int exit_code;
    int64_t started_us, ended_us; /* wall clock */
    bool is_interrupted;
    const char *folder;   /* the results folder, or NULL */
    int postgres_version; /* of the server: 150014 is 15.14; 0: not known */
};

/* From judged rounds, which must outlive it: results, outcomes, whether any round was interrupted,
 * and the exit code; times and folder are the caller's to add. 0, or -1 without memory;
 * report_free() it either way. */
__attribute__((warn_unused_result)) int report_make(struct report *report,
                                                    const struct options *options,
                                                    const struct round *rounds, size_t count);
void report_free(struct report *report);

#define REPORT_COLUMNS 120

/* As --output-format says. 0, or -1 when it could not be written. */
__attribute__((warn_unused_result)) int report_print(const struct report *report, FILE *to);

/* 0, or -1 when it could not be written. */
__attribute__((warn_unused_result)) int report_text(const struct report *report, FILE *to);
__attribute__((warn_unused_result)) int report_json(const struct report *report, FILE *to);
#define REPORT_SCHEMA 2 /* schema_version of summary.json */
/* summary.json, a new reference, or NULL without memory; summary.schema.json describes it. */
__attribute__((warn_unused_result)) json_t *report_summary(const struct report *report);

#endif
