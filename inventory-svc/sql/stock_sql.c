/* SQL of the stock and of selling from it. */
#include "stock_sql.h"

#include <stdio.h>

enum outcome stock_sql_read(struct pg_pool *pool, const char *product_id, int shard,
                            struct stock_row *row, int64_t *server_us, int64_t deadline_ms,
                            char message[MESSAGE_BYTES]) {
    static struct statement statement =
        STATEMENT("read_stock", 2,
                  "SELECT first_unit, available, version, fence,"
                  " (extract(epoch FROM clock_timestamp()) * 1000000)::bigint FROM stock"
                  " WHERE product_id = $1 AND shard = $2");
    struct number number = number_of(shard);
    struct pg_query query = {.params = {product_id, number.text}, .deadline_ms = deadline_ms};
    enum outcome outcome = statement_read(pool, &statement, &query, message);

    if (outcome == OUTCOME_OK && query.affected == 0) {
        outcome = OUTCOME_FAILED;
        (void)snprintf(message, MESSAGE_BYTES, "shard %d has no row of stock", shard);
    } else if (outcome == OUTCOME_OK) {
        *row = (struct stock_row){.shard = shard,
                                  .first_unit = pg_int(&query, 0, 0),
                                  .available = pg_int(&query, 0, 1),
                                  .version = pg_int(&query, 0, 2),
                                  .fence = pg_int(&query, 0, 3)};
        *server_us = pg_int(&query, 0, 4);
    }
    pg_query_clear(&query);
    return outcome;
}

static struct statement write_stock = STATEMENT(
    "write_stock", 8,
    "WITH written AS ("
    " UPDATE stock SET available = $5::bigint, version = version + 1,"
    "  fence = greatest(fence, $7::bigint)"
    " WHERE product_id = $2::uuid AND shard = $3::int AND clock_timestamp()"
    "  <= timestamptz 'epoch' + $8::bigint * interval '1 microsecond' RETURNING shard)"
    " INSERT INTO reservation (order_id, product_id, shard, unit, remaining, instance, fence)"
    " SELECT $1::uuid, $2::uuid, shard, $4::bigint, $5::bigint, $6::text, $7::bigint"
    " FROM written");

enum outcome stock_sql_prepare_write(struct pg_pool *pool, struct pg_conn *on, int64_t deadline_ms,
                                     char message[MESSAGE_BYTES]) {
    struct pg_query query = {.on = on, .deadline_ms = deadline_ms};

    return statement_prepare(pool, &write_stock, &query, message);
}

enum outcome stock_sql_write(struct pg_pool *pool, struct pg_conn *on,
                             const struct reservation *sold, int64_t not_after_us,
                             int64_t deadline_ms, char message[MESSAGE_BYTES]) {
    struct number shard = number_of(sold->shard), unit = number_of(sold->unit),
                  remaining = number_of(sold->remaining), fence = number_of(sold->fence),
                  not_after = number_of(not_after_us);
    struct pg_query query = {.on = on,
                             .params = {sold->order_id, sold->product_id, shard.text, unit.text,
                                        remaining.text, sold->instance, fence.text, not_after.text},
                             .deadline_ms = deadline_ms};
    enum outcome outcome = statement_write(pool, &write_stock, &query, message);

    if (outcome == OUTCOME_OK)
        outcome = query.affected == 1 ? OUTCOME_SOLD : OUTCOME_BUSY;
    if (outcome == OUTCOME_BUSY && query.status == PG_OK)
        (void)snprintf(message, MESSAGE_BYTES, "the write came too late, and wrote nothing");
    pg_query_clear(&query);
    return outcome;
}

/* Both ways to take answer with shard, unit and remaining, or with no row. */
static enum outcome take(struct pg_pool *pool, struct statement *statement, struct pg_query *query,
                         struct reservation *sold, char message[MESSAGE_BYTES]) {
    enum outcome outcome = statement_write(pool, statement, query, message);

    if (outcome == OUTCOME_OK && query->affected == 0)
        outcome = OUTCOME_SOLD_OUT;
    if (outcome == OUTCOME_OK) {
        outcome = OUTCOME_SOLD;
        sold->shard = (int)pg_int(query, 0, 0);
        sold->unit = pg_int(query, 0, 1);
        sold->remaining = pg_int(query, 0, 2);
        sold->fence = 0;
    }
    pg_query_clear(query);
    return outcome;
}

enum outcome stock_sql_take(struct pg_pool *pool, struct reservation *sold, int64_t deadline_ms,
                            char message[MESSAGE_BYTES]) {
    static struct statement statement = STATEMENT(
        "take_stock", 4,
        "WITH taken AS ("
        " UPDATE stock SET available = available - 1, version = version + 1"
        " WHERE product_id = $2::uuid AND shard = $3::int AND available > 0"
        " RETURNING shard, first_unit, available)"
        " INSERT INTO reservation (order_id, product_id, shard, unit, remaining, instance, fence)"
        " SELECT $1::uuid, $2::uuid, shard, first_unit + available, available, $4::text, 0"
        " FROM taken RETURNING shard, unit, remaining");
    struct number shard = number_of(sold->shard);
    struct pg_query query = {

        .params = {sold->order_id, sold->product_id, shard.text, sold->instance},
        .deadline_ms = deadline_ms};

    return take(pool, &statement, &query, sold, message);
}

enum outcome stock_sql_take_returned(struct pg_pool *pool, struct reservation *sold,
                                     int64_t deadline_ms, char message[MESSAGE_BYTES]) {
    static struct statement statement = STATEMENT(
        "take_returned", 3,
        "WITH picked AS MATERIALIZED ("
        " SELECT ctid FROM returned_unit WHERE product_id = $2::uuid"
        " LIMIT 1 FOR UPDATE SKIP LOCKED),"
        " taken AS (DELETE FROM returned_unit WHERE ctid = ANY (ARRAY(SELECT ctid FROM picked))"
        "  RETURNING shard, unit)"
        " INSERT INTO reservation (order_id, product_id, shard, unit, remaining, instance, fence)"
        " SELECT $1::uuid, $2::uuid, shard, unit, 0, $3::text, 0"
        " FROM taken RETURNING shard, unit, remaining");
    struct pg_query query = {.params = {sold->order_id, sold->product_id, sold->instance},
                             .deadline_ms = deadline_ms};

    return take(pool, &statement, &query, sold, message);
}
