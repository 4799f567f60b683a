/* One instance in a test: its own schema on TEST_PG, Redis of TEST_REDIS, pools, locks and the
 * table of products. Sales run in any number of fibers. */
#ifndef TEST_INSTANCE_H
#define TEST_INSTANCE_H

#include "clock.h"
#include "fault.h"
#include "fiber.h"
#include "pg_schema.h"
#include "selling.h"
#include "test.h"
#include "wait.h"

struct instance {
    uv_loop_t loop;
    struct store store;
    struct pg_schema schema;
    char lock_dir[40];
    char name[32];      /* of this process's connections: tests side by side tell theirs apart */
    char lock_url[400]; /* of locks in the schema */
};

extern struct instance instance;

#define run_sql(...) pg_schema_run(&instance.schema, __VA_ARGS__)
#define ask(...)     pg_schema_number(&instance.schema, __VA_ARGS__)

/* Run them before and after all tests of a program. */
int make_schema(void **state);
int drop_schema(void **state);

/* Run them before and after each test. */
int set_up(void **state);
int tear_down(void **state);
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

void on_closed(void *data); /* does nothing */

/* Make it the instance's pool once all its connections are open. So sales run one after another on
 * the first, which knows their statements. */
void instance_open_pool(const struct pg_pool_options *options);

/* From the next lock in Postgres on, the server is at this port. */
void name_postgres_locks(int port);

/* The client for locks in Redis. */
lk_client **redis_locks(void);

/* From here on Redis is gone. Returns a value for regain_redis(). */
lk_client *lose_redis(void);
void regain_redis(lk_client *usual);

/* From here on raw commands and stock in Redis go to `url`; and back to the old place. */
void divert_kv(const char *url);
void regain_kv(void);

/* An id that no other caller has. It lasts for some hundred more. */
const char *new_id(void);
/* Make a product. Returns its id. */
const char *make_product(const char *strategy, int stock);
/* Make a product with so much stock and sell a unit of it, so that its rows of stock exist. */
const char *lay_out(const char *strategy, int stock);
/* Lock the row of its stock, once it exists, until the test ends the transaction. */
void lock_stock(const char *id);

/* A sale in a fiber of its own. */
struct buyer {
    char product_id[UUID_TEXT], order_id[UUID_TEXT];
    struct selling selling;
    struct store *at;
    bool is_done;
};

struct pg_pool_stats pool_stats(void);
/* The number of connections that wait for a lock of the server. */
long blocked(void);

/* Run `run` in a fiber, to its end. */
void in_fiber(fiber_fn run, void *arg);
/* Run the steps of a sale of the product in a fiber. The sale counts as asked for so long ago.
 * `order_id` NULL makes a new one. Returns the cost. */
struct sale_cost run_steps(const char *product_id, const char *order_id,
                           void (*steps)(struct sale *sale), int64_t ago_ms);

/* Start a sale; `order_id` NULL makes a new one. */
void begin(struct buyer *buyer, const char *product_id, const char *order_id);
void finish(struct buyer *buyers, size_t count);
enum outcome finish_one(struct buyer *buyer);
/* One sale from beginning to end. */
enum outcome sell(struct buyer *buyer, const char *product_id, const char *order_id);
enum outcome sell_one(const char *product_id);
/* Sell so many at a time. */
void buy_all(struct buyer *buyers, const char *product_id, size_t count);

/* Another instance at the same servers, with its own directory of locks or the same one. */
void open_other(const char *lock_dir);
void close_other(void);
void begin_at_other(struct buyer *buyer, const char *product_id);

size_t count_outcome(const struct buyer *buyers, size_t count, enum outcome outcome);

/* Of a product: units sold more than once, units sold, units unsold. */
long twins(const char *product_id);
long sold(const char *product_id);
long left(const char *product_id);

/* So many units are sold, none of them twice, and so many unsold. ANY is not checked. */
#define ANY (-1)
#define expect_units(product_id, sold, left)                                                       \
    instance_expect_units(product_id, sold, left, __FILE__, __LINE__)
void instance_expect_units(const char *product_id, long is_sold, long is_left, const char *file,
                           int line);

/* Cancel an order, which must be possible. True when it was there. */
bool cancel_order(const char *order_id);
bool cancel_in_fiber(const char *order_id); /* the same inside a fiber */

/* In a fiber: wait until all connections to Postgres are free or held. A sale does not wait for its
 * rollback, and the next one may find the row held for a moment. */
void instance_await_rollback(void);

#endif
