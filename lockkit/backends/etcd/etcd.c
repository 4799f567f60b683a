/* Locks in etcd 3.4 and later, through its JSON gateway: a key per owner, on an etcd lease, in the
 * order of creation.
 *
 * A command asks a few questions, one after another. etcd_command.c has the commands of an owner;
 * this file has INSPECT and BREAK. A waiter watches the key before it. From its first renewal on a
 * holder watches its own key. */
#include "etcd_command.h"

#include "clock.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define GOODBYE_MS    500
#define MS_PER_S      1000
#define ACQUIRES_MOST 64  /* the connections of a member's HTTP client */
#define DELETES_MOST  100 /* operations of a transaction: etcd allows 128 */

void etcd_sent_ask(struct etcd_sent *sent, const char *path, json_t *body, bool is_repeatable,
                   void (*on_answer)(struct etcd_ask *ask)) {
    sent->asked_ns = clock_ns(CLOCK_BOOTTIME);
    sent->ask.is_repeatable = is_repeatable;
    /* A lease must not be lost, nor stay taken, because others want to acquire. */
    sent->ask.is_urgent = sent->command->verb == LK_RENEW || sent->command->verb == LK_RELEASE;
    sent->ask.round_trips = &sent->command->round_trips;
    sent->ask.on_answer = on_answer;
    sent->ask.data = sent;
    etcd_ask_start(sent->etcd->servers, &sent->ask, path, body, sent->deadline_ms);
}

void etcd_sent_end_puzzled(struct etcd_sent *sent) {
    answer_tell_refused(&sent->etcd->refusals,
                        "etcd gave an answer that lockkit does not understand",
                        sent->ask.internal.path);
    etcd_sent_end(sent, LK_UNKNOWN);
}

/* ---- INSPECT and BREAK: read the line, and take holders out of it. */

/* The number of holders: they are the first of the line. */
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

/* The texts of one key. */
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
    size_t count = json_array_size(sent->found), holders = count_holders(sent->found, command);
    struct lk_holder *all = calloc(count + 1, sizeof *all);
    struct standing *standings = calloc(count + 1, sizeof *standings);
    const struct etcd_keys keys = etcd_keys_of(&sent->line);

    assert(holders <= count);
    for (size_t i = 0; all != NULL && standings != NULL && i < count; i++) {
        const json_t *kv = json_array_get(sent->found, i);

        inspect_describe(&all[i], &standings[i], kv, keys.prefix_length);
        all[i].fence = i < holders ? (uint64_t)json_integer_of(kv, "create_revision") : 0;
    }
    if (all != NULL && standings != NULL && holders > 0)
        all[0].remaining_ms = remaining_ms;
    command->holders = all;
    command->holder_count = holders;
    command->waiters = all != NULL ? all + holders : NULL;
    command->waiter_count = count - holders;
    json_decref(sent->found);
    etcd_sent_end(sent, all != NULL && standings != NULL ? LK_OK : LK_NOMEM);
    free(all);
    free(standings);
}

static void on_time_known(struct etcd_ask *ask) {
    struct etcd_sent *sent = ask->data;
    int64_t left_s = json_integer_of(ask->reply, "TTL");

    inspect_answer(sent, ask->status == LK_OK && left_s > 0 ? left_s * MS_PER_S : -1);
}

/* False: the command has ended. */
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
    sent->found = json_incref(json_object_get(ask->reply, "kvs"));
    first = json_array_get(sent->found, 0);
    if (json_integer_of(first, "lease") > 0)
        etcd_sent_ask(sent, "/v3/lease/timetolive",
                      json_pack("{s:I}", "ID", (json_int_t)json_integer_of(first, "lease")), true,
                      on_time_known);
    else
        inspect_answer(sent, -1);
}

static void ask_line(struct etcd_sent *sent, void (*on_answer)(struct etcd_ask *ask)) {
    const struct etcd_keys keys = etcd_keys_of(&sent->line);

    etcd_sent_ask(sent, "/v3/kv/range",
                  json_pack("{s:s, s:s, s:s, s:s, s:i}", "key", keys.first, "range_end", keys.end,
                            "sort_target", "CREATE", "sort_order", "ASCEND", "limit",
                            ETCD_LINE_MOST),
                  true, on_answer);
}

