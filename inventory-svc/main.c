/* inventory-svc: keeps the count of each product, and sells from it under the product's strategy.
 */
#include "gauges.h"
#include "inventory.h"

#include "clock.h"
#include "log.h"
#include "redis.h"
#include "service.h"
#include "settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define READY_MS   1000
#define QUEUE_MOST 10000 /* as many requests as the server has connections */

static struct {
    char *listen, *name, *db, *redis, *log_level;
    int64_t port, db_connections, products, drain_ns;
    bool is_lab;
} set;

/* Connections: sales of one product queue for its row anyway, here in order and at no cost, or in
 * Postgres, where each waiter is woken for each sale. POST /orders under atomic reaches 1.02 of
 * pgbench's rate (32 clients, one hot row) with 4 connections per instance, 0.85 with 8. */
static const struct setting settings[] = {
    {"listen", 0, SETTING_TEXT, &set.listen, "127.0.0.1", "address to listen on", NULL},
    {"port", 'p', SETTING_INT, &set.port, "8001", "port to listen on", "1..65535"},
    {"name", 0, SETTING_TEXT, &set.name, "", "name in the ledger; default inventory-<port>", NULL},
    {"db", 0, SETTING_SECRET, &set.db, NULL, "libpq connection string of the inventory database",
     NULL},
    {"redis", 0, SETTING_SECRET, &set.redis, NULL, "redis://[:password@]host[:port][/db]", NULL},
    {"db-connections", 0, SETTING_INT, &set.db_connections, "4",
     "connections to the database; more contend for a hot row", "1..1000"},
    {"products", 0, SETTING_INT, &set.products, "1024", "products to remember", "1..1000000"},
    {"lab", 0, SETTING_FLAG, &set.is_lab, NULL, "honour failpoints", NULL},
    {"drain", 0, SETTING_DURATION, &set.drain_ns, "10s", "how long requests may take after SIGTERM",
     "0s..1h"},
    {"log-level", 0, SETTING_TEXT, &set.log_level, "info", "debug, info, warn or error", NULL},
    {.name = NULL}};

static struct {
    uv_loop_t loop;
    char name[INSTANCE_BYTES];
    struct inventory inventory;
    struct redis *redis; /* for /readyz: lockkit has a connection of its own */
    int locks_open;
} program;

static int is_ready(void *data, char *why, size_t size) {
    struct redis_call ping = {
        .argc = 1, .argv = {"PING"}, .deadline_ms = clock_now_ms() + READY_MS};
    char message[MESSAGE_BYTES];
    bool has_db = product_sql_ping(program.inventory.store.pool, clock_now_ms() + READY_MS,
                                   message) == OUTCOME_OK;
    bool has_redis = redis_call_await(program.redis, &ping) == REDIS_IS_OK;

    (void)data;
    if (has_db && has_redis)
        return 0;
    (void)snprintf(why, size, "not reachable:%s%s", has_db ? "" : " Postgres",
                   has_redis ? "" : " Redis");
    return -1;
}

static void on_closed(void *data) {
    (void)data;
}

/* After the locks: closing those gives back what is still held. */
static void close_connections(void) {
    if (program.redis != NULL)
        redis_close(program.redis, on_closed, NULL);
    if (program.inventory.store.pool != NULL)
        pg_pool_close(program.inventory.store.pool, on_closed, NULL);
    program.redis = NULL;
    program.inventory.store.pool = NULL;
}

static void on_lock_client_closed(void *data) {
    (void)data;
    if (--program.locks_open == 0)
        close_connections();
}

/* No handler runs any more. May be called again, or when not everything was opened. */
static void on_drained(void *data) {
    struct store *store = &program.inventory.store;
    lk_client *clients[] = {store->local, store->redis};

    (void)data;
    product_table_close(program.inventory.products);
    program.inventory.products = NULL;
    store->local = store->redis = NULL;
    if (clients[0] == NULL && clients[1] == NULL && program.locks_open == 0)
        close_connections();
    for (int i = 0; i < 2; i++)
        if (clients[i] != NULL)
            lk_client_close(clients[i], on_lock_client_closed, NULL);
}

static int open_lock_client(lk_client **client, const char *url) {
    struct lk_client_options options = {.size = sizeof options, .label = program.name};
    enum lk_status status = lk_client_open(client, &program.loop, url, &options);

    if (status != LK_OK) {
        (void)fprintf(stderr, "inventory-svc: locks cannot be opened: %s\n",
                      lk_status_text(status));
        return -1;
    }
    program.locks_open++;
    return 0;
}

