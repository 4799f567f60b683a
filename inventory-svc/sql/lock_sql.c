/* SQL of advisory locks. */
#include "lock_sql.h"

#include <stdio.h>

/* A product id is hexadecimal digits and hyphens, so it may stand in the text. */
enum outcome lock_sql_advisory(struct pg_pool *pool, enum advisory_verb verb,
                               const char *product_id, int shard, bool *is_yes, int64_t deadline_ms,
                               char message[MESSAGE_BYTES]) {
    static const char *const functions[] = {
        [ADVISORY_TRY] = "pg_try_advisory_lock", [ADVISORY_UNLOCK] = "pg_advisory_unlock"};
    struct pg_query query = {.deadline_ms = deadline_ms};
    enum pg_status status;
    char sql[160];

    (void)snprintf(sql, sizeof sql, "SELECT %s(hashtextextended('stock:%.36s:%d', 0))",
                   functions[verb], product_id, shard);
    query.sql = sql;
    status = pg_query_await(pool, &query);
    *is_yes = status == PG_OK && *pg_text(&query, 0, 0) == 't';
    if (status != PG_OK)
        (void)snprintf(message, MESSAGE_BYTES, "lock: %s", query.message);
    pg_query_clear(&query);
    if (status == PG_OK)
        return OUTCOME_OK;
    return status == PG_REJECTED ? OUTCOME_FAILED : OUTCOME_BUSY;
}
