/* SQL of the ledger. */
#include "reservation_sql.h"

#include "text_copy.h"

#include <stdio.h>
#include <string.h>

/* Columns: order, product, shard, unit, remaining, fence, instance, price. */
static void reservation_sql_read_row(const struct pg_query *query, int row,
                                     struct reservation *out) {
    text_copy(out->order_id, sizeof out->order_id, pg_text(query, row, 0));
    text_copy(out->product_id, sizeof out->product_id, pg_text(query, row, 1));
    out->shard = (int)pg_int(query, row, 2);
    out->unit = pg_int(query, row, 3);
    out->remaining = pg_int(query, row, 4);
    out->fence = pg_int(query, row, 5);
    text_copy(out->instance, sizeof out->instance, pg_text(query, row, 6));
    text_copy(out->price, sizeof out->price, pg_text(query, row, 7));
}

enum outcome reservation_sql_find(struct pg_pool *pool, const char *order_id, int64_t deadline_ms,
                                  bool *is_found, struct reservation *found, struct why *why) {
    static struct statement statement =
        STATEMENT("find_reservation", 1,
                  "SELECT order_id, product_id, shard, unit, remaining, fence, instance, price"
                  " FROM reservation JOIN product USING (product_id) WHERE order_id = $1");
    struct pg_query query = {.params = {order_id}, .deadline_ms = deadline_ms};
    enum outcome outcome = statement_read(pool, &statement, &query, why);

    *is_found = outcome == OUTCOME_OK && query.affected > 0;
    if (*is_found)
        reservation_sql_read_row(&query, 0, found);
    pg_query_clear(&query);
    return outcome;
}

enum outcome reservation_sql_confirm(struct pg_pool *pool, const char *order_ids,
                                     int64_t deadline_ms, size_t limit, struct reservation *list,
                                     size_t *count, struct why *why) {
    static struct statement statement =
        STATEMENT("confirm_reservations", 1,
                  "UPDATE reservation r SET confirmed = true FROM product p"
                  " WHERE r.order_id IN (SELECT value::uuid FROM json_array_elements_text($1))"
                  " AND p.product_id = r.product_id"
                  " RETURNING order_id, r.product_id, shard, unit, remaining, fence, instance,"
                  " price");
    struct pg_query query = {.params = {order_ids}, .deadline_ms = deadline_ms};
    enum outcome outcome = statement_write(pool, &statement, &query, why);

    *count = 0;
    for (; outcome == OUTCOME_OK && *count < limit && (int64_t)*count < query.affected; (*count)++)
        reservation_sql_read_row(&query, (int)*count, &list[*count]);
    pg_query_clear(&query);
    return outcome;
}

enum outcome reservation_sql_cancel(struct pg_pool *pool, const char *order_id, bool *was_there,
                                    char product_id[UUID_TEXT], struct why *why) {
    static struct statement statement =
        STATEMENT("cancel_reservation", 1,
                  "WITH gone AS (DELETE FROM reservation WHERE order_id = $1 AND NOT confirmed"
                  " RETURNING product_id, shard, unit, second_shard, second_unit),"
                  " units AS (SELECT product_id, shard, unit FROM gone UNION ALL"
                  "  SELECT product_id, second_shard, second_unit FROM gone"
                  "  WHERE second_shard IS NOT NULL),"
                  " raised AS (UPDATE stock s SET available = available + 1, version = version + 1"
                  "  FROM units WHERE s.product_id = units.product_id AND s.shard = units.shard"
                  "  AND s.returns_to_count"
                  "  RETURNING s.product_id, s.shard, s.available - 1 AS place, units.unit),"
                  " placed AS (INSERT INTO stock_place (product_id, shard, place, unit)"
                  "  SELECT product_id, shard, place, unit FROM raised"
                  "  ON CONFLICT (product_id, shard, place) DO UPDATE SET unit = excluded.unit),"
                  " listed AS (INSERT INTO returned_unit (product_id, shard, unit)"
                  "  SELECT product_id, shard, unit FROM units"
                  "  WHERE NOT EXISTS (SELECT FROM raised))"
                  " SELECT product_id FROM gone");
    struct pg_query query = {.params = {order_id}};
    enum outcome outcome = statement_write(pool, &statement, &query, why);

    *was_there = outcome == OUTCOME_OK && query.affected > 0;
    if (*was_there)
        text_copy(product_id, UUID_TEXT, pg_text(&query, 0, 0));
    pg_query_clear(&query);
    return outcome;
}

