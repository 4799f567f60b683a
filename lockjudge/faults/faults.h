/* The table of faults: a row for each. */
#ifndef LOCKJUDGE_FAULTS_H
#define LOCKJUDGE_FAULTS_H

#include "fault.h"

/* All faults, in the order of the table of the report. */
const struct fault *fault_at(size_t index); /* NULL behind the last */
const char *fault_moment_clause(enum fault_moment moment);
/* True, with the reason: a worker with these LINE_CAP_... lacks an ability that it needs. */
bool fault_lacks(const struct fault *fault, unsigned caps, struct why *why);
/* "stop-held". Returns `to`. */
const char *fault_case_name(const struct fault_case *one, char *to, size_t size);

#endif
