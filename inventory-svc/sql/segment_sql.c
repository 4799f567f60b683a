/* SQL of stock that Redis sells. */
#include "segment_sql.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_BYTES 21 /* of a unit, with a comma */

enum outcome segment_sql_hand_out(struct pg_pool *pool, const char *product_id,
                                  const struct data_set *set, struct stock_row *row,
                                  int64_t deadline_ms, struct why *why) {
    static struct statement statement =
        STATEMENT("hand_out_stock", 3,
                  "WITH next AS (SELECT shard FROM stock WHERE product_id = $1::uuid"
                  "  AND shard > $3::int AND available > 0 AND loaded_into IN ('', $2)"
                  "  ORDER BY shard LIMIT 1 FOR UPDATE)"
                  " UPDATE stock SET loaded_into = $2 FROM next"
                  " WHERE product_id = $1::uuid AND stock.shard = next.shard"
                  " RETURNING stock.shard, first_unit, available, version");
    struct number last = number_of(set->last);
    struct pg_query query = {.params = {product_id, set->token, last.text},
                             .deadline_ms = deadline_ms};
    enum outcome outcome = statement_write(pool, &statement, &query, why);

    if (outcome == OUTCOME_OK && query.affected == 0)
        outcome = OUTCOME_SOLD_OUT;
    else if (outcome == OUTCOME_OK)
        *row = (struct stock_row){.shard = (int)pg_int(&query, 0, 0),
                                  .first_unit = pg_int(&query, 0, 1),
                                  .available = pg_int(&query, 0, 2),
                                  .version = pg_int(&query, 0, 3)};
    pg_query_clear(&query);
    return outcome;
}

/* Writes in the order of units, so two instances that bring the same units meet at the first. This
 * statement's snapshot does not show a sale that another instance brought meanwhile: it is '?'. */
static struct statement write_pending =
    STATEMENT("write_pending", 5,
              "WITH noted AS MATERIALIZED (SELECT * FROM unnest($4::uuid[], $5::bigint[])"
              "  WITH ORDINALITY AS noted(order_id, unit, place)),"
              " brought AS (INSERT INTO brought_unit (product_id, unit, order_id)"
              "  SELECT $1::uuid, unit, order_id FROM noted ORDER BY unit"
              "  ON CONFLICT DO NOTHING RETURNING unit, order_id),"
              " lowered AS (UPDATE stock SET version = version + 1,"
              "   available = available - (SELECT count(*) FROM brought)"
              "  WHERE product_id = $1::uuid AND shard = $2::int AND EXISTS (SELECT FROM brought)"
              "  RETURNING first_unit),"
              " written AS (INSERT INTO reservation"
              "   (order_id, product_id, shard, unit, remaining, instance, fence)"
              "  SELECT order_id, $1::uuid, $2::int, unit, unit - first_unit, $3::text, 0"
              "  FROM brought, lowered ON CONFLICT (order_id) DO NOTHING RETURNING order_id),"
              " back AS (INSERT INTO returned_unit (product_id, shard, unit)"
              "  SELECT $1::uuid, $2::int, unit FROM brought"
              "  WHERE order_id NOT IN (SELECT order_id FROM written))"
              " SELECT CASE WHEN noted.order_id IN (SELECT order_id FROM written)"
              "   OR (r.product_id, r.unit) = ($1::uuid, noted.unit) THEN 'sold'"
              "  WHEN r.order_id IS NOT NULL OR brought.order_id IS NOT NULL THEN 'repeated'"
              "  ELSE '?' END"
              " FROM noted LEFT JOIN brought USING (order_id, unit)"
              " LEFT JOIN reservation r ON r.order_id = noted.order_id ORDER BY place");

/* Write the arrays, "{a,b}", of all sales. */
static void segment_sql_write_arrays(const struct segment_sale *sales, size_t count, char *orders,
                                     char *units) {
    for (size_t i = 0; i < count; i++) {
        const char before = i == 0 ? '{' : ',';

        orders += sprintf(orders, "%c%s", before, sales[i].order_id);
        units += sprintf(units, "%c%" PRId64, before, sales[i].unit);
    }
    strcpy(orders, "}");
    strcpy(units, "}");
}

static enum outcome segment_sql_outcome_of(const char *word) {
    return strcmp(word, "sold") == 0       ? OUTCOME_SOLD
           : strcmp(word, "repeated") == 0 ? OUTCOME_REPEATED
                                           : OUTCOME_CONFLICT;
}

/* Write once. *is_unseen: another instance has brought one of the sales, or one is gone. */
static enum outcome write_once(struct pg_pool *pool, struct pg_query query,
                               struct segment_sale *sales, size_t count, bool *is_unseen,
                               struct why *why) {
    enum outcome outcome = statement_write(pool, &write_pending, &query, why);

    assert(outcome != OUTCOME_OK || query.affected == (int64_t)count);
    for (size_t i = 0; i < count && outcome == OUTCOME_OK; i++) {
        sales[i].outcome = segment_sql_outcome_of(pg_text(&query, (int)i, 0));
        *is_unseen |= sales[i].outcome == OUTCOME_CONFLICT;
    }
    pg_query_clear(&query);
    return outcome;
}

enum outcome segment_sql_write(struct pg_pool *pool, const char *product_id, int shard,
                               const char *instance, struct segment_sale *sales, size_t count,
                               int64_t deadline_ms, struct why *why) {
    struct number row = number_of(shard);
    char *orders = malloc(count * UUID_TEXT + 2), *units = malloc(count * NUMBER_BYTES + 2);
    struct pg_query query = {.params = {product_id, row.text, instance, orders, units},
                             .deadline_ms = deadline_ms};
    enum outcome outcome = OUTCOME_BUSY;
    bool is_unseen = false;

    assert(count > 0 && count <= SEGMENT_SALES_MAX);
    (void)why_set(why, "out of memory");
    if (orders != NULL && units != NULL) {
        segment_sql_write_arrays(sales, count, orders, units);
        outcome = write_once(pool, query, sales, count, &is_unseen, why);
        if (outcome == OUTCOME_OK && is_unseen)
            outcome = write_once(pool, query, sales, count, &is_unseen, why);
    }
    free(orders);
    free(units);
    return outcome;
}
