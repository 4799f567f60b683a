/* The place that a Postgres pool connects to, and the settings that each of its sessions has,
 * whatever server, database, role and environment say. */
#include "pg_internal.h"

#include "pg_conninfo.h"

#include <stdlib.h>
#include <string.h>

/* The connection string may say otherwise. Whether a database is read only it alone says. */
#define DEFAULTS                                                                                   \
    "-c search_path=\"$user\",public -c synchronous_commit=on -c statement_timeout=0 -c "          \
    "lock_timeout=0"                                                                               \
    " -c idle_in_transaction_session_timeout=0 -c idle_session_timeout=0 "

/* Nothing may: results are read, and statements written, for these. */
#define FIXED                                                                                      \
    " -c default_transaction_isolation=read\\ committed -c default_transaction_deferrable=off"     \
    " -c DateStyle=ISO,MDY -c IntervalStyle=postgres -c TimeZone=UTC -c bytea_output=hex"          \
    " -c extra_float_digits=1 -c standard_conforming_strings=on -c array_nulls=on"                 \
    " -c row_security=on"

/* NULL without memory. */
static char *copy_settings(const char *settings) {
    char *copy = malloc(sizeof FIXED + 1 + strlen(settings));

    if (copy != NULL)
        (void)stpcpy(stpcpy(stpcpy(copy, FIXED), " "), settings);
    return copy;
}

int pg_options_copy(struct pg_pool *pool, const struct pg_pool_options *options) {
    char *after = copy_settings(options->settings != NULL ? options->settings : "");
    int rv = UV_ENOMEM;

    pool->is_pooled = options->is_pooled;
    pool->name = strdup(options->name != NULL ? options->name : "postgres");
    if (after != NULL && pool->name != NULL)
        rv = pg_conninfo_make(&pool->conninfo, options->conninfo, "",
                              options->is_pooled ? "" : DEFAULTS, options->is_pooled ? "" : after);
    free(after);
    return rv;
}
