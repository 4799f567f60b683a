/* inventory-svc: keeps the count of each product, and sells units under the product's strategy. */
#include "exercise.h"
#include "handlers.h"
#include "store_live.h"
#include "strategies.h"

#include "clock.h"
#include "log.h"
#include "metrics.h"
#include "pending.h"
#include "pg_conninfo.h"
#include "redis.h"
#include "segment_redis.h"
#include "service.h"
#include "stock_sql.h"
#include "utf8.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#define READY_MS 600 /* for each server; all fit into the 2 s of a health check */

static struct {
    struct service_settings service;
    char *name, *redis, *cluster, *redlock, *zookeeper, *etcd, *pooler, *secret, *lock_dir,
        *exercise;
    int64_t products;
    bool is_lab;
} set;

/* Connections: sales of one product must queue for its row anyway. Here the queue is in order and
 * free. In Postgres, each sale wakes each waiter. POST /orders under atomic reaches 1.02 of
 * pgbench's rate (32 clients, one hot row) with 4 connections per instance, 0.85 with 8. */
static const struct setting settings[] = {
    SERVICE_SETTINGS(set.service, "8001"),
    {"db", 0, SETTING_SECRET, &set.service.db, NULL,
     "libpq connection string of the inventory database", NULL},
    {"db-connections", 0, SETTING_INT, &set.service.db_connections, "4",
     "connections to the database; more contend for a hot row", "1..1000"},
    {"db-in-flight", 0, SETTING_INT, &set.service.db_in_flight, "16",
     "statements in flight on one of these connections, if there are two or more; 1: no pipelining",
     "1..1000"},
    {"redis", 0, SETTING_SECRET, &set.redis, NULL, "redis://[user][:password]@host[:port][/db]",
     NULL},
    {"cluster", 0, SETTING_SECRET, &set.cluster, NULL,
     "redis+cluster://[[user][:password]@]host:port,host:port..., for the stock of the strategy "
     "prewarm; default --redis",
     NULL},
    {"redlock", 0, SETTING_SECRET, &set.redlock, NULL,
     "redlock:redis://...,redis://..., for the strategy redlock", NULL},
    {"zookeeper", 0, SETTING_SECRET, &set.zookeeper, NULL,
     "zookeeper://host:port,host:port..., for the strategies zookeeper and zookeeper-unfair", NULL},
    {"etcd", 0, SETTING_SECRET, &set.etcd, NULL,
     "etcd://host:port,host:port..., for the strategy etcd", NULL},
    {"pooler", 0, SETTING_SECRET, &set.pooler, NULL,
     "libpq connection string of the same database through a pooler, for the strategy "
     "pg-advisory-raw; default --db",
     NULL},
    {"secret", 0, SETTING_SECRET, &set.secret, NULL,
     "shared with order-svc; without it no unit is taken back and no order settled", NULL},
    {"name", 0, SETTING_TEXT, &set.name, "", "name in the ledger; default inventory-<port>", NULL},
    {"lock-dir", 0, SETTING_TEXT, &set.lock_dir, "",
     "private directory for locks on this machine's disk; default inventory-svc in "
     "XDG_RUNTIME_DIR, or /tmp/inventory-svc-<uid>",
     NULL},
    {"products", 0, SETTING_INT, &set.products, "1024", "products to remember", "1..1000000"},
    {"lab", 0, SETTING_FLAG, &set.is_lab, NULL, "run failpoints instead of refusing them", NULL},
    {"exercise", 0, SETTING_TEXT, &set.exercise, "",
     "shared object with a strategy of your own, built for this service; needs --lab", NULL},
    {.name = NULL}};

static char name[INSTANCE_BYTES];
static char lock_dir[PATH_MAX];
static char *db_url; /* of --db, for lockkit; to the end */
static struct store store = {.instance = name};

/* Asked last: a database or Redis that is away is the shorter reason. */
static int is_cluster_ready(struct why *why) {
    const struct segment_server server = {.cluster = store.cluster, .loop = store.loop};

    return store.cluster == NULL ? 0 : segment_redis_check(&server, clock_now_ms() + READY_MS, why);
}

