/* Running one SQL statement in a fiber: the codes of Postgres end here and become outcomes. */
#include "statement.h"

#include "clock.h"
#include "log.h"

#include <stdio.h>
#include <string.h>

struct number number_of(int64_t value) {
    struct number number;

    (void)snprintf(number.text, sizeof number.text, "%" PRId64, value);
    return number;
}

int64_t statement_deadline_ms(void) {
    return clock_now_ms() + STATEMENT_MS;
}

/* Worth another attempt: cancelled by statement_timeout, deadlock, too much load, starting. */
static bool is_passing(const char *sqlstate) {
    static const char *const starts[] = {"57014", "57P03", "40", "53200", "53300", "55P03"};

    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (strncmp(sqlstate, starts[i], strlen(starts[i])) == 0)
            return true;
    return false;
}

static enum outcome refused(const char *sqlstate) {
    if (strcmp(sqlstate, "23505") == 0)
        return OUTCOME_REPEATED;
    return is_passing(sqlstate) ? OUTCOME_BUSY : OUTCOME_FAILED;
}

/* What goes to the customer names no host, port or user, as libpq's text does; the log has it. */
static enum outcome outcome_of(const struct pg_query *query, char message[MESSAGE_BYTES]) {
    const char *text = query->message;
    char quoted[2 * sizeof query->message];
    enum outcome outcome = OUTCOME_OK;

    switch (query->status) {
    case PG_OK:
        return OUTCOME_OK;
    case PG_REJECTED:
        outcome = refused(query->sqlstate);
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
    (void)snprintf(message, MESSAGE_BYTES, "%s", text);
    return outcome;
}

enum outcome statement_prepare(struct pg_pool *pool, struct statement *statement,
                               struct pg_query *query, char message[MESSAGE_BYTES]) {
    query->statement = &statement->pg;
    (void)pg_prepare_await(pool, query);
    return outcome_of(query, message);
}

enum outcome statement_write(struct pg_pool *pool, struct statement *statement,
                             struct pg_query *query, char message[MESSAGE_BYTES]) {
    int64_t begun_ns = clock_now_ns();

    query->statement = &statement->pg;
    if (query->deadline_ms == 0)
        query->deadline_ms = statement_deadline_ms();
    (void)pg_query_await(pool, query);
    metric_time(&statement->times, clock_now_ns() - begun_ns);
    return outcome_of(query, message);
}

enum outcome statement_read(struct pg_pool *pool, struct statement *statement,
                            struct pg_query *query, char message[MESSAGE_BYTES]) {
    enum outcome outcome = statement_write(pool, statement, query, message);

    return outcome == OUTCOME_UNKNOWN ? OUTCOME_BUSY : outcome;
}
