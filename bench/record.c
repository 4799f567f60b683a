/* Records orders: in groups, like order-svc, or by one INSERT each on eight connections.
 *
 *     bench_record grouped|single IN_FLIGHT SECONDS
 *
 * IN_FLIGHT callers record orders in the database of ORDER_SVC_DB, each the next one as soon as its
 * last one is recorded. Prints the recorded orders, the seconds, and this process's CPU seconds. */
#include "clock.h"
#include "fiber.h"
#include "log.h"
#include "order_groups.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define CONNECTIONS 8
#define PATIENCE_MS 10000
#define PRODUCT     "82391173-9dbc-49b6-821b-746a11dbbe5e"

static struct {
    struct pg_pool *pool;
    struct order_groups groups;
    bool is_grouped, is_over;
    int callers;
    int64_t recorded, begun_ns, ns;
} bench;

static enum pg_status record_alone(const struct order *order) {
    static const struct pg_statement insert = {
        "insert",
        "INSERT INTO orders (order_id, product_id, unit, remaining, price, inventory_instance) "
        "VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (order_id) DO NOTHING",
        6};
    struct pg_query query = {
        .statement = &insert,
        .params = {order->order_id, order->product_id, "788", "787", order->price, order->instance},
        .deadline_ms = clock_now_ms() + PATIENCE_MS};
    enum pg_status status = pg_query_await(bench.pool, &query);

    pg_query_clear(&query);
    return status;
}

static enum pg_status record(const struct order *order) {
    char why[PG_MESSAGE_BYTES];
    bool is_repeat;

    if (!bench.is_grouped)
        return record_alone(order);
    return order_groups_insert(&bench.groups, order, true, clock_now_ms() + PATIENCE_MS, &is_repeat,
                               why);
}

static void on_closed(void *data) {
    (void)data;
}

static void call(void *arg) {
    struct order order = {.product_id = PRODUCT,
                          .unit = 788,
                          .remaining = 787,
                          .price = "88888.88",
                          .instance = "inventory-1"};

    (void)arg;
    while (!bench.is_over) {
        uuid_v7(order.order_id);
        if (record(&order) != PG_OK) {
            (void)fprintf(stderr, "record: an order could not be recorded\n");
            exit(69);
        }
        bench.recorded++;
        bench.is_over = clock_now_ns() - bench.begun_ns >= bench.ns;
    }
    if (--bench.callers == 0)
        pg_pool_close(bench.pool, on_closed, NULL);
}

static double seconds_of(const struct timeval *time) {
    return (double)time->tv_sec + (double)time->tv_usec / 1e6;
}

static void tell(void) {
    struct rusage usage;

    (void)getrusage(RUSAGE_SELF, &usage);
    (void)printf("%lld %.3f %.3f\n", (long long)bench.recorded,
                 (double)(clock_now_ns() - bench.begun_ns) / 1e9,
                 seconds_of(&usage.ru_utime) + seconds_of(&usage.ru_stime));
}

int main(int argc, char **argv) {
    const char *db = getenv("ORDER_SVC_DB");
    const struct pg_pool_options options = {
        .conninfo = db, .name = "record", .connections = CONNECTIONS};
    uv_loop_t *loop = uv_default_loop();

    if (argc != 4 || db == NULL) {
        (void)fprintf(stderr, "Usage: bench_record grouped|single "
                              "IN_FLIGHT SECONDS, with ORDER_SVC_DB\n");
        return 64;
    }
    log_init("record", LOG_WARN);
    bench.is_grouped = strcmp(argv[1], "grouped") == 0;
    bench.callers = atoi(argv[2]);
    bench.ns = (int64_t)(atof(argv[3]) * 1e9);
    if (pg_pool_open(&bench.pool, loop, &options) != 0)
        return 70;
    order_groups_init(&bench.groups, loop, bench.pool);
    bench.groups.in_flight = (unsigned)bench.callers;
    bench.begun_ns = clock_now_ns();
    for (int i = bench.callers; i > 0; i--)
        if (fiber_start(call, NULL) != 0)
            return 70;
    (void)uv_run(loop, UV_RUN_DEFAULT);
    bench.groups.in_flight = 0;
    order_groups_free(&bench.groups);
    tell();
    return 0;
}
