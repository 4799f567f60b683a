/* Locks in etcd 3.4 and later, through its JSON gateway: a key per owner, on an etcd lease, in the
 * order in which they were created.
 *
 * A command is a few questions, one after the other. etcd_command.c has those of an owner; here are
 * INSPECT and BREAK, and what all share. What a waiter waits for, and from its first renewal on the
 * key of a holder, is watched. */
#include "etcd_command.h"

#include "clock.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define GOODBYE_MS 500
#define MS_PER_S   1000

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
static void etcd_tell(struct etcd *etcd, const char *event, const char *why) {
    char quoted[256];
    unsigned left_out;

    if (log_limit_pass(&etcd->refusals, clock_now_ms(), &left_out))
        log_warn(event, "left_out=%u why=%s", left_out, log_quote(quoted, sizeof quoted, why));
}

void etcd_sent_end(struct etcd_sent *sent, enum lk_status status) {
    struct lk_command *command = sent->command;

    if (status == LK_REFUSED && sent->ask.why != NULL) {
        command->why = sent->ask.why;
        etcd_tell(sent->etcd, "etcd refuses a lock command", sent->ask.why);
    }
    if (sent->owner != NULL)
        etcd_owner_unref(sent->owner);
    sent->owner = NULL;
    command->status = status;
    command->on_answer(command);
}

void etcd_sent_end_puzzled(struct etcd_sent *sent) {
    etcd_tell(sent->etcd, "etcd gives an answer that is not understood", sent->ask.internal.path);
    etcd_sent_end(sent, LK_UNKNOWN);
}

void etcd_sent_keys(const struct etcd_sent *sent, struct etcd_keys *keys) {
    etcd_keys_make(keys, sent->etcd->prefix, sent->command->name, sent->command->owner);
}

static void etcd_on_idle(uv_idle_t *idle) {
    struct etcd *etcd = idle->data;
    struct etcd_answers answers = STAILQ_HEAD_INITIALIZER(answers);
    struct etcd_sent *sent;

    (void)uv_idle_stop(idle);
    STAILQ_CONCAT(&answers, &etcd->answers);
    while ((sent = STAILQ_FIRST(&answers)) != NULL) {
        STAILQ_REMOVE_HEAD(&answers, entry);
        etcd_sent_end(sent, sent->command->status);
    }
}

void etcd_sent_end_later(struct etcd_sent *sent, enum lk_status status) {
    struct etcd *etcd = sent->etcd;

    sent->command->status = status;
    STAILQ_INSERT_TAIL(&etcd->answers, sent, entry);
    (void)uv_idle_start(&etcd->idle, etcd_on_idle); /* fails only without a callback */
}

/* ---- INSPECT and BREAK: the line as it stands, and those at its head taken out of it. */

/* Of a line the first `count` hold. */
static size_t count_holders(const json_t *line, const struct lk_command *command) {
    uint64_t taken = 0;
    const json_t *kv;
    size_t i;

    json_array_foreach (line, i, kv) {
        char value[ETCD_VALUE_SIZE];
        enum lk_mode mode = LK_EXCLUSIVE;
        uint32_t permits = 1;

        if (json_bytes_of(kv, "value", value, sizeof value))
            (void)etcd_line_parse(value, &mode, &permits);
        taken += permits;
        if (mode == LK_EXCLUSIVE)
            return i == 0 ? 1 : i;
        if (command->limit > 0 && taken > command->limit)
            return i;
    }
    return i;
}

/* What is told of one key, in memory of its own. */
struct standing {
    char key[ETCD_KEY_SIZE], value[ETCD_VALUE_SIZE];
};

static void inspect_describe(struct lk_holder *holder, struct standing *standing, const json_t *kv,
                             size_t prefix_length) {
    *holder = (struct lk_holder){.owner = "", .label = "", .remaining_ms = -1, .permits = 1};
    if (json_bytes_of(kv, "key", standing->key, sizeof standing->key) &&
        strlen(standing->key) >= prefix_length)
        holder->owner = standing->key + prefix_length;
    if (json_bytes_of(kv, "value", standing->value, sizeof standing->value))
        holder->label = etcd_line_parse(standing->value, &holder->mode, &holder->permits);
}

static void inspect_answer(struct etcd_sent *sent, int64_t remaining_ms) {
    struct lk_command *command = sent->command;
    size_t count = json_array_size(sent->line), holders = count_holders(sent->line, command);
    struct lk_holder *all = calloc(count + 1, sizeof *all);
    struct standing *standings = calloc(count + 1, sizeof *standings);
    struct etcd_keys keys;

    assert(holders <= count);
    etcd_sent_keys(sent, &keys);
    for (size_t i = 0; all != NULL && standings != NULL && i < count; i++) {
        const json_t *kv = json_array_get(sent->line, i);

        inspect_describe(&all[i], &standings[i], kv, keys.prefix_length);
        all[i].fence = i < holders ? (uint64_t)json_integer_of(kv, "create_revision") : 0;
    }
    if (all != NULL && standings != NULL && holders > 0)
        all[0].remaining_ms = remaining_ms;
    command->holders = all;
    command->holder_count = holders;
    command->waiters = all != NULL ? all + holders : NULL;
    command->waiter_count = count - holders;
    json_decref(sent->line);
    etcd_sent_end(sent, all != NULL && standings != NULL ? LK_OK : LK_NOMEM);
    free(all);
    free(standings);
}

