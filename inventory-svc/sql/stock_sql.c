/* The statements on the inventory database. */
#include "stock_sql.h"

#include <stdio.h>

enum outcome product_sql_find(struct pg_pool *pool, const char *product_id, struct product_row *row,
                              char message[MESSAGE_BYTES]) {
    static struct statement statement =
        STATEMENT("find_product", 1,
                  "SELECT name, price, initial_stock, strategy FROM product WHERE product_id = $1");
    struct pg_query query = {.params = {product_id}};
    enum outcome outcome = statement_read(pool, &statement, &query, message);

    if (outcome == OUTCOME_OK && query.affected == 0) {
        outcome = OUTCOME_UNKNOWN_PRODUCT;
        (void)snprintf(message, MESSAGE_BYTES, "%s", outcome_text(outcome));
    } else if (outcome == OUTCOME_OK) {
        (void)snprintf(row->name, sizeof row->name, "%s", pg_text(&query, 0, 0));
        (void)snprintf(row->price, sizeof row->price, "%s", pg_text(&query, 0, 1));
        row->initial_stock = pg_int(&query, 0, 2);
        (void)snprintf(row->strategy, sizeof row->strategy, "%s", pg_text(&query, 0, 3));
    }
    pg_query_clear(&query);
    return outcome;
}

enum outcome product_sql_lay_out(struct pg_pool *pool, const char *product_id, int shards,
                                 char message[MESSAGE_BYTES]) {
    static struct statement statement =
        STATEMENT("lay_out_stock", 2,
                  "INSERT INTO stock (product_id, shard, first_unit, available)"
                  " SELECT product_id, shard,"
                  "  1 + shard * (initial_stock / $2::int) + least(shard, initial_stock % $2::int),"
                  "  initial_stock / $2::int + (shard < initial_stock % $2::int)::int"
                  " FROM product, generate_series(0, $2::int - 1) AS shard WHERE product_id = $1"
                  " ON CONFLICT DO NOTHING");
    struct number number = number_of(shards);
    struct pg_query query = {.params = {product_id, number.text}};
    enum outcome outcome = statement_write(pool, &statement, &query, message);

    pg_query_clear(&query);
    return outcome;
}

enum outcome product_sql_count(struct pg_pool *pool, const char *product_id,
                               struct stock_count *count, char message[MESSAGE_BYTES]) {
    static struct statement statement =
        STATEMENT("count_stock", 1,
                  "SELECT (SELECT coalesce(sum(available), 0) FROM stock WHERE product_id = $1),"
                  " (SELECT count(*) FROM returned_unit WHERE product_id = $1)");
    struct pg_query query = {.params = {product_id}};
    enum outcome outcome = statement_read(pool, &statement, &query, message);

    if (outcome == OUTCOME_OK) {
        count->available = pg_int(&query, 0, 0);
        count->returned = pg_int(&query, 0, 1);
    }
    pg_query_clear(&query);
    return outcome;
}

enum outcome product_sql_ping(struct pg_pool *pool, int64_t deadline_ms,
                              char message[MESSAGE_BYTES]) {
    static struct statement statement = STATEMENT("ping", 0, "SELECT 1");
    struct pg_query query = {.deadline_ms = deadline_ms};
    enum outcome outcome = statement_read(pool, &statement, &query, message);

    pg_query_clear(&query);
    return outcome;
}

enum outcome stock_sql_read(struct pg_pool *pool, const char *product_id, int shard,
                            struct stock_row *row, int64_t deadline_ms,
                            char message[MESSAGE_BYTES]) {
    static struct statement statement =
        STATEMENT("read_stock", 2,
                  "SELECT first_unit, available, version, fence FROM stock"
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
    }
    pg_query_clear(&query);
    return outcome;
}

