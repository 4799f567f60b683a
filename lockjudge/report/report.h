/* The report of a run: a row for each fault, and never one "pass" for all. */
#ifndef LOCKJUDGE_REPORT_H
#define LOCKJUDGE_REPORT_H

#include "faults.h"
#include "history.h"
#include "oracle.h"

#include <jansson.h>
#include <stdio.h>

#define REPORT_ROW_NAME 64

struct report_row {
    char name[REPORT_ROW_NAME];          /* "stop-held", "stop-held+kill-wait" */
    struct fault_case cases[FAULT_PAIR]; /* the second has no fault, unless it is a pair */
    enum oracle_verdict verdict;
    struct oracle oracle;   /* of the worst trial */
    struct history history; /* of that trial */
    uint64_t seed;          /* of that trial */
    unsigned victim, grant; /* where its seed placed the fault: the worker, and its grant */
    unsigned second_pct;    /* of a pair: the part of the first fault after which the second came */
    bool has_second_hit;    /* it hit a worker: `second_victim` */
    unsigned second_victim;
    bool is_more; /* of a pair: it shows more than each of its faults alone, in rows of this run */
    unsigned trials, again; /* trials that were judged; trials repeated because of a doubt */
    char reason[400];       /* why it was not judged or not asked; "" */
    bool is_unexpected;
    char expected[200]; /* as in --expect */
};

struct report {
    char *const *command; /* of the worker, with {url} in it: the URL may have a password */
    unsigned caps, workers, trials;
    int64_t ttl_ms, slack_ms;
    uint64_t seed;
    struct report_row *rows;
    size_t count;
};

/* The table, and for each word that was found its shortest history. 0, or -1 without memory. */
__attribute__((warn_unused_result)) int report_text(const struct report *report, FILE *to);
/* The shortest history of each word of one row. 0, or -1 without memory. */
__attribute__((warn_unused_result)) int report_found(const struct report *report,
                                                     const struct report_row *row, FILE *to);
/* A line for a row, as soon as it is judged. */
void report_progress(const struct report_row *row, FILE *to);
/* All of it as JSON, a new reference; NULL without memory. */
__attribute__((warn_unused_result)) json_t *report_json(const struct report *report);
/* JUnit's XML, a test case for each row. 0, or -1 when it could not be written. */
__attribute__((warn_unused_result)) int report_junit(const struct report *report, FILE *to);

/* A page of its own, with the timeline of the holders. 0, or -1 when it could not be written. */
__attribute__((warn_unused_result)) int report_page(const struct report *report, FILE *to);

#endif