static void on_time_known(struct etcd_ask *ask) {
    struct etcd_sent *sent = ask->data;
    int64_t left_s = json_integer_of(ask->reply, "TTL");

    inspect_answer(sent, ask->status == LK_OK && left_s > 0 ? left_s * MS_PER_S : -1);
}

/* Else the command has ended. */
static bool has_line(struct etcd_sent *sent) {
    if (sent->ask.status != LK_OK)
        etcd_sent_end(sent, sent->ask.status);
    else if (!etcd_line_is_whole(sent->ask.reply))
        etcd_sent_end_puzzled(sent);
    else
        return true;
    return false;
}

static void on_listed(struct etcd_ask *ask) {
    struct etcd_sent *sent = ask->data;
    const json_t *first;

    if (!has_line(sent))
        return;
    sent->line = json_incref(json_object_get(ask->reply, "kvs"));
    first = json_array_get(sent->line, 0);
    if (json_integer_of(first, "lease") > 0)
        etcd_sent_ask(sent, "/v3/lease/timetolive",
                      json_pack("{s:I}", "ID", (json_int_t)json_integer_of(first, "lease")), true,
                      on_time_known);
    else
        inspect_answer(sent, -1);
}

static void ask_line(struct etcd_sent *sent, void (*on_answer)(struct etcd_ask *ask)) {
    struct etcd_keys keys;

    etcd_sent_keys(sent, &keys);
    etcd_sent_ask(sent, "/v3/kv/range", etcd_line_all(&keys), true, on_answer);
}

static void etcd_inspect(struct etcd_sent *sent) {
    ask_line(sent, on_listed);
}

static void etcd_on_broken(struct etcd_ask *ask) {
    struct etcd_sent *sent = ask->data;
    int64_t deleted = ask->status == LK_OK ? etcd_line_deleted(ask->reply) : 0;

    if (deleted < 0)
        etcd_sent_end_puzzled(sent);
    else
        etcd_sent_end(sent, ask->status == LK_OK && deleted == 0 ? LK_LOST : ask->status);
}

/* Its own keys are those of the one owner who is to go, so whose key is the same holds it. */
static json_t *doomed(const struct etcd_sent *sent, const json_t *line) {
    size_t holders = count_holders(line, sent->command);
    json_t *handles = json_array();
    struct etcd_keys keys;

    etcd_sent_keys(sent, &keys);
    for (size_t i = 0; i < holders; i++) {
        json_t *handle = json_object_get(json_array_get(line, i), "key");

        if (sent->command->owner == NULL || strcmp(json_string_value(handle), keys.own) == 0)
            (void)json_array_append(handles, handle);
    }
    return handles;
}

static void on_listed_to_break(struct etcd_ask *ask) {
    struct etcd_sent *sent = ask->data;
    json_t *handles;

    if (!has_line(sent))
        return;
    handles = doomed(sent, json_object_get(ask->reply, "kvs"));
    if (json_array_size(handles) > 0)
        etcd_sent_ask(sent, "/v3/kv/txn", etcd_line_delete(handles), false, etcd_on_broken);
    else
        etcd_sent_end(sent, LK_LOST);
    json_decref(handles);
}

static void etcd_break_holders(struct etcd_sent *sent) {
    ask_line(sent, on_listed_to_break);
}

/* ---- The backend */

static void (*const verbs[])(struct etcd_sent *sent) = {
    [LK_ACQUIRE] = etcd_acquire, [LK_RENEW] = etcd_renew,         [LK_RELEASE] = etcd_release,
    [LK_INSPECT] = etcd_inspect, [LK_BREAK] = etcd_break_holders,
};

static void etcd_run(struct lk_backend *backend, struct lk_command *command) {
    struct etcd *etcd = (struct etcd *)backend;
    struct etcd_sent *sent = command->internal;

    assert(command->on_answer && strlen(command->name) <= NAME_MAX_BYTES);
    sent->command = command;
    sent->etcd = etcd;
    sent->started_ns = clock_ns(CLOCK_BOOTTIME);
    sent->deadline_ms = clock_now_ms() + command->reply_ms;
    command->remaining_ms = -1;
    if (command->owner != NULL && command->verb != LK_BREAK)
        sent->owner = etcd_owner_find(&etcd->owners, command->owner);
    if (sent->owner != NULL)
        etcd_owner_ref(&etcd->owners, sent->owner);
    verbs[command->verb](sent);
}

static enum lk_status open_etcd(struct lk_backend **backend,
                                const struct lk_backend_config *config) {
    struct etcd_url url;
    struct etcd *etcd;
    enum lk_status status;

    if (!etcd_url_parse(&url, config->url))
        return LK_INVALID;
    etcd = calloc(1, sizeof *etcd);
    if (etcd == NULL)
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

static void etcd_on_idle_closed(uv_handle_t *handle) {
    struct etcd *etcd = handle->data;
    lk_close_cb cb = etcd->on_closed;
    void *data = etcd->data;

    assert(STAILQ_EMPTY(&etcd->answers) && TAILQ_EMPTY(&etcd->owners.by_use));
    free(etcd);
    cb(data);
}

static void on_servers_closed(void *data) {
    struct etcd *etcd = data;

    uv_close((uv_handle_t *)&etcd->idle, etcd_on_idle_closed);
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
    .run = etcd_run,
};
