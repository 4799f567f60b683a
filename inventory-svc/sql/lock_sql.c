/* SQL of locks that are rows of a table. */
#include "lock_sql.h"

#include <stdio.h>

enum outcome lock_sql_take(struct pg_pool *pool, const struct table_lock *lock, int64_t ttl_ms,
                           int64_t *fence, int64_t deadline_ms, char message[MESSAGE_BYTES]) {
    static struct statement statement =
        STATEMENT("take_lock", 4,
                  "INSERT INTO stock_lock AS l (product_id, shard, owner, fence, expires_at)"
                  " VALUES ($1, $2, $3, 1, clock_timestamp() + $4 * interval '1 millisecond')"
                  " ON CONFLICT (product_id, shard) DO UPDATE"
                  " SET owner = excluded.owner, fence = l.fence + 1,"
                  "  expires_at = clock_timestamp() + $4 * interval '1 millisecond'"
                  " WHERE l.expires_at <= clock_timestamp() OR l.owner = excluded.owner"
                  " RETURNING fence");
    struct number shard = number_of(lock->shard), ttl = number_of(ttl_ms);
    struct pg_query query = {.params = {lock->product_id, shard.text, lock->token, ttl.text},
                             .deadline_ms = deadline_ms};
    enum outcome outcome = statement_write(pool, &statement, &query, message);

    if (outcome == OUTCOME_OK && query.affected == 0) {
        outcome = OUTCOME_BUSY;
        (void)snprintf(message, MESSAGE_BYTES, "lock: held by another");
    } else if (outcome == OUTCOME_OK) {
        *fence = pg_int(&query, 0, 0);
    }
    pg_query_clear(&query);
    return outcome;
}

enum outcome lock_sql_give_back(struct pg_pool *pool, const struct table_lock *lock,
                                int64_t deadline_ms, char message[MESSAGE_BYTES]) {
    static struct statement statement =
        STATEMENT("give_back_lock", 3,
                  "UPDATE stock_lock SET owner = '', expires_at = '-infinity'"
                  " WHERE product_id = $1 AND shard = $2 AND owner = $3");
    struct number shard = number_of(lock->shard);
    struct pg_query query = {.params = {lock->product_id, shard.text, lock->token},
                             .deadline_ms = deadline_ms};
    enum outcome outcome = statement_write(pool, &statement, &query, message);

    pg_query_clear(&query);
    return outcome;
}

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
