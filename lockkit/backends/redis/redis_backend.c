/* Locks on one Redis server: who holds, who waits in which order, and the fencing counter are keys
 * of one name, changed by scripts (redis_scripts.h). Each script is one round trip
 * (redis_exchange.h), and brings news of hand-overs to others of this client; those from other
 * clients come by the client's own channel.
 *
 * Renewals that are started in one turn of the loop leave together at its end. */
#include "redis_backend.h"

#include "clock.h"
#include "redis_exchange.h"
#include "redis_messages.h"
#include "redis_replicas.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Renewals of one deadline from the head of `list`, as many as go in one batch. */
static void send_renewals(struct redis_sent_list *list) {
    struct redis_sent *batch[REDIS_BATCH_MOST], *sent;
    size_t count = 0;

    while ((sent = TAILQ_FIRST(list)) && !sent->is_answered && count < REDIS_BATCH_MOST &&
           (count == 0 || sent->deadline_ms == batch[0]->deadline_ms)) {
        TAILQ_REMOVE(list, sent, entry);
        batch[count++] = sent;
    }
    if (count == 0 || redis_exchange_start(batch[0]->server, batch, count))
        return;
    for (size_t i = 0; i < count; i++) {
        batch[i]->is_answered = true;
        batch[i]->command->status = LK_NOMEM;
        TAILQ_INSERT_TAIL(list, batch[i], entry);
    }
}

static void on_turn(uv_idle_t *turn) {
    struct redis_server *server = turn->data;
    struct redis_sent_list due = TAILQ_HEAD_INITIALIZER(due);
    struct redis_sent *sent;

    (void)uv_idle_stop(turn);
    TAILQ_CONCAT(&due, &server->due, entry);
    while ((sent = TAILQ_FIRST(&due))) {
        if (!sent->is_answered) {
            send_renewals(&due);
            continue;
        }
        TAILQ_REMOVE(&due, sent, entry);
        sent->command->on_answer(sent->command);
    }
}

/* Whether a hand-over has answered it. */
static bool was_handed(struct redis_server *server, struct lk_command *command) {
    return (command->verb == LK_ACQUIRE || command->verb == LK_RELEASE) &&
           redis_grants_take(&server->grants, command) && command->verb == LK_ACQUIRE;
}

static void run(struct lk_backend *backend, struct lk_command *command) {
    struct redis_server *server = (struct redis_server *)backend;
    struct redis_sent *sent = command->internal;
    const bool is_batched =
        command->verb == LK_RENEW && command->mode == LK_EXCLUSIVE && !server->is_in_cluster;

    assert(command->on_answer && strlen(command->name) <= NAME_MAX_BYTES);
    assert(command->owner || command->verb == LK_INSPECT || command->verb == LK_BREAK);
    command->remaining_ms = -1;
    *sent = (struct redis_sent){
        .server = server, .command = command, .deadline_ms = clock_now_ms() + command->reply_ms};
    sent->is_answered = was_handed(server, command);
    if (!sent->is_answered && !is_batched) {
        if (redis_exchange_start(server, &sent, 1))
            return;
        sent->is_answered = true;
        command->status = LK_NOMEM;
    }
    TAILQ_INSERT_TAIL(&server->due, sent, entry);
    (void)uv_idle_start(&server->turn, on_turn);
}

static void on_up(void *data) {
    struct redis_server *server = data;

    redis_grants_forget(&server->grants);
}

static enum lk_status connect_to(struct redis_server *server) {
    char *url;
    enum lk_status status = redis_replicas_parse(server, server->config.url, &url);

    if (status != LK_OK)
        return status;
    status = redis_link_open(&server->link, server->config.loop, url, on_up, server);
    free(url);
    server->config.url = NULL;
    return status;
}

static enum lk_status open_redis(struct lk_backend **backend,
                                 const struct lk_backend_config *config) {
    struct redis_server *server = calloc(1, sizeof *server);
    enum lk_status status = LK_UNSUPPORTED;

    if (!server)
        return LK_NOMEM;
    server->base.ops = &backend_redis;
    server->config = *config;
    TAILQ_INIT(&server->due);
    redis_grants_init(&server->grants);
    if (redis_messages_init(server))
        status = connect_to(server);
    if (status != LK_OK) {
        free(server);
        return status;
    }
    (void)uv_idle_init(config->loop, &server->turn);
    server->turn.data = server;
    *backend = &server->base;
    return LK_OK;
}

static void part_closed(void *data) {
    struct redis_server *server = data;
    lk_close_cb cb = server->on_closed;
    void *cb_data = server->data;

    if (--server->parts > 0)
        return;
    free(server);
    cb(cb_data);
}

static void on_turn_closed(uv_handle_t *turn) {
    part_closed(turn->data);
}

static void close_redis(struct lk_backend *backend, lk_close_cb cb, void *data) {
    struct redis_server *server = (struct redis_server *)backend;

    assert(TAILQ_EMPTY(&server->due));
    redis_grants_forget(&server->grants);
    server->on_closed = cb;
    server->data = data;
    server->parts = 2;
    if (server->is_subscribed)
        redis_unsubscribe(server->link.redis, &server->subscription);
    uv_close((uv_handle_t *)&server->turn, on_turn_closed);
    redis_close(server->link.redis, part_closed, server);
}

const struct lk_backend_ops backend_redis = {
    .scheme = "redis://",
    .caps = LK_CAP_TTL | LK_CAP_FAIR | LK_CAP_EVENTS | LK_CAP_FENCE_BEST | LK_CAP_CROSS_PROCESS |
            LK_CAP_SHARED | LK_CAP_PERMITS | LK_CAP_BREAK | LK_CAP_WAITERS | LK_CAP_HANDOVER,
    .command_size = sizeof(struct redis_sent),
    .open = open_redis,
    .close = close_redis,
    .run = run,
};
