/* Runs one SQL statement in a fiber. The codes of Postgres end here and become outcomes. */
#include "statement.h"

#include "clock.h"
#include "log.h"
#include "text_copy.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

struct number number_of(int64_t value) {
    struct number number = {""};

    (void)decimal_write(number.text, value);
    return number;
}

int64_t statement_deadline_ms(void) {
    return clock_now_ms() + STATEMENT_MS;
}

/* Errors that may pass by themselves, so another attempt is worth it, by the beginning of the
 * SQLSTATE. A quiet one happens in good health, under contention. */
static const struct passing {
    const char *sqlstate;
    bool is_quiet;
} passing[] = {
    {"0A000", true},  /* an outdated plan: the session is opened anew */
    {"25006", false}, /* read only: a standby, or a database that was set so */
    {"26000", true},  /* the statement is not prepared (any more): the next run prepares it */
    {"40", true},     /* deadlock, serialization */
    {"53", false},    /* no disk space, memory or connections left */
    {"55P03", true},  /* a lock that is not available */
    {"57014", true},  /* cancelled, by statement_timeout */
    {"57", false},    /* shutting down, starting, crashed */
    {"58", false},    /* input or output failed */
};

static const struct passing *find_passing(const char *sqlstate) {
    for (size_t i = 0; i < sizeof passing / sizeof *passing; i++)
        if (strncmp(sqlstate, passing[i].sqlstate, strlen(passing[i].sqlstate)) == 0)
            return &passing[i];
    return NULL;
}

static void log_refusal(struct statement *statement, const struct pg_query *query, bool is_quiet) {
    char quoted[2 * sizeof query->message];
    unsigned left_out;

    if (is_quiet || log_limit_pass(&statement->refusals, clock_now_ms(), &left_out))
        log_write(is_quiet ? LOG_DEBUG : LOG_WARN, "statement refused",
                  "statement=%s sqlstate=%s left_out=%u why=%s", statement->pg.name,
                  query->sqlstate, is_quiet ? 0 : left_out,
                  log_quote(quoted, sizeof quoted, query->message));
}

/* The server's own words go to the log. */
static enum outcome statement_refused(struct statement *statement, const struct pg_query *query,
                                      const char **text) {
    const struct passing *found = find_passing(query->sqlstate);

    if (strcmp(query->sqlstate, "23505") == 0)
        return OUTCOME_REPEATED;
    log_refusal(statement, query, found != NULL && found->is_quiet);
    if (query->on != NULL && strncmp(query->sqlstate, "40", 2) == 0) {
        *text = outcome_text(OUTCOME_CONFLICT);
        return OUTCOME_CONFLICT;
    }
    *text = found != NULL ? "the inventory database cannot do this now"
                          : "the inventory database refused this";
    return found != NULL ? OUTCOME_BUSY : OUTCOME_FAILED;
}

/* A customer gets our own text. libpq's names host, port and user, and the server's names files and
 * tables: those go to the log. */
static enum outcome statement_outcome_of(struct statement *statement, const struct pg_query *query,
                                         struct why *why) {
    const char *text = "";
    char quoted[2 * sizeof query->message];
    enum outcome outcome = OUTCOME_OK;

    switch (query->status) {
    case PG_OK:
        return OUTCOME_OK;
    case PG_REJECTED:
        outcome = statement_refused(statement, query, &text);
        break;
    case PG_NOT_SENT: /* the pool has logged why it is down */
        outcome = OUTCOME_BUSY;
        text = "the inventory database cannot be reached, or is too busy";
        log_debug("statement not sent", "statement=%s why=%s", query->statement->name,
                  log_quote(quoted, sizeof quoted, query->message));
        break;
    case PG_UNKNOWN:
        outcome = OUTCOME_UNKNOWN;
        text = "the inventory database did not answer";
        log_warn("statement not answered", "statement=%s why=%s", query->statement->name,
                 log_quote(quoted, sizeof quoted, query->message));
        break;
    }
    (void)why_set(why, "%s", text);
    return outcome;
}

enum outcome statement_prepare(struct pg_pool *pool, struct statement *statement,
                               struct pg_query *query, struct why *why) {
    assert(query->on != NULL);
    query->statement = &statement->pg;
    (void)pg_prepare_await(pool, query);
    return statement_outcome_of(statement, query, why);
}

enum outcome statement_write(struct pg_pool *pool, struct statement *statement,
                             struct pg_query *query, struct why *why) {
    int64_t begun_ns = clock_now_ns();

    query->statement = &statement->pg;
    if (query->deadline_ms == 0)
        query->deadline_ms = statement_deadline_ms();
    (void)pg_query_await(pool, query);
    metric_time(&statement->times, clock_now_ns() - begun_ns);
    return statement_outcome_of(statement, query, why);
}

enum outcome statement_read(struct pg_pool *pool, struct statement *statement,
                            struct pg_query *query, struct why *why) {
    enum outcome outcome = statement_write(pool, statement, query, why);

    return outcome == OUTCOME_UNKNOWN ? OUTCOME_BUSY : outcome;
}