static int main_is_ready(void *data, struct why *why) {
    struct redis_call ping = {.argc = 1, .argv = {"PING"}};
    char reason[PG_MESSAGE_BYTES];
    bool has_db = stock_sql_is_ready(store.pool, clock_now_ms() + READY_MS, reason), has_redis;

    (void)data;
    ping.deadline_ms = clock_now_ms() + READY_MS;
    has_redis = redis_call_await(store.kv, &ping) == REDIS_IS_OK;
    if (has_db && has_redis)
        return is_cluster_ready(why);
    return why_set(why, "%s%s%s%s", has_db ? "" : "the inventory database ", has_db ? "" : reason,
                   has_db || has_redis ? "" : "; ", has_redis ? "" : "Redis cannot be reached");
}

static int name_lock_dir(void) {
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    int length;

    if (set.lock_dir[0] != '\0')
        length = snprintf(lock_dir, sizeof lock_dir, "%s", set.lock_dir);
    else if (runtime != NULL && runtime[0] == '/')
        length = snprintf(lock_dir, sizeof lock_dir, "%s/inventory-svc", runtime);
    else
        length = snprintf(lock_dir, sizeof lock_dir, "/tmp/inventory-svc-%u", (unsigned)geteuid());
    if (length < (int)sizeof lock_dir)
        return 0;
    return service_fail(EX_USAGE, "--lock-dir has at most %zu bytes", sizeof lock_dir - 1);
}

static int load_exercise(void) {
    struct why why;
    int code;

    if (set.exercise[0] == '\0')
        return 0;
    if (!set.is_lab)
        return service_fail(EX_USAGE, "--exercise runs code of others: add --lab");
    code = exercise_load(set.exercise, &strategies_exercise, &why);
    return code == 0 ? 0 : service_fail(code, "--exercise %s: %s", set.exercise, why.text);
}

static int main_check(void) {
    int code;

    if (set.service.db[0] == '\0' || set.redis[0] == '\0')
        return service_fail(EX_USAGE, "set INVENTORY_SVC_DB and INVENTORY_SVC_REDIS");
    if (strlen(set.name) >= sizeof name)
        return service_fail(EX_USAGE, "--name has at most %zu bytes", sizeof name - 1);
    if (!utf8_is_printable(set.name))
        return service_fail(EX_USAGE, "--name must be printable text in UTF-8: customers and the "
                                      "ledger see it");
    if (set.name[0] != '\0')
        strcpy(name, set.name);
    else
        (void)snprintf(name, sizeof name, "inventory-%d", (int)set.service.port);
    code = name_lock_dir();
    return code == 0 ? load_exercise() : code;
}

static const char *url_or_null(const char *url) {
    return url[0] != '\0' ? url : NULL;
}

/* Open the client of Redis now, so that a URL that cannot be read stops the start. */
static int open_locks(void) {
    lk_client *client;
    enum lk_status status;

    if (pg_conninfo_url(&db_url, set.service.db) != 0)
        return service_fail(EX_SOFTWARE, "locks cannot be opened: INVENTORY_SVC_DB cannot be read");
    store.locks = (struct lock_servers){.loop = store.loop,
                                        .label = name,
                                        .pooled = store.pool,
                                        .dir = lock_dir,
                                        .urls = {
                                            [LOCK_AT_REDIS] = set.redis,
                                            [LOCK_AT_REDLOCK] = url_or_null(set.redlock),
                                            [LOCK_AT_ZOOKEEPER] = url_or_null(set.zookeeper),
                                            [LOCK_AT_ETCD] = url_or_null(set.etcd),
                                            [LOCK_AT_POSTGRES] = db_url,
                                        }};
    status = lock_servers_client(&store.locks, LOCK_AT_REDIS, "", &client);
    if (status == LK_OK)
        return 0;
    return service_fail(status == LK_NOMEM ? EX_SOFTWARE : EX_USAGE, "locks cannot be opened: %s",
                        lk_status_text(status));
}

static int open_redis_at(const char *url, const char *variable, struct redis **redis) {
    const struct redis_options options = {.url = url, .name = name};
    int err = redis_open(redis, store.loop, &options);

    if (err == 0)
        return 0;
    return service_fail(err == UV_EINVAL ? EX_USAGE : EX_SOFTWARE, "%s: %s", variable,
                        err == UV_EINVAL ? "not a redis:// URL" : uv_strerror(err));
}

