/* Why a query did not succeed, and that the server is down or up again, in our words. */
#include "pg_internal.h"

#include <stdio.h>
#include <string.h>

/* By the beginning of the SQLSTATE. */
static const struct {
    const char *sqlstate, *text;
} reasons[] = {
    {"25006", "is read only"},
    {"3F000", "has no schema for its tables"},
    {"42501", "denies rights on its tables"},
    {"42P01", "lacks a table"},
    {"42703", "lacks a column of a table"},
    {"53100", "has a full disk"},
    {"53", "lacks memory or connections"},
    {"57", "shuts down or starts, or took too long"},
};

static const char *find(const char *sqlstate) {
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (strncmp(sqlstate, reasons[i].sqlstate, strlen(reasons[i].sqlstate)) == 0)
            return reasons[i].text;
    return NULL;
}

void pg_query_reason(const struct pg_query *query, char reason[PG_MESSAGE_BYTES]) {
    const char *text = "";

    switch (query->status) {
    case PG_OK:
        break;
    case PG_REJECTED:
        text = find(query->sqlstate);
        break;
    case PG_NOT_SENT:
        text = "cannot be reached, or is too busy";
        break;
    case PG_UNKNOWN:
        text = "did not answer";
        break;
    }
    if (text != NULL)
        (void)snprintf(reason, PG_MESSAGE_BYTES, "%s", text);
    else
        (void)snprintf(reason, PG_MESSAGE_BYTES, "refuses a statement, with SQLSTATE %s",
                       query->sqlstate);
}

void pg_pool_tell_down(struct pg_pool *pool) {
    char quoted[320];

    if (pool->is_told_down || pool->is_closing || pg_pool_is_up(pool))
        return;
    pool->is_told_down = true;
    log_warn("postgres is down", "pool=%s error=%s", pool->name,
             log_quote(quoted, sizeof(quoted), pool->error));
}

void pg_pool_tell_up(struct pg_pool *pool) {
    if (pool->is_told_down)
        log_info("postgres is up", "pool=%s", pool->name);
    pool->is_told_down = false;
}
