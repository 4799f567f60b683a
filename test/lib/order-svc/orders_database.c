/* The orders database of a test. */
#include "orders_database.h"

struct pg_schema schema;

int count_orders(void) {
    return count("SELECT count(*) FROM orders");
}

void open_pool(unsigned connections, unsigned queue) {
    struct pg_pool_options options = {.conninfo = schema.conninfo,
                                      .name = schema.name,
                                      .connections = connections,
                                      .queue = queue};

    assert_int_equal(pg_pool_open(&fixture.pool, &fixture.loop, &options), 0);
    fixture.open++;
    WAIT_FOR(&fixture.loop, pg_pool_is_up(fixture.pool));
}

void close_pool(void) {
    unsigned open = fixture.open;

    pg_pool_close(fixture.pool, on_something_closed, NULL);
    WAIT_FOR(&fixture.loop, fixture.open < open);
}

int set_up_database(void **state) {
    pg_schema_open(&schema, "orders", "sql/orders.sql", "");
    (void)set_up_peers(state);
    open_pool(4, 100);
    open_inventory(1);
    return 0;
}

int tear_down_database(void **state) {
    run_sql("ROLLBACK"); /* for a test that failed in the middle */
    close_pool();
    pg_schema_close(&schema);
    return tear_down_peers(state);
}