static int main_open_redis(void) {
    int code = open_redis_at(set.redis, "INVENTORY_SVC_REDIS", &store.kv);
    char *url = set.redlock, none[] = "";

    /* The servers of redlock, for raw commands. */
    if (strncmp(url, "redlock:", 8) == 0)
        url += 8;
    for (int i = 0; i < KV_SERVERS && code == 0 && *url != '\0'; i++) {
        char *end = url + strcspn(url, ",?"), after = *end;

        *end = '\0';
        code = open_redis_at(url, "INVENTORY_SVC_REDLOCK", &store.others[i]);
        *end = after;
        url = after == ',' ? end + 1 : none;
    }
    return code;
}

static int open_cluster(void) {
    int err;

    if (set.cluster[0] == '\0')
        return 0;
    err = redis_cluster_open(&store.cluster, store.loop, set.cluster, name);
    return err == 0
               ? 0
               : service_fail(err == UV_ENOMEM ? EX_SOFTWARE : EX_USAGE,
                              "INVENTORY_SVC_CLUSTER: %s",
                              err == UV_EINVAL ? "not a redis+cluster:// URL" : uv_strerror(err));
}

/* A pool of its own, because a pooler may be slow or gone. */
static int open_pooler(void) {
    const struct pg_pool_options options = {.conninfo = set.pooler,
                                            .name = name,
                                            .is_pooled = true,
                                            .connections = (unsigned)set.service.db_connections};
    int err;

    if (set.pooler[0] == '\0')
        return 0;
    err = pg_pool_open(&store.locks.pooled, store.loop, &options);
    return err == 0 ? 0
                    : service_fail(err == UV_EINVAL ? EX_USAGE : EX_SOFTWARE,
                                   "INVENTORY_SVC_POOLER: %s", uv_strerror(err));
}

static int open_lab(void) {
    int err = lab_events_open(&store.lab, store.loop, set.service.db, name);

    if (err == 0 && set.exercise[0] != '\0' &&
        exercise_watch(set.exercise, strategies_exercise, store.loop) != 0)
        log_warn("a crash of the exercise will not be told", "why=\"%s\"", strerror(errno));
    return err == 0 ? 0 : service_fail(EX_SOFTWARE, "--lab: %s", uv_strerror(err));
}

/* ---- lockkit's own counts as metrics, each for every server of locks */

