/* The statements on the orders database. */
#include "order_sql.h"

#include "pg_array.h"
#include "text_copy.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define UNIQUE_VIOLATION "23505"

enum inserted { ORDER_ID, PRODUCT_ID, UNIT, REMAINING, PRICE, INSTANCE, INSERTED };

/* unnest() streams in the list of columns. In FROM it first stores each array as a table, which
 * doubles the time of the whole statement. */
#define INSERT_ORDERS                                                                              \
    "INSERT INTO orders (order_id, product_id, unit, remaining, price, inventory_instance) "       \
    "SELECT unnest($1::uuid[]), unnest($2::uuid[]), unnest($3::bigint[]), unnest($4::bigint[]), "  \
    "unnest($5::text[])::numeric, unnest($6::text[])"

/* With ON CONFLICT the server looks each id up first, and writes each row twice. That is a third of
 * the time of the statement. */
static const struct pg_statement insert_new = {"order_insert_new", INSERT_ORDERS, INSERTED};
static const struct pg_statement insert_orders = {
    "order_insert", INSERT_ORDERS " ON CONFLICT (order_id) DO NOTHING RETURNING order_id",
    INSERTED};

static const struct pg_statement find_order = {
    "order_find",
    "SELECT order_id, product_id, unit, remaining, price, inventory_instance "
    "FROM orders WHERE order_id = $1",
    1};

/* Most ids of a page are neighbours in the index: one walk over them, from $2 to $3, finds all. Each
 * other id has a look-up of its own. The subquery hides the length of the array: the planner would
 * read all orders for a long one. */
static const struct pg_statement find_missing = {
    "order_find_missing",
    "SELECT json_build_object('order_ids', json_agg(id)) FROM unnest((SELECT $1::uuid[])) AS id "
    "WHERE id NOT IN (SELECT order_id FROM orders WHERE order_id BETWEEN $2::uuid AND $3::uuid "
    "LIMIT 2 * cardinality($1::uuid[])) "
    "AND NOT EXISTS (SELECT FROM orders WHERE order_id = id) HAVING count(*) > 0",
    3};

static const struct pg_statement settle_page = {
    "order_settle",
    "INSERT INTO orders (order_id, product_id, unit, remaining, price, inventory_instance) "
    "SELECT order_id, product_id, unit, remaining, price, instance FROM json_to_recordset($1) "
    "AS r (order_id uuid, product_id uuid, unit bigint, remaining bigint, "
    "price numeric, instance text) "
    "ON CONFLICT (order_id) DO NOTHING RETURNING order_id",
    1};

static const struct pg_statement read_settlement = {
    "settlement_read",
    "SELECT cursor, floor(extract(epoch FROM since) * 1000)::bigint FROM settlement", 0};

/* It does not wait for the disk: if a crash of the server takes the cursor back, pages are read
 * again. */
static const struct pg_statement write_settlement = {
    "settlement_write",
    "UPDATE settlement SET cursor = $1 WHERE set_config('synchronous_commit', 'off', true) = 'off'",
    1};

/* Run a query. On failure set `message`. The caller clears the query in both cases. */
static enum pg_status order_sql_run(struct pg_pool *pool, struct pg_query *query,
                                    char message[PG_MESSAGE_BYTES]) {
    enum pg_status status = pg_query_await(pool, query);

    if (status != PG_OK)
        memcpy(message, query->message, PG_MESSAGE_BYTES);
    return status;
}

static bool append_field(struct buffer *array, const struct order *order, enum inserted field) {
    switch (field) {
    case ORDER_ID:
        return pg_array_uuid(array, order->order_id);
    case PRODUCT_ID:
        return pg_array_uuid(array, order->product_id);
    case UNIT:
        return pg_array_int8(array, order->unit);
    case REMAINING:
        return pg_array_int8(array, order->remaining);
    case PRICE:
        return pg_array_text(array, order->price);
    case INSTANCE:
        return pg_array_text(array, order->instance);
    case INSERTED:
        break;
    }
    assert(false);
    return false;
}

