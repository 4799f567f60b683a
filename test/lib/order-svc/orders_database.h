/* The orders database of a test: sql/orders.sql in a schema of this process on TEST_PG, and a pool
 * on it; and one scripted inventory instance. */
#ifndef TEST_ORDERS_DATABASE_H
#define TEST_ORDERS_DATABASE_H

#include "order_fixture.h"
#include "pg_schema.h"

extern struct pg_schema schema;

#define run_sql(...) pg_schema_run(&schema, __VA_ARGS__)
#define ask(...)     pg_schema_ask(&schema, __VA_ARGS__)
#define count(...)   ((int)pg_schema_number(&schema, __VA_ARGS__))

int set_up_database(void **state);
int tear_down_database(void **state);

int count_orders(void);

void open_pool(unsigned connections, unsigned queue);
void close_pool(void);

#endif