static const struct {
    const char *name, *help;
    size_t offset;
} lock_counters[] = {
#define COUNTER(field, text)                                                                       \
    { "inventory_lock_" #field "_total", text, offsetof(struct lk_counters, field) }
    COUNTER(acquired, "Locks won"),
    COUNTER(busy, "Single attempts that found the lock held"),
    COUNTER(timed_out, "Waits that ended without the lock: others held it"),
    COUNTER(canceled, "Acquires cancelled"),
    COUNTER(unknown, "Acquires without an answer"),
    COUNTER(unavailable, "Acquires without a server"),
    COUNTER(refused, "Acquires that the server refused"),
    COUNTER(released, "Locks given back"),
    COUNTER(release_lost, "Releases of a lock that was not ours any more"),
    COUNTER(renewed, "Renewals"),
    COUNTER(renew_failed, "Renewals that failed"),
    COUNTER(suspected, "Leases that came close to their end"),
    COUNTER(lost, "Leases that ended while held"),
    COUNTER(late_grants, "Grants that came after the caller had gone"),
    COUNTER(polls, "Attempts of waiters by the poll timer"),
    COUNTER(wakeups, "Attempts of waiters by an event"),
};

#define LOCK_COUNTERS (sizeof lock_counters / sizeof *lock_counters)

static struct lock_count {
    struct metric metric;
    enum lock_server server;
    size_t offset;
} lock_counts[LOCK_COUNTERS][LOCK_SERVER_COUNT];

static double read_lock_count(void *data) {
    const struct lock_count *count = data;

    return lock_servers_count(&store.locks, count->server, count->offset);
}

/* For each server that has a URL. */
static void register_lock_metrics(void) {
    static const char *const labels[] = {
#define X(name, text) "backend=\"" text "\"",
        LOCK_SERVERS(X)
#undef X
    };

    for (size_t i = 0; i < LOCK_COUNTERS; i++)
        for (int j = 0; j < LOCK_SERVER_COUNT; j++) {
            struct lock_count *count = &lock_counts[i][j];

            *count =
                (struct lock_count){{lock_counters[i].name, lock_counters[i].help, METRIC_COUNTER,
                                     labels[j], .read = read_lock_count, .data = count},
                                    (enum lock_server)j,
                                    lock_counters[i].offset};
            if (store.locks.urls[j] != NULL)
                metric_register(&count->metric);
        }
}

static double count_products(void *data) {
    (void)data;
    return product_table_count(store.products);
}

static struct metric products = {"inventory_products", "Products remembered", METRIC_GAUGE,
                                 .read = count_products};

static int main_open_all(uv_loop_t *loop, struct pg_pool *pool) {
    struct segment_server segments;
    int code;

    assert(name[0] != '\0' && lock_dir[0] != '\0'); /* main_check() set them */
    store.loop = loop;
    store.pool = pool;
    store.port = (int)set.service.port;
    store.secret = set.secret;
    if (set.secret[0] == '\0')
        log_warn("no secret: no unit is taken back, and no order settled",
                 "set=INVENTORY_SVC_SECRET");
    code = main_open_redis();
    if (code == 0)
        code = open_cluster();
    if (code == 0)
        code = open_locks();
    if (code == 0)
        code = open_pooler();
    if (code == 0 && set.is_lab)
        code = open_lab();
    if (code != 0)
        return code;
    store.products = product_table_open(pool, name, set.is_lab, (unsigned)set.products);
    segments = (struct segment_server){.redis = store.kv, .cluster = store.cluster, .loop = loop};
    store.pending = pending_open(loop, pool, &segments, name);
    if (store.products == NULL || store.pending == NULL)
        return service_fail(EX_SOFTWARE, "out of memory");
    metric_register(&products);
    product_table_has(store.products, (unsigned)(set.redlock[0] != '\0') << NEEDS_REDLOCK |
                                          (unsigned)(set.zookeeper[0] != '\0') << NEEDS_ZOOKEEPER |
                                          (unsigned)(set.etcd[0] != '\0') << NEEDS_ETCD);
    register_lock_metrics();
    return 0;
}

static void main_on_closed(void *data) {
    (void)data;
}

/* Runs when the sales of Redis are written, or can wait for another instance. */
static void close_rest(void *data) {
    (void)data;
    product_table_close(store.products);
    lock_servers_close(&store.locks);
    if (store.locks.pooled != NULL && store.locks.pooled != store.pool)
        pg_pool_close(store.locks.pooled, main_on_closed, NULL);
    if (store.kv != NULL)
        redis_close(store.kv, main_on_closed, NULL);
    if (store.cluster != NULL)
        redis_cluster_close(store.cluster, main_on_closed, NULL);
    for (int i = 0; i < KV_SERVERS; i++)
        if (store.others[i] != NULL)
            redis_close(store.others[i], main_on_closed, NULL);
    lab_events_close(store.lab);
    store.lab = NULL;
    service_close_pool();
}

static void main_close_all(void *data) {
    if (store.pending != NULL)
        pending_close(store.pending, close_rest, data);
    else
        close_rest(data);
}

int main(int argc, char **argv) {
    static const struct service service = {
        .name = "inventory-svc",
        .routes = inventory_routes,
        .data = &store,
        .is_ready = main_is_ready,
        .about = "inventory-svc: keeps the count of each product and sells its units",
        .also = ".Xr loadgen 1 ,\n.Xr order-svc 8\n",
        .variables = "INVENTORY_SVC",
        .metrics = "inventory",
        .table = settings,
        .set = &set.service,
        .instance = name,
        .session = STATEMENT_SESSION,
        .check = main_check,
        .open = main_open_all,
        .close = main_close_all,
    };

    return service_main(&service, argc, argv);
}
