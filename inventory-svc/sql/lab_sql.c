/* SQL of the table lab_event. */
#include "lab_sql.h"

enum outcome lab_sql_add(struct pg_pool *pool, const char *events, const char *instance,
                         int64_t deadline_ms, struct why *why) {
    static struct statement statement =
        STATEMENT("add_lab_events", 2,
                  "INSERT INTO lab_event (product_id, order_id, instance, seq, at, took_us, kind,"
                  " name, detail, lasts_ms, key, token, result)"
                  " SELECT product_id, order_id, $2, seq,"
                  "  timestamptz 'epoch' + at_us * interval '1 microsecond', took_us, kind, name,"
                  "  detail, lasts_ms, key, token, result"
                  " FROM json_to_recordset($1::json) AS event (product_id uuid, order_id uuid,"
                  "  seq bigint, at_us bigint, took_us bigint, kind text, name text, detail text,"
                  "  lasts_ms bigint, key text, token text, result text)");
    struct pg_query query = {.params = {events, instance}, .deadline_ms = deadline_ms};
    enum outcome outcome = statement_write(pool, &statement, &query, why);

    pg_query_clear(&query);
    return outcome;
}

enum outcome lab_sql_clock(struct pg_pool *pool, int64_t *server_us, int64_t deadline_ms,
                           struct why *why) {
    static struct statement statement = STATEMENT(
        "read_clock", 0, "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint");
    struct pg_query query = {.deadline_ms = deadline_ms};
    enum outcome outcome = statement_read(pool, &statement, &query, why);

    if (outcome == OUTCOME_OK)
        *server_us = pg_int(&query, 0, 0);
    pg_query_clear(&query);
    return outcome;
}
