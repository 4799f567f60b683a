/* The course of a run: its rows, one after the other, each with its trials. */
#ifndef LOCKJUDGE_COURSE_H
#define LOCKJUDGE_COURSE_H

#include "report.h"
#include "why.h"

#include <stdbool.h>
#include <uv.h>

struct course {
    uv_loop_t *loop;
    struct report *report;
    char *const *command; /* of the worker, with {url} in it */
    const char *url;
    int64_t start_ms;
    unsigned trials;         /* of each row */
    const char *expect;      /* lines, as of --expect */
    struct servers *servers; /* or NULL */
    bool is_stopped;         /* set it to end soon */
    bool has_caps;           /* `caps` of the report is known */
    FILE *progress;          /* or NULL */
};

/* Check the lines of --expect against the rows. 0; or -1 with the reason. */
__attribute__((warn_unused_result)) int course_check_expect(const struct report *report,
                                                            const char *expect, struct why *why);
/* Judge all rows, in a fiber. 0; or -1 with the reason: a worker cannot start. */
__attribute__((warn_unused_result)) int course_run(struct course *course, struct why *why);

#endif
