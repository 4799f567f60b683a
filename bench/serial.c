/* The serial limit of a lock: one client makes the round trips of a sale, one after another.
 *
 *     bench_serial REDIS POSTGRES PRODUCT SECONDS
 *
 * A sale is REDIS writes of a key and POSTGRES statements. The last statement moves a unit of the
 * product into the ledger, and the others read its stock row. It uses the clients of inventory-svc,
 * and the addresses of INVENTORY_SVC_DB and INVENTORY_SVC_REDIS. Prints the sales a second. */
#include "clock.h"
#include "fiber.h"
#include "log.h"
#include "pg.h"
#include "redis.h"

#include <stdio.h>
#include <stdlib.h>

#define PATIENCE_MS 5000

static struct {
    int redis_trips, pg_trips;
    const char *product;
    int64_t ns;
    struct redis *redis;
    struct pg_pool *pool;
    double rate; /* 0: an operation failed */
} bench;

static bool ask(const struct pg_statement *statement) {
    struct pg_query query = {.statement = statement,
                             .params = {bench.product},
                             .deadline_ms = clock_now_ms() + PATIENCE_MS};
    enum pg_status status = pg_query_await(bench.pool, &query);
    const bool is_well = status == PG_OK && query.affected == 1;

    if (!is_well)
        (void)fprintf(stderr, "serial: %s: %s\n", statement->name,
                      status == PG_OK ? "no such product, or nothing left" : query.message);
    pg_query_clear(&query);
    return is_well;
}

static bool sell(void) {
    static const struct pg_statement read = {
        "read", "SELECT available, version FROM stock WHERE product_id = $1 AND shard = 0", 1};
    static const struct pg_statement write = {
        "write",
        "WITH taken AS (UPDATE stock SET available = available - 1, version = version + 1"
        " WHERE product_id = $1::uuid AND shard = 0 AND available > 0"
        " RETURNING first_unit + available AS unit, available)"
        " INSERT INTO reservation (order_id, product_id, shard, unit, remaining, instance, fence)"
        " SELECT gen_random_uuid(), $1::uuid, 0, unit, available, 'serial', 0 FROM taken",
        1};
    bool is_well = true;

    for (int i = 0; i < bench.redis_trips && is_well; i++) {
        struct redis_call call = {.argc = 5,
                                  .argv = {"SET", "serial", "held", "PX", "10000"},
                                  .deadline_ms = clock_now_ms() + PATIENCE_MS};

        is_well = redis_call_await(bench.redis, &call) == REDIS_IS_OK;
    }
    for (int i = 1; i <= bench.pg_trips && is_well; i++)
        is_well = ask(i < bench.pg_trips ? &read : &write);
    return is_well;
}

static void on_closed(void *data) {
    (void)data;
}

static void run(void *arg) {
    int64_t begun_ns = clock_now_ns(), done = 0;
    bool is_well = sell(); /* it connects and prepares */

    (void)arg;
    for (begun_ns = clock_now_ns(); is_well && clock_now_ns() - begun_ns < bench.ns; done++)
        is_well = sell();
    if (is_well)
        bench.rate = (double)done * 1e9 / (double)(clock_now_ns() - begun_ns);
    pg_pool_close(bench.pool, on_closed, NULL);
    redis_close(bench.redis, on_closed, NULL);
}

int main(int argc, char **argv) {
    const char *db = getenv("INVENTORY_SVC_DB"), *url = getenv("INVENTORY_SVC_REDIS");
    const struct pg_pool_options pool = {.conninfo = db, .name = "serial", .connections = 1};
    const struct redis_options redis = {.url = url};
    uv_loop_t *loop = uv_default_loop();

    if (argc != 5 || db == NULL || url == NULL) {
        (void)fprintf(stderr, "Usage: bench_serial REDIS POSTGRES PRODUCT SECONDS, with "
                              "INVENTORY_SVC_DB and INVENTORY_SVC_REDIS\n");
        return 64;
    }
    log_init("serial", LOG_WARN);
    bench.redis_trips = atoi(argv[1]);
    bench.pg_trips = atoi(argv[2]);
    bench.product = argv[3];
    bench.ns = (int64_t)(atof(argv[4]) * 1e9);
    if (pg_pool_open(&bench.pool, loop, &pool) != 0 ||
        redis_open(&bench.redis, loop, &redis) != 0 || fiber_start(run, NULL) != 0)
        return 70;
    (void)uv_run(loop, UV_RUN_DEFAULT);
    (void)printf("%.1f\n", bench.rate);
    return bench.rate > 0 ? 0 : 69;
}