/* Append that field of all orders. */
static bool append_array(struct buffer *text, struct order_insert *const *inserts, unsigned count,
                         enum inserted field) {
    static const enum pg_element types[INSERTED] = {
        [ORDER_ID] = PG_UUID,  [PRODUCT_ID] = PG_UUID, [UNIT] = PG_INT8,
        [REMAINING] = PG_INT8, [PRICE] = PG_TEXT,      [INSTANCE] = PG_TEXT};
    bool is_well = pg_array_begin(text, types[field], count);

    for (unsigned i = 0; i < count && is_well; i++)
        is_well = append_field(text, inserts[i]->order, field);
    return is_well;
}

/* Write the arrays of all fields, and point the query at them. */
static bool order_sql_write_arrays(struct buffer *text, struct order_insert *const *inserts,
                                   unsigned count, struct pg_query *query) {
    size_t begins[INSERTED];
    bool is_well = true;

    text->length = 0;
    for (int field = 0; field < INSERTED && is_well; field++) {
        begins[field] = text->length;
        is_well = append_array(text, inserts, count, (enum inserted)field);
        query->lengths[field] = (int)(text->length - begins[field]);
    }
    for (int field = 0; field < INSERTED && is_well; field++)
        query->params[field] = text->bytes + begins[field];
    return is_well;
}

static bool are_new(struct order_insert *const *inserts, unsigned count) {
    for (unsigned i = 0; i < count; i++)
        if (!inserts[i]->is_new)
            return false;
    return true;
}

/* Returned ids are new, in the order of the request. */
static void tell_repeats(const struct pg_query *query, struct order_insert *const *inserts,
                         unsigned count) {
    int row = 0;

    for (unsigned i = 0; i < count; i++) {
        inserts[i]->is_repeat = row >= (int)query->affected ||
                                strcmp(pg_text(query, row, 0), inserts[i]->order->order_id) != 0;
        row += !inserts[i]->is_repeat;
    }
}

/* If a trigger left an order out, nobody knows which: each is looked up, like a repeat. */
static void tell_all_alike(const struct pg_query *query, struct order_insert *const *inserts,
                           unsigned count) {
    for (unsigned i = 0; i < count; i++)
        inserts[i]->is_repeat = query->affected != (int64_t)count;
}

/* `query` has its statement and its deadline. */
static enum pg_status insert_by(struct pg_pool *pool, struct pg_query *query,
                                struct order_insert *const *inserts, unsigned count,
                                struct buffer *text, char message[PG_MESSAGE_BYTES]) {
    enum pg_status status;

    if (!order_sql_write_arrays(text, inserts, count, query)) {
        (void)snprintf(message, PG_MESSAGE_BYTES, "out of memory");
        return PG_NOT_SENT;
    }
    status = order_sql_run(pool, query, message);
    if (status == PG_OK && query->statement == &insert_orders)
        tell_repeats(query, inserts, count);
    else if (status == PG_OK)
        tell_all_alike(query, inserts, count);
    pg_query_clear(query);
    return status;
}

enum pg_status order_insert_all(struct pg_pool *pool, struct order_insert *const *inserts,
                                unsigned count, int64_t deadline_ms, struct buffer *text,
                                char message[PG_MESSAGE_BYTES]) {
    struct pg_query plain = {.statement = &insert_new, .deadline_ms = deadline_ms},
                    guarded = {.statement = &insert_orders, .deadline_ms = deadline_ms};

    if (are_new(inserts, count)) {
        enum pg_status status = insert_by(pool, &plain, inserts, count, text, message);

        if (status != PG_REJECTED || strcmp(plain.sqlstate, UNIQUE_VIOLATION) != 0)
            return status;
    }
    return insert_by(pool, &guarded, inserts, count, text, message);
}

/* Insert no orders by the same statement: the server checks the same as for others. */
bool order_can_insert(struct pg_pool *pool, int64_t deadline_ms, char why[PG_MESSAGE_BYTES]) {
    struct pg_query query = {.statement = &insert_orders,
                             .params = {"{}", "{}", "{}", "{}", "{}", "{}"},
                             .deadline_ms = deadline_ms};
    bool is_ready = pg_query_await(pool, &query) == PG_OK;

    pg_query_reason(&query, why);
    pg_query_clear(&query);
    return is_ready;
}

