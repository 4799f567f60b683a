/* SQL of stock that Redis sells. */
#include "segment_sql.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_BYTES 21 /* of a unit, with a comma */

enum outcome segment_sql_hand_out(struct pg_pool *pool, const char *product_id, int parts, int part,
                                  const struct data_set *set, struct stock_row *row,
                                  int64_t deadline_ms, struct why *why) {
    static struct statement statement =
        STATEMENT("hand_out_stock", 5,
                  "WITH next AS (SELECT shard FROM stock WHERE product_id = $1::uuid"
                  "  AND shard > $3::int AND shard % $4::int = $5::int AND available > 0"
                  "  AND loaded_into IN ('', $2)"
                  "  ORDER BY shard LIMIT 1 FOR UPDATE)"
                  " UPDATE stock SET loaded_into = $2 FROM next"
                  " WHERE product_id = $1::uuid AND stock.shard = next.shard"
                  " RETURNING stock.shard, first_unit, available, version");
    struct number last = number_of(set->last), of = number_of(parts), at = number_of(part);
    struct pg_query query = {.params = {product_id, set->token, last.text, of.text, at.text},
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

/* The FOR UPDATE waits while another instance brings sales of this row, so `new` has only units that
 * nobody brought. The UPDATE follows the row to the version that is locked here (EvalPlanQual). Orders
 * are inserted in their own order, so two rows that bring the same orders meet at the first.
 *
 * Returns a row for each sale that was not written now. This statement's snapshot does not show a
 * sale that another instance brought meanwhile: it is '?'. */
#define WRITE_PENDING(unless_known)                                                                \
    "WITH held AS MATERIALIZED (SELECT first_unit, brought FROM stock"                             \
    "  WHERE product_id = $1::uuid AND shard = $2::int FOR UPDATE),"                               \
    " noted AS MATERIALIZED (SELECT * FROM unnest($4::uuid[], $5::bigint[])"                       \
    "  WITH ORDINALITY AS noted(order_id, unit, place)),"                                          \
    " new AS MATERIALIZED (SELECT DISTINCT ON (unit) order_id, unit, first_unit"                   \
    "  FROM noted, held WHERE NOT brought @> unit ORDER BY unit, place),"                          \
    " lowered AS (UPDATE stock SET version = version + 1, available = available - count,"          \
    "   brought = brought + units"                                                                 \
    "  FROM (SELECT count(*), range_agg(int8range(unit, unit, '[]')) AS units FROM new) n"         \
    "  WHERE product_id = $1::uuid AND shard = $2::int AND count > 0),"                            \
    " written AS (INSERT INTO reservation"                                                         \
    "   (order_id, product_id, shard, unit, remaining, instance, fence)"                           \
    "  SELECT order_id, $1::uuid, $2::int, unit, unit - first_unit, $3::text, 0"                   \
    "  FROM new ORDER BY order_id" unless_known " RETURNING order_id, unit),"                      \
    " back AS (INSERT INTO returned_unit (product_id, shard, unit)"                                \
    "  SELECT $1::uuid, $2::int, unit FROM new"                                                    \
    "  WHERE (order_id, unit) NOT IN (SELECT order_id, unit FROM written))"                        \
    " SELECT place, coalesce((SELECT CASE WHEN (r.product_id, r.unit)"                             \
    "    = ($1::uuid, noted.unit) THEN 'sold' ELSE 'repeated' END"                                 \
    "   FROM reservation r WHERE r.order_id = noted.order_id),"                                    \
    "  CASE WHEN (order_id, unit) IN (SELECT order_id, unit FROM new) THEN 'repeated'"             \
    "  ELSE '?' END)"                                                                              \
    " FROM noted WHERE (order_id, unit) NOT IN (SELECT order_id, unit FROM written)"

/* An insert without ON CONFLICT is cheaper, and refuses the whole statement if the ledger has one of
 * the orders. */
static struct statement write_pending[] = {
    [false] = STATEMENT("write_pending", 5, WRITE_PENDING("")),
    [true] =
        STATEMENT("write_pending_of_new", 5, WRITE_PENDING(" ON CONFLICT (order_id) DO NOTHING"))};

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

/* Write once. REPEATED: only without `has_repeats`. *is_unseen: another instance has brought one of the
 * sales, or one is gone. */
static enum outcome write_once(struct pg_pool *pool, struct pg_query query, bool has_repeats,
                               struct segment_sale *sales, size_t count, bool *is_unseen,
                               struct why *why) {
    enum outcome outcome = statement_write(pool, &write_pending[has_repeats], &query, why);

    *is_unseen = false;
    for (size_t i = 0; i < count && outcome == OUTCOME_OK; i++)
        sales[i].outcome = OUTCOME_SOLD;
    for (int i = 0; i < query.affected && outcome == OUTCOME_OK; i++) {
        const int64_t place = pg_int(&query, i, 0);

        assert(place >= 1 && place <= (int64_t)count);
        sales[place - 1].outcome = segment_sql_outcome_of(pg_text(&query, i, 1));
        *is_unseen |= sales[place - 1].outcome == OUTCOME_CONFLICT;
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
        outcome = write_once(pool, query, false, sales, count, &is_unseen, why);
        if (outcome == OUTCOME_REPEATED || (outcome == OUTCOME_OK && is_unseen))
            outcome = write_once(pool, query, true, sales, count, &is_unseen, why);
    }
    free(orders);
    free(units);
    return outcome;
}