/* Rows after a place, and older, in one row:  reading and writing each by itself costs more than
 * finding it. BEYOND reads on in the index. The statement with an overlap reads all of the overlap,
 * too. It does not list a row behind the place that was written before the transactions that ran at
 * the last reading: that reading saw it. */
#define LIST(after)                                                                                \
    "WITH place AS (SELECT"                                                                        \
    " least(timestamptz 'epoch' + $1::bigint * interval '1 microsecond',"                          \
    "  now.until) AS at, now.until"                                                                \
    "  FROM (SELECT clock_timestamp() - $3::bigint * interval '1 millisecond' AS until) AS now)"   \
    " SELECT '[\"' || string_agg(order_id::text, '\",\"') || '\"]',"                               \
    "  (extract(epoch FROM max(reserved_at)) * 1000000)::bigint,"                                  \
    "  pg_snapshot_xmin(pg_current_snapshot())"                                                    \
    " FROM (SELECT order_id, reserved_at FROM reservation r"                                       \
    "  WHERE " after " AND reserved_at < (SELECT until FROM place)"                                \
    "  ORDER BY reserved_at, order_id LIMIT $4::bigint) AS page HAVING count(*) > 0"
#define BEYOND "(reserved_at, order_id) > ((SELECT at FROM place), $2::uuid)"

static enum outcome take_page(const struct pg_query *query, bool has_overlap,
                              struct reservation_place *place, struct buffer *order_ids,
                              struct why *why) {
    const char *list = query->affected > 0 ? pg_text(query, 0, 0) : "[]";

    if (!buffer_append_text(order_ids, list)) {
        (void)why_set(why, "%s", "out of memory");
        return OUTCOME_FAILED;
    }
    if (query->affected == 0)
        return OUTCOME_OK;
    place->reserved_us = pg_int(query, 0, 1);
    text_copy(place->order_id, UUID_TEXT, list + strlen(list) - strlen("\"]") - (UUID_TEXT - 1));
    if (has_overlap) /* the following pages have none: this one's snapshot counts */
        place->seen_xid = pg_int(query, 0, 2);
    return OUTCOME_OK;
}

enum outcome reservation_sql_list(struct pg_pool *pool, struct reservation_place *place,
                                  int64_t overlap_ms, int64_t older_than_ms, size_t limit,
                                  struct buffer *order_ids, struct why *why) {
    static struct statement statements[] = {
        [false] = STATEMENT("list_reservations", 4, LIST(BEYOND)),
        [true] =
            STATEMENT("list_reservations_and_behind", 6,
                      LIST("reserved_at >= (SELECT at - $5::bigint * interval '1 millisecond'"
                           " FROM place) AND (" BEYOND " OR age(r.xmin) <= age($6::xid8::xid))"))};
    struct number since = number_of(place->reserved_us), older = number_of(older_than_ms),
                  most = number_of((int64_t)limit), overlap = number_of(overlap_ms),
                  seen = number_of(place->seen_xid);
    struct pg_query query = {
        .params = {since.text, place->order_id, older.text, most.text, overlap.text, seen.text}};
    enum outcome outcome = statement_read(pool, &statements[overlap_ms > 0], &query, why);

    if (outcome == OUTCOME_OK)
        outcome = take_page(&query, overlap_ms > 0, place, order_ids, why);
    pg_query_clear(&query);
    return outcome;
}