enum pg_status order_find(struct pg_pool *pool, const char *order_id, int64_t deadline_ms,
                          struct order *order, bool *is_found, char message[PG_MESSAGE_BYTES]) {
    struct pg_query query = {
        .statement = &find_order, .params = {order_id}, .deadline_ms = deadline_ms};
    enum pg_status status = order_sql_run(pool, &query, message);

    *is_found = status == PG_OK && query.affected > 0;
    if (*is_found) {
        text_copy(order->order_id, sizeof order->order_id, pg_text(&query, 0, 0));
        text_copy(order->product_id, sizeof order->product_id, pg_text(&query, 0, 1));
        order->unit = pg_int(&query, 0, 2);
        order->remaining = pg_int(&query, 0, 3);
        text_copy(order->price, sizeof order->price, pg_text(&query, 0, 4));
        text_copy(order->instance, sizeof order->instance, pg_text(&query, 0, 5));
    }
    pg_query_clear(&query);
    return status;
}

/* The ids as a parameter; and the least and the greatest that order-svc made, by version 7 of UUID.
 * A customer's own key may lie far from all others. */
struct sought {
    struct buffer array;
    char least[UUID_TEXT], greatest[UUID_TEXT];
};

static bool seek(struct sought *sought, const json_t *order_ids) {
    const size_t count = json_array_size(order_ids);
    char id[UUID_TEXT];
    bool is_well = pg_array_begin(&sought->array, PG_UUID, (unsigned)count);

    for (size_t i = 0; i < count && is_well; i++) {
        is_well = uuid_parse(json_string_value(json_array_get(order_ids, i)), id) == 0 &&
                  pg_array_uuid(&sought->array, id);
        if (!is_well || id[14] != '7')
            continue;
        if (strcmp(id, sought->least) < 0)
            text_copy(sought->least, UUID_TEXT, id);
        if (strcmp(id, sought->greatest) > 0)
            text_copy(sought->greatest, UUID_TEXT, id);
    }
    return is_well;
}

enum pg_status order_find_missing(struct pg_pool *pool, const json_t *order_ids,
                                  int64_t deadline_ms, char **missing_json,
                                  char message[PG_MESSAGE_BYTES]) {
    struct sought sought = {.least = "ffffffff-ffff-ffff-ffff-ffffffffffff",
                            .greatest = "00000000-0000-0000-0000-000000000000"};
    struct pg_query query = {.statement = &find_missing, .deadline_ms = deadline_ms};
    enum pg_status status = PG_NOT_SENT;

    (void)snprintf(message, PG_MESSAGE_BYTES, "an id that is no UUID, or out of memory");
    if (seek(&sought, order_ids)) {
        query.params[0] = sought.array.bytes;
        query.lengths[0] = (int)sought.array.length;
        query.params[1] = sought.least;
        query.params[2] = sought.greatest;
        status = order_sql_run(pool, &query, message);
    }
    buffer_free(&sought.array);
    *missing_json = NULL;
    if (status == PG_OK && query.affected > 0) {
        *missing_json = strdup(pg_text(&query, 0, 0));
        if (*missing_json == NULL) {
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
    enum pg_status status = order_sql_run(pool, &query, message);

    for (int row = 0; status == PG_OK && row < (int)query.affected; row++)
        on_settled(pg_text(&query, row, 0));
    pg_query_clear(&query);
    return status;
}

enum pg_status settlement_read(struct pg_pool *pool, int64_t deadline_ms,
                               struct settlement *settlement, char message[PG_MESSAGE_BYTES]) {
    struct pg_query query = {.statement = &read_settlement, .deadline_ms = deadline_ms};
    enum pg_status status = order_sql_run(pool, &query, message);

    if (status == PG_OK && query.affected == 0) {
        (void)snprintf(message, PG_MESSAGE_BYTES,
                       "the table settlement has lost its row; apply sql/orders.sql");
        status = PG_REJECTED;
    } else if (status == PG_OK) {
        text_copy(settlement->cursor, sizeof settlement->cursor, pg_text(&query, 0, 0));
        settlement->since_ms = pg_int(&query, 0, 1);
    }
    pg_query_clear(&query);
    return status;
}

enum pg_status settlement_write(struct pg_pool *pool, const char *cursor, int64_t deadline_ms,
                                char message[PG_MESSAGE_BYTES]) {
    struct pg_query query = {
        .statement = &write_settlement, .params = {cursor}, .deadline_ms = deadline_ms};
    enum pg_status status = order_sql_run(pool, &query, message);

    pg_query_clear(&query);
    return status;
}
