/* What the parts of summary.json share. */
#ifndef LOADGEN_REPORT_JSON_INTERNAL_H
#define LOADGEN_REPORT_JSON_INTERNAL_H

#include "report.h"

#include <jansson.h>

/* null for what is no number. */
json_t *json_number(double value);

/* A new reference, or NULL without memory. */
json_t *report_result_json(const struct report *report, const struct result *result);

#endif