static int open_connections(void) {
    struct pg_pool_options db = {.conninfo = set.db,
                                 .name = program.name,
                                 .connections = (unsigned)set.db_connections,
                                 .queue = QUEUE_MOST};
    struct redis_options redis = {.url = set.redis, .name = program.name};
    int result = pg_pool_open(&program.inventory.store.pool, &program.loop, &db);

    if (result != 0) {
        program.inventory.store.pool = NULL;
        (void)fprintf(stderr, "inventory-svc: INVENTORY_SVC_DB: %s\n",
                      result == UV_EINVAL ? "not a libpq connection string" : uv_strerror(result));
        return -1;
    }
    result = redis_open(&program.redis, &program.loop, &redis);
    if (result != 0) {
        program.redis = NULL;
        (void)fprintf(stderr, "inventory-svc: INVENTORY_SVC_REDIS: %s\n",
                      result == UV_EINVAL ? "not a redis:// URL" : uv_strerror(result));
        return -1;
    }
    return 0;
}

static int open_all(void) {
    struct inventory *inventory = &program.inventory;

    inventory->store.loop = &program.loop;
    inventory->store.instance = program.name;
    inventory->port = (int)set.port;
    if (open_connections() != 0 || open_lock_client(&inventory->store.local, "local:") != 0 ||
        open_lock_client(&inventory->store.redis, set.redis) != 0)
        return -1;
    inventory->products =
        product_table_open(inventory->store.pool, program.name, set.is_lab, (unsigned)set.products);
    if (inventory->products == NULL) {
        (void)fprintf(stderr, "inventory-svc: out of memory\n");
        return -1;
    }
    gauges_register(&inventory->store, inventory->products);
    return 0;
}

static int serve(void) {
    struct service service = {.name = "inventory-svc",
                              .listen = set.listen,
                              .port = (int)set.port,
                              .routes = inventory_routes,
                              .data = &program.inventory,
                              .drain_ms = (uint64_t)(set.drain_ns / 1000000),
                              .is_ready = is_ready,
                              .on_drained = on_drained};

    return service_run(&program.loop, &service);
}

static int run(void) {
    int result = open_all() == 0 ? serve() : 1;

    on_drained(NULL); /* when service_run() did not get that far */
    (void)uv_run(&program.loop, UV_RUN_DEFAULT);
    return uv_loop_close(&program.loop) == 0 ? result : 70;
}

static int check_settings(void) {
    enum log_level level;

    if (log_level_parse(set.log_level, &level) != 0) {
        (void)fprintf(stderr, "inventory-svc: --log-level is debug, info, warn or error\n");
        return 64;
    }
    if (set.db[0] == '\0' || set.redis[0] == '\0') {
        (void)fprintf(stderr, "inventory-svc: set INVENTORY_SVC_DB and INVENTORY_SVC_REDIS\n");
        return 64;
    }
    if (strlen(set.name) >= sizeof program.name) {
        (void)fprintf(stderr, "inventory-svc: --name has at most %zu bytes\n",
                      sizeof program.name - 1);
        return 64;
    }
    if (set.name[0] != '\0')
        strcpy(program.name, set.name);
    else
        (void)snprintf(program.name, sizeof program.name, "inventory-%d", (int)set.port);
    log_init(program.name, level);
    return 0;
}

/* The server gives up a statement before we do, so that its answer is definite; a connection string
 * that names options has its own way. */
static int limit_statements(void) {
    char options[100];

    (void)snprintf(options, sizeof options,
                   "-c statement_timeout=%d -c idle_in_transaction_session_timeout=5000",
                   SERVER_MS);
    return setenv("PGOPTIONS", options, 0);
}

int main(int argc, char **argv) {
    int result;

    switch (settings_read(settings, "inventory-svc keeps the count and sells from it",
                          "INVENTORY_SVC", NULL, &argc, argv)) {
    case SETTINGS_HELP:
        return 0;
    case SETTINGS_ERROR:
        return 64;
    case SETTINGS_OK:
        break;
    }
    result = check_settings();
    if (result == 0 && (limit_statements() != 0 || uv_loop_init(&program.loop) != 0)) {
        (void)fprintf(stderr, "inventory-svc: out of memory\n");
        result = 70;
    } else if (result == 0) {
        result = run();
    }
    settings_free(settings);
    return result;
}
