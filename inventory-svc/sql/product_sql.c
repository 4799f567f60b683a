/* SQL of the products. */
#include "product_sql.h"

#include "text_copy.h"

#include <stdio.h>

enum outcome product_sql_find(struct pg_pool *pool, const char *product_id, struct product_row *row,
                              struct why *why) {
    static struct statement statement =
        STATEMENT("find_product", 1,
                  "SELECT name, price, initial_stock, strategy FROM product WHERE product_id = $1");
    struct pg_query query = {.params = {product_id}};
    enum outcome outcome = statement_read(pool, &statement, &query, why);

    if (outcome == OUTCOME_OK && query.affected == 0) {
        outcome = OUTCOME_UNKNOWN_PRODUCT;
        (void)why_set(why, "%s", outcome_text(outcome));
    } else if (outcome == OUTCOME_OK) {
        text_copy(row->name, sizeof row->name, pg_text(&query, 0, 0));
        text_copy(row->price, sizeof row->price, pg_text(&query, 0, 1));
        row->initial_stock = pg_int(&query, 0, 2);
        text_copy(row->strategy, sizeof row->strategy, pg_text(&query, 0, 3));
    }
    pg_query_clear(&query);
    return outcome;
}

enum outcome product_sql_lay_out(struct pg_pool *pool, const char *product_id, int shards,
                                 bool returns_to_count, struct why *why) {
    static struct statement statement =
        STATEMENT("lay_out_stock", 3,
                  "INSERT INTO stock (product_id, shard, first_unit, available, returns_to_count)"
                  " SELECT product_id, shard,"
                  "  1 + shard * (initial_stock / $2::int) + least(shard, initial_stock % $2::int),"
                  "  initial_stock / $2::int + (shard < initial_stock % $2::int)::int, $3::bool"
                  " FROM product, generate_series(0, $2::int - 1) AS shard WHERE product_id = $1"
                  " ON CONFLICT DO NOTHING");
    struct number number = number_of(shards);
    struct pg_query query = {
        .params = {product_id, number.text, returns_to_count ? "true" : "false"}};
    enum outcome outcome = statement_write(pool, &statement, &query, why);

    pg_query_clear(&query);
    return outcome;
}

enum outcome product_sql_count(struct pg_pool *pool, const char *product_id,
                               struct stock_count *count, struct why *why) {
    static struct statement statement =
        STATEMENT("count_stock", 1,
                  "SELECT coalesce(sum(available), 0),"
                  " coalesce(sum(available) FILTER (WHERE loaded_into <> ''), 0),"
                  " (SELECT count(*) FROM returned_unit WHERE product_id = $1)"
                  " FROM stock WHERE product_id = $1");
    struct pg_query query = {.params = {product_id}};
    enum outcome outcome = statement_read(pool, &statement, &query, why);

    if (outcome == OUTCOME_OK) {
        count->available = pg_int(&query, 0, 0);
        count->loaded = pg_int(&query, 0, 1);
        count->returned = pg_int(&query, 0, 2);
    }
    pg_query_clear(&query);
    return outcome;
}
