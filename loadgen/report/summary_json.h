/* summary.json: the report for programs. summary.schema.json describes it. */
#ifndef LOADGEN_SUMMARY_JSON_H
#define LOADGEN_SUMMARY_JSON_H

#include "summary.h"

#include <jansson.h>
#include <stdio.h>

#define SUMMARY_SCHEMA 2 /* schema_version */

/* A new reference, or NULL without memory. */
__attribute__((warn_unused_result)) json_t *summary_json(const struct summary *summary);
/* Returns 0, or -1 if it could not be written. */
__attribute__((warn_unused_result)) int summary_json_write(const struct summary *summary, FILE *to);

#endif
