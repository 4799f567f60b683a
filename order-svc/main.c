/* order-svc: takes orders. */
#include "clock.h"
#include "handlers.h"
#include "instances.h"
#include "log.h"
#include "number.h"
#include "order.h"
#include "order_sql.h"
#include "service.h"
#include "settle.h"

#include <sysexits.h>

#define LOOK_UP_MS 2000
#define READY_MS   1000

static struct {
    struct service_settings service;
    char *inventory, *inventory_secret, *fail_record;
    bool is_lab;
    int64_t inventory_timeout_ns, settle_after_ns, settle_every_ns;
} set;

static const struct setting table[] = {
    SERVICE_SETTINGS(set.service, "8000"),
    {"db", 0, SETTING_SECRET, &set.service.db, "postgresql://order_svc@127.0.0.1:8090/orders",
     "libpq connection string of the orders database", NULL},
    {"db-connections", 0, SETTING_INT, &set.service.db_connections, "8",
     "connections to the orders database", "1..1000"},
    {"db-in-flight", 0, SETTING_INT, &set.service.db_in_flight, "1",
     "statements in flight on one of these connections, if there are two or more; 1: no pipelining",
     "1..1000"},
    {"inventory", 0, SETTING_TEXT, &set.inventory, "http://127.0.0.1:8001,http://127.0.0.1:8002",
     "inventory instances; a name with several addresses is one instance per address", NULL},
    {"inventory-secret", 0, SETTING_SECRET, &set.inventory_secret, NULL,
     "INVENTORY_SVC_SECRET of the instances, for taking units back and listing their ledger", NULL},
    {"inventory-timeout", 0, SETTING_DURATION, &set.inventory_timeout_ns, "9s",
     "longest wait for a reservation; longer than the wait= of strategies", "10ms..1h"},
    {"settle-after", 0, SETTING_DURATION, &set.settle_after_ns, "10s",
     "age at which a reservation without an order gets one", "1s..1h"},
    {"settle-every", 0, SETTING_DURATION, &set.settle_every_ns, "1s",
     "how often to look for such reservations", "10ms..1h"},
    {"lab", 0, SETTING_FLAG, &set.is_lab, NULL, "allow --fail-record", NULL},
    {"fail-record", 0, SETTING_TEXT, &set.fail_record, "0%",
     "part of the orders to leave unrecorded on purpose, so that they are undone: 5%", NULL},
    {.name = NULL},
};

static struct order_svc svc;
static struct settle settle;
static struct instances instances;

static int main_is_ready(void *data, struct why *why) {
    char reason[PG_MESSAGE_BYTES];

    (void)data;
    if (!order_can_insert(svc.pool, clock_now_ms() + READY_MS, reason))
        return why_set(why, "the orders database %s", reason);
    if (!inventory_is_up(svc.inventory))
        return why_set(why, "no inventory instance can be reached");
    return 0;
}

static int main_check(void) {
    if (number_read_part(set.fail_record, &svc.fail_record) != 0)
        return service_fail(EX_USAGE,
                            "--fail-record must be a part of the orders, such as 5%% or 0.05");
    if (svc.fail_record > 0 && !set.is_lab)
        return service_fail(EX_USAGE, "--fail-record makes orders fail on purpose: it needs --lab");
    return 0;
}

static int main_open_all(uv_loop_t *loop, struct pg_pool *pool) {
    struct why why;

    svc.pool = pool;
    svc.inventory_timeout_ms = set.inventory_timeout_ns / 1000000;
    if (set.inventory_secret[0] == '\0')
        log_warn("no secret: no unit is taken back, and no order settled",
                 "set=ORDER_SVC_INVENTORY_SECRET");
    if (inventory_open(&svc.inventory, loop, set.inventory, set.inventory_secret, &why) != 0)
        return service_fail(EX_USAGE, "--inventory: %s", why.text);
    if (instances_start(&instances, loop, svc.inventory, set.inventory, LOOK_UP_MS) != 0) {
        inventory_close(svc.inventory, NULL, NULL);
        svc.inventory = NULL;
        return service_fail(EX_SOFTWARE, "out of memory");
    }
    order_register_metrics();
    order_groups_init(&svc.groups, loop, pool);
    inventory_register_metrics(svc.inventory);
    settle_start(&settle, loop, svc.inventory, pool, set.settle_after_ns / 1000000,
                 set.settle_every_ns / 1000000);
    return 0;
}

static void on_instances_stopped(void *data) {
    (void)data;
    inventory_close(svc.inventory, NULL, NULL);
    service_close_pool();
}

static void on_settle_stopped(void *data) {
    (void)data;
    instances_stop(&instances, on_instances_stopped, NULL);
}

static void main_close_all(void *data) {
    (void)data;
    order_groups_free(&svc.groups);
    if (svc.inventory != NULL)
        settle_stop(&settle, on_settle_stopped, NULL);
    else
        service_close_pool();
}

int main(int argc, char **argv) {
    static const struct service service = {
        .name = "order-svc",
        .routes = order_routes,
        .data = &svc,
        .is_ready = main_is_ready,
        .about = "order-svc: takes orders, reserves a unit for each at an "
                 "inventory instance, records it",
        .also = ".Xr loadgen 1 ,\n.Xr inventory-svc 8\n",
        .variables = "ORDER_SVC",
        .metrics = "order",
        .table = table,
        .set = &set.service,
        .instance = "order-svc",
        .check = main_check,
        .open = main_open_all,
        .close = main_close_all,
    };

    return service_main(&service, argc, argv);
}
