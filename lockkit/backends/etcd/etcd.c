/* Locks in etcd 3.4 and later, through its JSON gateway: a key per owner, on an etcd lease, in the
 * order in which they were created.
 *
 * A command is a few questions, one after the other: etcd_acquire.c, etcd_hold.c and etcd_list.c
 * have the verbs, and here is what they share. What a waiter waits for, and from its first renewal
 * on the key of a holder, is watched. */
#include "etcd.h"
#include "etcd_command.h"

#include "clock.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define GOODBYE_MS 500

void etcd_sent_ask(struct etcd_sent *sent, const char *path, json_t *body, bool is_repeatable,
                   void (*on_answer)(struct etcd_ask *ask)) {
    sent->asked_ns = clock_ns(CLOCK_BOOTTIME);
    sent->ask.is_repeatable = is_repeatable;
    sent->ask.round_trips = &sent->command->round_trips;
    sent->ask.on_answer = on_answer;
    sent->ask.data = sent;
    etcd_ask_start(sent->etcd->servers, &sent->ask, path, body, sent->deadline_ms);
}

/* In the server's own words, at a bounded rate. */
static void tell(struct etcd *etcd, const char *event, const char *why) {
    char quoted[256];
    unsigned left_out;

    if (log_limit_pass(&etcd->refusals, clock_now_ms(), &left_out))
        log_warn(event, "left_out=%u why=%s", left_out, log_quote(quoted, sizeof quoted, why));
}

void etcd_sent_end(struct etcd_sent *sent, enum lk_status status) {
    struct lk_command *command = sent->command;

    if (status == LK_REFUSED && sent->ask.why) {
        command->why = sent->ask.why;
        tell(sent->etcd, "etcd refuses a lock command", sent->ask.why);
    }
    if (sent->owner)
        etcd_owner_unref(sent->owner);
    sent->owner = NULL;
    command->status = status;
    command->on_answer(command);
}

void etcd_sent_end_puzzled(struct etcd_sent *sent) {
    tell(sent->etcd, "etcd gives an answer that is not understood", sent->ask.internal.path);
    etcd_sent_end(sent, LK_UNKNOWN);
}

void etcd_sent_keys(const struct etcd_sent *sent, struct etcd_keys *keys) {
    etcd_keys_make(keys, sent->etcd->prefix, sent->command->name, sent->command->owner);
}

void etcd_sent_keep(struct etcd_sent *sent, void (*on_answer)(struct etcd_ask *ask)) {
    etcd_sent_ask(sent, "/v3/lease/keepalive",
                  json_pack("{s:I}", "ID", (json_int_t)sent->owner->lease.id), true, on_answer);
}

/* The TTL, in seconds, that the reply says this lease has; 0: it is gone; -1: neither. */
static int64_t ttl_of(const json_t *reply, const struct etcd_lease *lease) {
    const json_t *ttl = json_object_get(reply, "TTL"); /* left out when it is 0 */
    int64_t ttl_s = json_integer_of(reply, "TTL");
    const char *text = json_string_value(ttl);
    bool is_zero = !ttl || (text ? strcmp(text, "0") == 0
                                 : json_is_integer(ttl) && json_integer_value(ttl) == 0);

    if (json_integer_of(reply, "ID") != lease->id || ttl_s > UINT32_MAX || (ttl_s == 0 && !is_zero))
        return -1;
    return ttl_s;
}

enum lk_status etcd_sent_kept(struct etcd_sent *sent) {
    int64_t ttl_s = ttl_of(sent->ask.reply, &sent->owner->lease);

    if (ttl_s <= 0)
        return ttl_s == 0 ? LK_LOST : LK_UNKNOWN;
    sent->owner->lease.ttl_s = (uint32_t)ttl_s;
    sent->is_kept = true;
    sent->kept_ns = sent->asked_ns;
    sent->kept_term = sent->ask.raft_term;
    return LK_OK;
}

void etcd_sent_confirm(struct etcd_sent *sent, int64_t term) {
    struct etcd_lease *lease = &sent->owner->lease;

    if (sent->is_kept && term == sent->kept_term && sent->kept_ns > lease->confirmed_ns)
        lease->confirmed_ns = sent->kept_ns;
}

void etcd_sent_grant(struct etcd_sent *sent, struct etcd_lease *lease,
                     void (*on_answer)(struct etcd_ask *ask)) {
    etcd_sent_ask(
        sent, "/v3/lease/grant",
        json_pack("{s:I, s:I}", "ID", (json_int_t)lease->id, "TTL", (json_int_t)lease->asked_s),
        true, on_answer);
}

enum lk_status etcd_sent_granted(struct etcd_sent *sent, struct etcd_lease *lease) {
    const struct etcd_ask *ask = &sent->ask;
    int64_t ttl_s;

    sent->owner->is_doubtful |= ask->was_unknown;
    /* It exists: an earlier request for it was not answered, but did it. How old it is will be
     * known when it is kept alive. */
    if (ask->status == LK_REFUSED && ask->code == ETCD_FAILED_PRECONDITION) {
        lease->is_granted = true;
        lease->confirmed_ns = 0;
        return LK_OK;
    }
    if (ask->status != LK_OK)
        return ask->status;
    ttl_s = ttl_of(ask->reply, lease);
    if (ttl_s < lease->asked_s)
        return LK_UNKNOWN;
    lease->is_granted = true;
    lease->ttl_s = (uint32_t)ttl_s;
    lease->confirmed_ns = sent->asked_ns;
    return LK_OK;
}

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
