/* Locks in etcd 3.4 and later, through its JSON gateway: a key per owner, on an etcd lease, in the
 * order in which they were created.
 *
 * A command is a few questions, one after the other: etcd_acquire.c, etcd_hold.c and etcd_list.c.
 * What a waiter waits for, and from its first renewal on the key of a holder, is watched. */
#include "etcd.h"
#include "etcd_command.h"

#include "clock.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define GOODBYE_MS 500

static void (*const verbs[])(struct etcd_sent *sent) = {
    [LK_ACQUIRE] = etcd_acquire, [LK_RENEW] = etcd_renew, [LK_RELEASE] = etcd_release,
    [LK_INSPECT] = etcd_inspect, [LK_BREAK] = etcd_break,
};

static void run(struct lk_backend *backend, struct lk_command *command) {
    struct etcd *etcd = (struct etcd *)backend;
    struct etcd_sent *sent = command->internal;

    assert(command->on_answer && strlen(command->name) <= NAME_MAX_BYTES);
    sent->command = command;
    sent->etcd = etcd;
    sent->started_ns = clock_ns(CLOCK_BOOTTIME);
    sent->deadline_ms = clock_now_ms() + command->reply_ms;
    command->remaining_ms = -1;
    if (command->owner && command->verb != LK_BREAK)
        sent->owner = etcd_owner_find(&etcd->owners, command->owner);
    if (sent->owner)
        etcd_owner_ref(&etcd->owners, sent->owner);
    verbs[command->verb](sent);
}

static void on_idle(uv_idle_t *idle) {
    struct etcd *etcd = idle->data;
    struct etcd_answers answers = STAILQ_HEAD_INITIALIZER(answers);
    struct etcd_sent *sent;

    (void)uv_idle_stop(idle);
    STAILQ_CONCAT(&answers, &etcd->answers);
    while ((sent = STAILQ_FIRST(&answers))) {
        STAILQ_REMOVE_HEAD(&answers, entry);
        etcd_sent_end(sent, sent->command->status);
    }
}

void etcd_sent_end_later(struct etcd_sent *sent, enum lk_status status) {
    struct etcd *etcd = sent->etcd;

    sent->command->status = status;
    STAILQ_INSERT_TAIL(&etcd->answers, sent, entry);
    (void)uv_idle_start(&etcd->idle, on_idle); /* fails only without a callback */
}

static enum lk_status open_etcd(struct lk_backend **backend,
                                const struct lk_backend_config *config) {
    struct etcd_url url;
    struct etcd *etcd;
    enum lk_status status;

    if (!etcd_url_parse(&url, config->url))
        return LK_INVALID;
    etcd = calloc(1, sizeof *etcd);
    if (!etcd)
        return LK_NOMEM;
    status = etcd_servers_open(&etcd->servers, config->loop, &url);
    memcpy(etcd->prefix, url.prefix, sizeof etcd->prefix);
    explicit_bzero(&url, sizeof url);
    if (status != LK_OK) {
        free(etcd);
        return status;
    }
    etcd->base.ops = &backend_etcd;
    etcd->config = *config;
    etcd->config.url = NULL; /* it lives only as long as this call */
    etcd_owners_init(&etcd->owners, etcd->servers, &etcd->config);
    STAILQ_INIT(&etcd->answers);
    (void)uv_idle_init(config->loop, &etcd->idle);
    etcd->idle.data = etcd;
    *backend = &etcd->base;
    return LK_OK;
}

static void on_idle_closed(uv_handle_t *handle) {
    struct etcd *etcd = handle->data;
    lk_close_cb cb = etcd->on_closed;
    void *data = etcd->data;

    free(etcd);
    cb(data);
}

static void on_servers_closed(void *data) {
    struct etcd *etcd = data;

    uv_close((uv_handle_t *)&etcd->idle, on_idle_closed);
}

/* Leases that are to spare would end by themselves, but it may be long until then. One that does
 * not answer is not asked twice. */
static void revoke_spare(struct etcd_ask *ask) {
    struct etcd *etcd = ask->data;
    struct etcd_owners *owners = &etcd->owners;

    if (ask->status != LK_OK || owners->spare_count == 0) {
        etcd_servers_close(etcd->servers, on_servers_closed, etcd);
        return;
    }
    owners->spare_count--;
    etcd_ask_start(etcd->servers, ask, "/v3/lease/revoke",
                   json_pack("{s:I}", "ID", (json_int_t)owners->spare[owners->spare_count].id),
                   clock_now_ms() + GOODBYE_MS);
}

static void close_etcd(struct lk_backend *backend, lk_close_cb cb, void *data) {
    struct etcd *etcd = (struct etcd *)backend;

    assert(STAILQ_EMPTY(&etcd->answers));
    etcd->on_closed = cb;
    etcd->data = data;
    etcd_owners_clear(&etcd->owners);
    etcd->goodbye = (struct etcd_ask){.on_answer = revoke_spare, .data = etcd, .status = LK_OK};
    revoke_spare(&etcd->goodbye);
}

const struct lk_backend_ops backend_etcd = {
    .scheme = "etcd://",
    .caps = LK_CAP_TTL | LK_CAP_FAIR | LK_CAP_EVENTS | LK_CAP_FENCE_LINEAR | LK_CAP_CROSS_PROCESS |
            LK_CAP_SHARED | LK_CAP_PERMITS | LK_CAP_BREAK | LK_CAP_WAITERS,
    .command_size = sizeof(struct etcd_sent),
    .open = open_etcd,
    .close = close_etcd,
    .run = run,
};
