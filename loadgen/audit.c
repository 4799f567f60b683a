/* Reads the ledgers of a product from both databases. */
#include "audit.h"

#include "clock.h"
#include "fiber.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONNECT_MS 5000 /* for the databases to answer at the start */
#define QUERY_MS   8000 /* for each query */
#define POLL_MS    100  /* between two looks at a ledger */

static const struct pg_statement ping = {"ping", "SELECT 1", 0};

static int check_database(struct pg_pool *pool, const char *name, const char *variable, char *why,
                          size_t why_size) {
    struct pg_query query = {.statement = &ping, .deadline_ms = clock_now_ms() + CONNECT_MS};
    enum pg_status status = pg_query_await(pool, &query);

    if (status != PG_OK)
        snprintf(why, why_size,
                 "the database %s cannot be reached: %s. Start it with scripts/stack up, or set %s",
                 name, query.message, variable);
    pg_query_clear(&query);
    return status == PG_OK ? 0 : -1;
}

static int open_database(uv_loop_t *loop, struct pg_pool **pool, const char *conninfo,
                         const char *name, const char *variable, char *why, size_t why_size) {
    struct pg_pool_options options = {.conninfo = conninfo, .name = "loadgen", .connections = 1};
    int rc;

    if (conninfo[0] == '\0') {
        snprintf(why, why_size,
                 "%s is not set: the connection string of the database %s. scripts/stack up "
                 "starts one and writes it to .run/env; --no-judge goes without",
                 variable, name);
        return -1;
    }
    rc = pg_pool_open(pool, loop, &options);
    if (rc != 0) {
        snprintf(why, why_size, "%s is no connection string: %s", variable, uv_strerror(rc));
        return -1;
    }
    return check_database(*pool, name, variable, why, why_size);
}

int auditor_open(struct auditor *auditor, uv_loop_t *loop, const char *inventory,
                 const char *orders, char *why, size_t why_size) {
    memset(auditor, 0, sizeof *auditor);
    auditor->loop = loop;
    auditor->query_ms = QUERY_MS;
    if (audit_queries_parse(audit_text, &auditor->queries, why, why_size) != 0)
        return -1;
    if (open_database(loop, &auditor->inventory, inventory, "inventory", "LOADGEN_INVENTORY_DB",
                      why, why_size) != 0)
        return -1;
    if (orders == NULL)
        return 0;
    return open_database(loop, &auditor->orders, orders, "orders", "LOADGEN_ORDERS_DB", why,
                         why_size);
}

static void on_pool_closed(void *data) {
    fiber_event_set(data);
}

static void close_pool(struct pg_pool *pool) {
    struct fiber_event closed = FIBER_EVENT_INIT;

    if (pool == NULL)
        return;
    pg_pool_close(pool, on_pool_closed, &closed);
    fiber_event_wait(&closed);
}

void auditor_close(struct auditor *auditor) {
    close_pool(auditor->inventory);
    close_pool(auditor->orders);
    auditor->inventory = auditor->orders = NULL;
    audit_queries_free(&auditor->queries);
}

int auditor_create(struct auditor *auditor, const char *name, int64_t stock, const char *spec,
                   struct audit_product *product, char *why, size_t why_size) {
    char stock_text[24];
    struct pg_query query = {.statement = &product_insert,
                             .params = {name, stock_text, spec},
                             .deadline_ms = clock_now_ms() + QUERY_MS};
    enum pg_status status;

    snprintf(stock_text, sizeof stock_text, "%" PRId64, stock);
    status = pg_query_await(auditor->inventory, &query);
    if (status == PG_OK) {
        snprintf(product->id, sizeof product->id, "%s", pg_text(&query, 0, 0));
        snprintf(product->since, sizeof product->since, "%s", pg_text(&query, 0, 1));
    } else {
        snprintf(why, why_size, "the product was not created: %s", query.message);
    }
    pg_query_clear(&query);
    return status == PG_OK ? 0 : -1;
}

/* Run a query of audit.sql. 0; or -1, and `why` says what failed. Clear `query` either way. */
static int run_query(struct auditor *auditor, const char *name, const struct audit_product *product,
                     struct pg_query *query, char *why, size_t why_size) {
    const struct audit_query *found = audit_query_find(&auditor->queries, name);

    memset(query, 0, sizeof *query);
    if (found == NULL) {
        snprintf(why, why_size, "audit.sql has no query %s", name);
        return -1;
    }
    query->statement = &found->statement;
    query->params[0] = product->id;
    query->params[1] = product->since;
    query->deadline_ms = clock_now_ms() + auditor->query_ms;
    if (pg_query_await(found->is_orders ? auditor->orders : auditor->inventory, query) == PG_OK)
        return 0;
    snprintf(why, why_size, "the ledger could not be read: %s of audit.sql: %s", name,
             query->message);
    return -1;
}