enum outcome stock_sql_write(struct pg_pool *pool, struct pg_conn *on,
                             const struct reservation *sold, int64_t deadline_ms,
                             char message[MESSAGE_BYTES]) {
    static struct statement statement = STATEMENT(
        "write_stock", 7,
        "WITH written AS ("
        " UPDATE stock SET available = $5::bigint, version = version + 1,"
        "  fence = greatest(fence, $7::bigint)"
        " WHERE product_id = $2::uuid AND shard = $3::int RETURNING shard)"
        " INSERT INTO reservation (order_id, product_id, shard, unit, remaining, instance, fence)"
        " SELECT $1::uuid, $2::uuid, shard, $4::bigint, $5::bigint, $6::text, $7::bigint"
        " FROM written");
    struct number shard = number_of(sold->shard), unit = number_of(sold->unit),
                  remaining = number_of(sold->remaining), fence = number_of(sold->fence);
    struct pg_query query = {.on = on,
                             .params = {sold->order_id, sold->product_id, shard.text, unit.text,
                                        remaining.text, sold->instance, fence.text},
                             .deadline_ms = deadline_ms};
    enum outcome outcome = statement_write(pool, &statement, &query, message);

    if (outcome == OUTCOME_OK)
        outcome = query.affected == 1 ? OUTCOME_SOLD : OUTCOME_FAILED;
    if (outcome == OUTCOME_FAILED && query.status == PG_OK)
        (void)snprintf(message, MESSAGE_BYTES, "shard %d has no row of stock", sold->shard);
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

/* Columns: order, product, shard, unit, remaining, fence, instance, price. */
static void read_row(const struct pg_query *query, int row, struct reservation *out) {
    (void)snprintf(out->order_id, sizeof out->order_id, "%s", pg_text(query, row, 0));
    (void)snprintf(out->product_id, sizeof out->product_id, "%s", pg_text(query, row, 1));
    out->shard = (int)pg_int(query, row, 2);
    out->unit = pg_int(query, row, 3);
    out->remaining = pg_int(query, row, 4);
    out->fence = pg_int(query, row, 5);
    (void)snprintf(out->instance, sizeof out->instance, "%s", pg_text(query, row, 6));
    (void)snprintf(out->price, sizeof out->price, "%s", pg_text(query, row, 7));
}

enum outcome reservation_sql_find(struct pg_pool *pool, const char *order_id, int64_t deadline_ms,
                                  bool *is_found, struct reservation *found,
                                  char message[MESSAGE_BYTES]) {
    static struct statement statement =
        STATEMENT("find_reservation", 1,
                  "SELECT order_id, product_id, shard, unit, remaining, fence, instance, price"
                  " FROM reservation JOIN product USING (product_id) WHERE order_id = $1");
    struct pg_query query = {.params = {order_id}, .deadline_ms = deadline_ms};
    enum outcome outcome = statement_read(pool, &statement, &query, message);

    *is_found = outcome == OUTCOME_OK && query.affected > 0;
    if (*is_found)
        read_row(&query, 0, found);
    pg_query_clear(&query);
    return outcome;
}

enum outcome reservation_sql_cancel(struct pg_pool *pool, const char *order_id,
                                    int64_t younger_than_ms, bool *was_there,
                                    char product_id[UUID_TEXT], char message[MESSAGE_BYTES]) {
    static struct statement statement =
        STATEMENT("cancel_reservation", 2,
                  "WITH gone AS (DELETE FROM reservation WHERE order_id = $1"
                  " AND clock_timestamp() - reserved_at < $2::bigint * interval '1 millisecond'"
                  " RETURNING product_id, shard, unit)"
                  " INSERT INTO returned_unit (product_id, shard, unit)"
                  " SELECT product_id, shard, unit FROM gone RETURNING product_id");
    struct number age = number_of(younger_than_ms);
    struct pg_query query = {.params = {order_id, age.text}};
    enum outcome outcome = statement_write(pool, &statement, &query, message);

    *was_there = outcome == OUTCOME_OK && query.affected > 0;
    if (*was_there)
        (void)snprintf(product_id, UUID_TEXT, "%s", pg_text(&query, 0, 0));
    pg_query_clear(&query);
    return outcome;
}

/* The plain comparison with reserved_at is for the BRIN index, which a row comparison cannot use.
 */
enum outcome reservation_sql_list(struct pg_pool *pool, struct reservation_place *place,
                                  int64_t older_than_ms, size_t limit, struct reservation *list,
                                  size_t *count, char message[MESSAGE_BYTES]) {
    static struct statement statement = STATEMENT(
        "list_reservations", 4,
        "WITH place AS (SELECT timestamptz 'epoch' + $1::bigint * interval '1 microsecond' AS at)"
        " SELECT order_id, product_id, shard, unit, remaining, fence, instance, price,"
        "  (extract(epoch FROM reserved_at) * 1000000)::bigint"
        " FROM reservation JOIN product USING (product_id)"
        " WHERE reserved_at >= (SELECT at FROM place)"
        " AND (reserved_at, order_id) > ((SELECT at FROM place), $2::uuid)"
        " AND reserved_at < clock_timestamp() - $3::bigint * interval '1 millisecond'"
        " ORDER BY reserved_at, order_id LIMIT $4::bigint");
    struct number since = number_of(place->reserved_us), older = number_of(older_than_ms),
                  most = number_of((int64_t)limit);
    struct pg_query query = {.params = {since.text, place->order_id, older.text, most.text}};
    enum outcome outcome = statement_read(pool, &statement, &query, message);

    *count = outcome == OUTCOME_OK ? (size_t)query.affected : 0;
    for (size_t i = 0; i < *count; i++)
        read_row(&query, (int)i, &list[i]);
    if (*count > 0) {
        place->reserved_us = pg_int(&query, (int)*count - 1, 8);
        (void)snprintf(place->order_id, sizeof place->order_id, "%s", list[*count - 1].order_id);
    }
    pg_query_clear(&query);
    return outcome;
}
