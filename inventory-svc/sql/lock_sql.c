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