static void etcd_on_broken(struct etcd_ask *ask) {
    struct etcd_sent *sent = ask->data;
    int64_t deleted = ask->status == LK_OK ? etcd_line_deleted(ask->reply) : 0;

    if (deleted < 0)
        etcd_sent_end_puzzled(sent);
    else
        etcd_sent_end(sent, ask->status == LK_OK && deleted == 0 ? LK_LOST : ask->status);
}

/* Delete the one owner that must go, if it holds, or all holders. */
static json_t *break_deletes(const struct etcd_sent *sent, const json_t *line) {
    const struct etcd_keys keys = etcd_keys_of(&sent->line);
    const size_t holders = count_holders(line, sent->command);
    json_t *deletes = json_array();

    for (size_t i = 0; i < holders && json_array_size(deletes) < DELETES_MOST; i++) {
        const char *key = json_string_value(json_object_get(json_array_get(line, i), "key"));

        if (sent->command->owner == NULL || strcmp(key, keys.own) == 0)
            (void)json_array_append_new(deletes,
                                        json_pack("{s:{s:s}}", "request_delete_range", "key", key));
    }
    return deletes;
}

static void on_listed_to_break(struct etcd_ask *ask) {
    struct etcd_sent *sent = ask->data;
    json_t *deletes;

    if (!has_line(sent))
        return;
    deletes = break_deletes(sent, json_object_get(ask->reply, "kvs"));
    if (json_array_size(deletes) > 0) {
        etcd_sent_ask(sent, "/v3/kv/txn",
                      json_pack("{s:[], s:o, s:[]}", "compare", "success", deletes, "failure"),
                      false, etcd_on_broken);
        return;
    }
    json_decref(deletes);
    etcd_sent_end(sent, LK_LOST);
}

/* ---- The backend */

static void etcd_run(struct lk_backend *backend, struct lk_command *command) {
    struct etcd *etcd = (struct etcd *)backend;
    struct etcd_sent *sent = command->internal;

    assert(command->on_answer && strlen(command->name) <= NAME_MAX_BYTES);
    sent->command = command;
    sent->etcd = etcd;
    sent->line = (struct etcd_line){etcd->prefix, etcd->config.label, command};
    sent->started_ns = clock_ns(CLOCK_BOOTTIME);
    sent->deadline_ms = clock_now_ms() + command->reply_ms;
    command->remaining_ms = -1;
    if (command->verb == LK_INSPECT)
        ask_line(sent, on_listed);
    else if (command->verb == LK_BREAK)
        ask_line(sent, on_listed_to_break);
    else
        etcd_sent_start(sent);
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
    etcd->base.acquires_most = ACQUIRES_MOST;
    etcd->base.has_own_count = true; /* a revision */
    etcd->config = *config;
    etcd->config.url = NULL; /* the URL lives only during this call */
    TAILQ_INIT(&etcd->by_use);
    answers_init(&etcd->answers, config->loop, etcd);
    *backend = &etcd->base;
    return LK_OK;
}

static void etcd_on_idle_closed(uv_handle_t *handle) {
    struct etcd *etcd = handle->data;

    assert(TAILQ_EMPTY(&etcd->by_use));
    backend_end(&etcd->base);
}

static void on_servers_closed(void *data) {
    struct etcd *etcd = data;

    uv_close((uv_handle_t *)&etcd->answers.idle, etcd_on_idle_closed);
}

/* Spare leases would end by themselves, but that may take long. If one revoke fails, the others are
 * not tried. */
static void revoke_spare(struct etcd_ask *ask) {
    struct etcd *etcd = ask->data;

    if (ask->status != LK_OK || etcd->spare_count == 0) {
        etcd_servers_close(etcd->servers, on_servers_closed, etcd);
        return;
    }
    etcd->spare_count--;
    etcd_ask_start(etcd->servers, ask, "/v3/lease/revoke",
                   json_pack("{s:I}", "ID", (json_int_t)etcd->spare[etcd->spare_count].id),
                   clock_now_ms() + GOODBYE_MS);
}

static void close_etcd(struct lk_backend *backend, lk_close_cb cb, void *data) {
    struct etcd *etcd = (struct etcd *)backend;

    assert(STAILQ_EMPTY(&etcd->answers.due));
    backend->on_closed = cb;
    backend->data = data;
    etcd_owners_clear(etcd);
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
