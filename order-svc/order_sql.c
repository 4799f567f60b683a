/* The statements on the orders database. */
#include "order_sql.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct pg_statement insert_order = {
    "order_insert",
    "INSERT INTO orders (order_id, product_id, unit, remaining, price, inventory_instance) "
    "VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (order_id) DO NOTHING",
    6};

static const struct pg_statement find_order = {
    "order_find",
    "SELECT order_id, product_id, unit, remaining, price, inventory_instance FROM orders WHERE "
    "order_id = $1",
    1};

static const struct pg_statement find_missing = {
    "order_find_missing",
    "SELECT json_build_object('order_ids', json_agg(order_id)) FROM json_to_recordset($1) "
    "AS r (order_id uuid) WHERE NOT EXISTS (SELECT FROM orders o WHERE o.order_id = r.order_id) "
    "HAVING count(*) > 0",
    1};

static const struct pg_statement settle_page = {
    "order_settle",
    "INSERT INTO orders (order_id, product_id, unit, remaining, price, inventory_instance) "
    "SELECT order_id, product_id, unit, remaining, price, instance FROM json_to_recordset($1) "
    "AS r (order_id uuid, product_id uuid, unit bigint, remaining bigint, price numeric, instance "
    "text) "
    "ON CONFLICT (order_id) DO NOTHING RETURNING order_id",
    1};

static const struct pg_statement read_settlement = {
    "settlement_read",
    "SELECT cursor, floor(extract(epoch FROM since) * 1000)::bigint FROM settlement", 0};

static const struct pg_statement write_settlement = {"settlement_write",
                                                     "UPDATE settlement SET cursor = $1", 1};

/* Run it, and on failure leave `message`. To be cleared in both cases. */
static enum pg_status run(struct pg_pool *pool, struct pg_query *query,
                          char message[PG_MESSAGE_BYTES]) {
    enum pg_status status = pg_query_await(pool, query);

    if (status != PG_OK)
        memcpy(message, query->message, PG_MESSAGE_BYTES);
    return status;
}

enum pg_status order_insert(struct pg_pool *pool, const struct order *order, int64_t deadline_ms,
                            bool *is_repeat, char message[PG_MESSAGE_BYTES]) {
    char unit[24], remaining[24];
    struct pg_query query = {.statement = &insert_order,
                             .params = {order->order_id, order->product_id, unit, remaining,
                                        order->price, order->instance},
                             .deadline_ms = deadline_ms};
    enum pg_status status;

    (void)snprintf(unit, sizeof unit, "%" PRId64, order->unit);
    (void)snprintf(remaining, sizeof remaining, "%" PRId64, order->remaining);
    status = run(pool, &query, message);
    *is_repeat = status == PG_OK && query.affected == 0;
    pg_query_clear(&query);
    return status;
}

enum pg_status order_find(struct pg_pool *pool, const char *order_id, int64_t deadline_ms,
                          struct order *order, bool *is_found, char message[PG_MESSAGE_BYTES]) {
    struct pg_query query = {
        .statement = &find_order, .params = {order_id}, .deadline_ms = deadline_ms};
    enum pg_status status = run(pool, &query, message);

    *is_found = status == PG_OK && query.affected > 0;
    if (*is_found) {
        (void)snprintf(order->order_id, sizeof order->order_id, "%s", pg_text(&query, 0, 0));
        (void)snprintf(order->product_id, sizeof order->product_id, "%s", pg_text(&query, 0, 1));
        order->unit = pg_int(&query, 0, 2);
        order->remaining = pg_int(&query, 0, 3);
        (void)snprintf(order->price, sizeof order->price, "%s", pg_text(&query, 0, 4));
        (void)snprintf(order->instance, sizeof order->instance, "%s", pg_text(&query, 0, 5));
    }
    pg_query_clear(&query);
    return status;
}

enum pg_status order_find_missing(struct pg_pool *pool, const char *reservations_json,
                                  int64_t deadline_ms, char **order_ids_json,
                                  char message[PG_MESSAGE_BYTES]) {
    struct pg_query query = {
        .statement = &find_missing, .params = {reservations_json}, .deadline_ms = deadline_ms};
    enum pg_status status = run(pool, &query, message);

    *order_ids_json = NULL;
    if (status == PG_OK && query.affected > 0) {
        *order_ids_json = strdup(pg_text(&query, 0, 0));
        if (*order_ids_json == NULL) {
            (void)snprintf(message, PG_MESSAGE_BYTES, "out of memory");
            status = PG_NOT_SENT;
        }
    }
    pg_query_clear(&query);
    return status;
}

enum pg_status order_settle(struct pg_pool *pool, const char *reservations_json,
                            int64_t deadline_ms, void (*on_settled)(const char *order_id),
                            char message[PG_MESSAGE_BYTES]) {
    struct pg_query query = {
        .statement = &settle_page, .params = {reservations_json}, .deadline_ms = deadline_ms};
    enum pg_status status = run(pool, &query, message);

    for (int row = 0; status == PG_OK && row < (int)query.affected; row++)
        on_settled(pg_text(&query, row, 0));
    pg_query_clear(&query);
    return status;
}

enum pg_status settlement_read(struct pg_pool *pool, int64_t deadline_ms,
                               struct settlement *settlement, char message[PG_MESSAGE_BYTES]) {
    struct pg_query query = {.statement = &read_settlement, .deadline_ms = deadline_ms};
    enum pg_status status = run(pool, &query, message);

    if (status == PG_OK && query.affected == 0) {
        (void)snprintf(message, PG_MESSAGE_BYTES,
                       "the table settlement has lost its row; apply sql/orders.sql");
        status = PG_REJECTED;
    } else if (status == PG_OK) {
        (void)snprintf(settlement->cursor, sizeof settlement->cursor, "%s", pg_text(&query, 0, 0));
        settlement->since_ms = pg_int(&query, 0, 1);
    }
    pg_query_clear(&query);
    return status;
}

enum pg_status settlement_write(struct pg_pool *pool, const char *cursor, int64_t deadline_ms,
                                char message[PG_MESSAGE_BYTES]) {
    struct pg_query query = {
        .statement = &write_settlement, .params = {cursor}, .deadline_ms = deadline_ms};
    enum pg_status status = run(pool, &query, message);

    pg_query_clear(&query);
    return status;
}