/* One number, or -1 while the database does not answer. */
static int64_t count_rows(struct auditor *auditor, const char *name,
                          const struct audit_product *product) {
    struct pg_query query;
    char why[AUDIT_WHY];
    int64_t count = -1;

    if (run_query(auditor, name, product, &query, why, sizeof why) == 0)
        count = pg_int(&query, 0, 0);
    pg_query_clear(&query);
    return count;
}

bool auditor_wait_quiet(struct auditor *auditor, const struct audit_product *product,
                        int64_t still_ms, int64_t deadline_ms, const bool *is_interrupted) {
    int64_t sales = -1, sold_ms = clock_now_ms();

    for (;;) {
        int64_t sales_now = count_rows(auditor, "sales_count", product);
        int64_t orders_now = count_rows(auditor, "orders_count", product);
        int64_t now = clock_now_ms();

        if (sales_now != sales)
            sold_ms = now;
        sales = sales_now;
        if (sales >= 0 && sales == orders_now && now - sold_ms >= still_ms)
            return true;
        if (now >= deadline_ms || *is_interrupted)
            return false;
        fiber_sleep(auditor->loop, POLL_MS);
    }
}

static int by_sale_id(const void *a, const void *b) {
    const struct ledger_sale *x = a, *y = b;

    return strcmp(x->order_id, y->order_id);
}

static int by_order_id(const void *a, const void *b) {
    const struct ledger_order *x = a, *y = b;

    return strcmp(x->order_id, y->order_id);
}

static int take_sales(struct audit_reading *reading) {
    struct ledger *ledger = &reading->ledger;
    int rows = PQntuples(reading->sales.result);

    ledger->sales = calloc((size_t)rows + 1, sizeof *ledger->sales);
    if (ledger->sales == NULL)
        return -1;
    for (int row = 0; row < rows; row++)
        ledger->sales[row] = (struct ledger_sale){
            .order_id = pg_text(&reading->sales, row, 0),
            .unit = pg_int(&reading->sales, row, 1),
            .shard = pg_int(&reading->sales, row, 2),
            .instance = pg_text(&reading->sales, row, 3),
            .fence = pg_int(&reading->sales, row, 4),
            .at = pg_text(&reading->sales, row, 5),
            .remaining = pg_int(&reading->sales, row, 6),
        };
    ledger->sale_count = (size_t)rows;
    qsort(ledger->sales, ledger->sale_count, sizeof *ledger->sales, by_sale_id);
    return 0;
}

static int take_orders(struct audit_reading *reading) {
    struct ledger *ledger = &reading->ledger;
    int rows = PQntuples(reading->orders.result);

    ledger->orders = calloc((size_t)rows + 1, sizeof *ledger->orders);
    if (ledger->orders == NULL)
        return -1;
    for (int row = 0; row < rows; row++)
        ledger->orders[row] = (struct ledger_order){
            .order_id = pg_text(&reading->orders, row, 0),
            .unit = pg_int(&reading->orders, row, 1),
            .instance = pg_text(&reading->orders, row, 2),
            .at = pg_text(&reading->orders, row, 3),
        };
    ledger->order_count = (size_t)rows;
    qsort(ledger->orders, ledger->order_count, sizeof *ledger->orders, by_order_id);
    return 0;
}

static int read_stock(struct auditor *auditor, const struct audit_product *product,
                      struct ledger *ledger, char *why, size_t why_size) {
    struct pg_query query;
    int rc = run_query(auditor, "stock", product, &query, why, why_size);

    if (rc == 0 && query.affected != 1) {
        snprintf(why, why_size, "the product %s is not in the database inventory", product->id);
        rc = -1;
    }
    if (rc == 0) {
        ledger->initial = pg_int(&query, 0, 0);
        ledger->available = pg_int(&query, 0, 1);
        ledger->returned = pg_int(&query, 0, 2);
        ledger->counted = pg_int(&query, 0, 3);
        ledger->units = pg_int(&query, 0, 4);
    }
    pg_query_clear(&query);
    return rc;
}

int auditor_read(struct auditor *auditor, const struct audit_product *product,
                 struct audit_reading *reading, char *why, size_t why_size) {
    memset(reading, 0, sizeof *reading);
    /* The orders first: each of them has its sale by then, should they still be coming in. */
    if (run_query(auditor, "orders", product, &reading->orders, why, why_size) != 0)
        return -1;
    if (run_query(auditor, "sales", product, &reading->sales, why, why_size) != 0)
        return -1;
    if (read_stock(auditor, product, &reading->ledger, why, why_size) != 0)
        return -1;
    if (take_sales(reading) == 0 && take_orders(reading) == 0)
        return 0;
    snprintf(why, why_size, "the ledger could not be read: out of memory");
    return -1;
}

void audit_reading_free(struct audit_reading *reading) {
    free(reading->ledger.sales);
    free(reading->ledger.orders);
    pg_query_clear(&reading->sales);
    pg_query_clear(&reading->orders);
    memset(reading, 0, sizeof *reading);
}
