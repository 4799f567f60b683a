/* SQL of transactions. */
#include "transaction_sql.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum outcome transaction_sql_begin(struct pg_pool *pool, struct pg_conn *on,
                                   enum isolation isolation, int64_t deadline_ms, struct why *why) {
    static struct statement begins[] = {
        [READ_COMMITTED] = STATEMENT("begin", 0, "BEGIN ISOLATION LEVEL READ COMMITTED"),
        [SERIALIZABLE] = STATEMENT("begin_serializable", 0, "BEGIN ISOLATION LEVEL SERIALIZABLE"),
    };
    struct pg_query query = {.on = on, .deadline_ms = deadline_ms};
    enum outcome outcome;

    assert(on != NULL); /* else the next sale on that connection would be in it */
    outcome = statement_read(pool, &begins[isolation], &query, why);
    pg_query_clear(&query);
    return outcome;
}

#define COLUMNS                                                                                    \
    "shard, first_unit, available, version, fence,"                                                \
    " (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"

/* The subselect is run once, before the first row is locked. */
#define LIMITED(number) " AND (SELECT set_config('lock_timeout', $" number ", true)) IS NOT NULL"
#define READ_ONE(limited, wait)                                                                    \
    "SELECT " COLUMNS " FROM stock WHERE product_id = $1 AND shard = $2" limited " FOR "           \
    "UPDATE" wait

/* One row in any case: without a shard when all that have units are locked; none when no row has
 * one. */
#define READ_ANY(limited, wait)                                                                    \
    "WITH picked AS MATERIALIZED (SELECT " COLUMNS " AS at FROM stock"                             \
    " WHERE product_id = $1 AND available > 0" limited                                             \
    " ORDER BY (shard - $2::int + $3::int) % $3::int LIMIT 1 FOR UPDATE" wait ")"                  \
    " SELECT picked.* FROM (SELECT FROM stock WHERE product_id = $1 AND available > 0 LIMIT 1)"    \
    " AS unsold LEFT JOIN picked ON true"

static struct statement reads[][2] = {
    [ROW_WAIT] = {STATEMENT("read_for_update", 3, READ_ONE(LIMITED("3"), "")),
                  STATEMENT("read_any_for_update", 4, READ_ANY(LIMITED("4"), ""))},
    [ROW_NOWAIT] = {STATEMENT("read_nowait", 2, READ_ONE("", " NOWAIT")),
                    STATEMENT("read_any_nowait", 3, READ_ANY("", " NOWAIT"))},
    [ROW_SKIP_LOCKED] = {STATEMENT("read_skip_locked", 2, READ_ONE("", " SKIP LOCKED")),
                         STATEMENT("read_any_skip_locked", 3, READ_ANY("", " SKIP LOCKED"))},
};

/* What a statement answered that ran. */
static enum outcome take_row(const struct pg_query *query, const struct row_wanted *wanted,
                             struct stock_row *row, int64_t *server_us, struct why *why) {
    if (query->affected == 0 && wanted->shard == ANY_SHARD)
        return OUTCOME_SOLD_OUT;
    if (query->affected == 0 && wanted->wait != ROW_SKIP_LOCKED) {
        (void)why_set(why, "shard %d has no row of stock", wanted->shard);
        return OUTCOME_FAILED;
    }
    if (query->affected == 0 || pg_text(query, 0, 0)[0] == '\0') {
        (void)why_set(why, "other sales hold the stock");
        return OUTCOME_BUSY;
    }
    *row = (struct stock_row){.shard = (int)pg_int(query, 0, 0),
                              .first_unit = pg_int(query, 0, 1),
                              .available = pg_int(query, 0, 2),
                              .version = pg_int(query, 0, 3),
                              .fence = pg_int(query, 0, 4)};
    row->unit = row->first_unit + row->available - 1;
    *server_us = pg_int(query, 0, 5);
    return OUTCOME_OK;
}

enum outcome transaction_sql_read(struct pg_pool *pool, struct pg_conn *on,
                                  const struct row_wanted *wanted, struct stock_row *row,
                                  int64_t *server_us, int64_t deadline_ms, struct why *why) {
    const bool is_any = wanted->shard == ANY_SHARD;
    struct number shard = number_of(is_any ? wanted->first : wanted->shard),
                  shards = number_of(wanted->shards),
                  wait_ms = number_of(wanted->wait_ms > 0 ? wanted->wait_ms : 1);
    struct pg_query query = {.on = on,
                             .params = {wanted->product_id, shard.text,
                                        is_any ? shards.text : wait_ms.text, wait_ms.text},
                             .deadline_ms = deadline_ms};
    enum outcome outcome = statement_read(pool, &reads[wanted->wait][is_any], &query, why);

    if (outcome == OUTCOME_OK)
        outcome = take_row(&query, wanted, row, server_us, why);
    pg_query_clear(&query);
    return outcome;
}

/* The server answers the commit of a transaction in which a statement failed with ROLLBACK. */
enum outcome transaction_sql_commit(struct pg_pool *pool, struct pg_conn *on, int64_t deadline_ms,
                                    struct why *why) {
    static struct statement statement = STATEMENT("commit", 0, "COMMIT");
    struct pg_query query = {.on = on, .deadline_ms = deadline_ms};
    enum outcome outcome = statement_write(pool, &statement, &query, why);

    if (outcome == OUTCOME_OK && strcmp(PQcmdStatus(query.result), "COMMIT") != 0) {
        outcome = OUTCOME_FAILED;
        (void)why_set(why, "the transaction had failed");
    }
    pg_query_clear(&query);
    return outcome;
}
