/* order-svc: takes orders. Settings, pools, and the order in which they open and close. */
#include "handlers.h"
#include "log.h"
#include "order.h"
#include "service.h"
#include "settings.h"
#include "settle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    char *listen, *inventory, *db, *log_level;
    int64_t port, db_connections, inventory_timeout, settle_after, settle_every, drain;
} set;

static const struct setting table[] = {
    {"listen", 0, SETTING_TEXT, &set.listen, "127.0.0.1", "address to listen on", NULL},
    {"port", 'p', SETTING_INT, &set.port, "8000", "port to listen on", "1..65535"},
    {"inventory", 0, SETTING_TEXT, &set.inventory, "http://127.0.0.1:8001,http://127.0.0.1:8002",
     "the inventory instances, any number", NULL},
    {"db", 0, SETTING_SECRET, &set.db, "postgresql://order_svc@127.0.0.1:8090/orders",
     "the orders database, as a libpq connection string", NULL},
    {"db-connections", 0, SETTING_INT, &set.db_connections, "8", "connections to it", "1..1000"},
    {"inventory-timeout", 0, SETTING_DURATION, &set.inventory_timeout, "9s",
     "how long to wait for a reservation; longer than the wait= of strategies", "10ms..1h"},
    {"settle-after", 0, SETTING_DURATION, &set.settle_after, "10s",
     "age at which a reservation without an order gets one", "1s..1h"},
    {"settle-every", 0, SETTING_DURATION, &set.settle_every, "1s", "how often to look for those",
     "10ms..1h"},
    {"drain", 0, SETTING_DURATION, &set.drain, "10s", "how long requests may take after SIGTERM",
     "0..1h"},
    {"log-level", 0, SETTING_TEXT, &set.log_level, "info", "debug, info, warn or error", NULL},
    {NULL, 0, SETTING_TEXT, NULL, NULL, NULL, NULL},
};

struct program {
    struct order_svc svc; /* first: the handlers' data */
    struct settle settle;
};

static int is_ready(void *data, char *why, size_t size) {
    struct order_svc *svc = data;

    if (!pg_pool_is_up(svc->pool))
        snprintf(why, size, "the orders database cannot be reached");
    else if (!inventory_is_up(svc->inventory))
        snprintf(why, size, "no inventory instance can be reached");
    else
        return 0;
    return -1;
}

static void on_pool_closed(void *data) {
    (void)data;
}

static void on_inventory_closed(void *data) {
    struct program *program = data;

    pg_pool_close(program->svc.pool, on_pool_closed, NULL);
}

static void on_settle_stopped(void *data) {
    struct program *program = data;

    inventory_close(program->svc.inventory, on_inventory_closed, program);
}

static void on_drained(void *data) {
    struct program *program = data;

    settle_stop(&program->settle, on_settle_stopped, program);
}

/* Open the pools. 0; or an exit code after a line on stderr. */
static int open_pools(struct program *program, uv_loop_t *loop) {
    struct pg_pool_options options = {.conninfo = set.db,
                                      .name = "order-svc",
                                      .connections = (unsigned)set.db_connections,
                                      .queue = 16384};
    char why[200];
    int code = pg_pool_open(&program->svc.pool, loop, &options);

    if (code != 0) {
        fprintf(stderr, "order-svc: ORDER_SVC_DB: %s\n",
                code == UV_EINVAL ? "not a libpq connection string" : uv_strerror(code));
        return 64;
    }
    if (inventory_open(&program->svc.inventory, loop, set.inventory, why, sizeof why) != 0) {
        fprintf(stderr, "order-svc: --inventory: %s\n", why);
        return 64;
    }
    inventory_register_metrics(program->svc.inventory);
    settle_start(&program->settle, loop, program->svc.inventory, program->svc.pool,
                 program->svc.settle_after_ms, set.settle_every / 1000000);
    return 0;
}

static int run(uv_loop_t *loop) {
    struct program program = {.svc = {.inventory_timeout_ms = set.inventory_timeout / 1000000,
                                      .settle_after_ms = set.settle_after / 1000000}};
    struct service service = {.name = "order-svc",
                              .listen = set.listen,
                              .port = (int)set.port,
                              .routes = order_routes,
                              .data = &program,
                              .drain_ms = (uint64_t)set.drain / 1000000,
                              .is_ready = is_ready,
                              .on_drained = on_drained};
    int code = open_pools(&program, loop);

    return code != 0 ? code : service_run(loop, &service);
}

int main(int argc, char **argv) {
    enum log_level level;
    uv_loop_t *loop = uv_default_loop();
    int code;

    switch (settings_read(
        table,
        "order-svc: takes orders, reserves a unit for each at an inventory instance, records it",
        "ORDER_SVC", NULL, &argc, argv)) {
    case SETTINGS_OK:
        break;
    case SETTINGS_HELP:
        return 0;
    case SETTINGS_ERROR:
        return 64;
    }
    if (loop == NULL || log_level_parse(set.log_level, &level) != 0) {
        fprintf(stderr, "order-svc: --log-level must be debug, info, warn or error\n");
        return 64;
    }
    log_init("order-svc", level);
    order_register_metrics();
    code = run(loop);
    settings_free(table);
    return code;
}
