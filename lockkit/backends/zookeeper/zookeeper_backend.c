/* Locks in ZooKeeper: commands, their deadlines, and what a session's end means for them.
 *
 * A command waits for the connection until its deadline, and is then UNAVAILABLE, for nothing of it
 * was sent; once it has been sent it is UNKNOWN. */
#include "zookeeper_backend.h"

#include "clock.h"
#include "zk_client.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- Answers */

static void on_deadline(uv_timer_t *timer);

static void arm(struct zk_client *client) {
    const struct zk_sent *fresh = TAILQ_FIRST(&client->fresh);
    const struct zk_sent *begun = TAILQ_FIRST(&client->begun);
    int64_t next_ms, left_ms;

    if (!fresh && !begun) {
        (void)uv_timer_stop(&client->timer);
        return;
    }
    next_ms = !begun || (fresh && fresh->deadline_ms < begun->deadline_ms) ? fresh->deadline_ms
                                                                           : begun->deadline_ms;
    left_ms = next_ms - (int64_t)uv_now(client->config.loop);
    (void)uv_timer_start(&client->timer, on_deadline, left_ms > 0 ? (uint64_t)left_ms : 0, 0);
}

static void answer(struct zk_sent *sent, enum lk_status status) {
    sent->command->status = status;
    sent->command->on_answer(sent->command);
}

static bool is_over(const struct zk_sent *sent, int64_t now_ms) {
    return sent && sent->deadline_ms <= now_ms;
}

static void on_deadline(uv_timer_t *timer) {
    struct zk_client *client = timer->data;
    const int64_t now_ms = (int64_t)uv_now(client->config.loop);
    struct zk_sent *sent;

    while (is_over(sent = TAILQ_FIRST(&client->begun), now_ms)) {
        TAILQ_REMOVE(&client->begun, sent, entry);
        sent->operation->sent = NULL;
        if (sent->command->verb == LK_RENEW)
            zk_session_leave_server(client->session);
        answer(sent, LK_UNKNOWN);
    }
    while (is_over(sent = TAILQ_FIRST(&client->fresh), now_ms)) {
        TAILQ_REMOVE(&client->fresh, sent, entry);
        answer(sent, LK_UNAVAILABLE);
    }
    arm(client);
}

static void insert(struct zk_sent_list *list, struct zk_sent *sent) {
    struct zk_sent *before = TAILQ_LAST(list, zk_sent_list);

    while (before && before->deadline_ms > sent->deadline_ms)
        before = TAILQ_PREV(before, zk_sent_list, entry);
    if (before)
        TAILQ_INSERT_AFTER(list, before, sent, entry);
    else
        TAILQ_INSERT_HEAD(list, sent, entry);
}

/* ---- Beginning */

static void begin(struct zk_operation *operation) {
    const bool is_fair = operation->client->url.is_fair;

    switch (operation->verb) {
    case LK_ACQUIRE:
        (is_fair ? zk_acquire : zk_single_acquire)(operation);
        break;
    case LK_RENEW:
        zk_renew(operation);
        break;
    case LK_RELEASE:
        (is_fair ? zk_release : zk_single_release)(operation);
        break;
    case LK_INSPECT:
        (is_fair ? zk_inspect : zk_single_inspect)(operation);
        break;
    case LK_BREAK:
        (is_fair ? zk_break : zk_single_break)(operation);
        break;
    }
}

/* NULL when there is none, and none to be made; or without memory. */
static struct zk_contender *contender_of(struct zk_client *client,
                                         const struct lk_command *command) {
    struct zk_contender *contender = zk_contender_find(client, command->owner);

    if (!contender && command->verb == LK_ACQUIRE)
        contender = zk_contender_add(client, command->name, command->owner);
    return contender;
}

static void begin_sent(struct zk_client *client, struct zk_sent *sent) {
    struct lk_command *command = sent->command;
    const bool is_of_owner = command->verb != LK_INSPECT && command->verb != LK_BREAK;
    struct zk_contender *contender = is_of_owner ? contender_of(client, command) : NULL;
    struct zk_operation *operation;

    if (is_of_owner && !contender) { /* whoever has no node in this session holds nothing */
        answer(sent, command->verb == LK_ACQUIRE ? LK_NOMEM : LK_LOST);
        return;
    }
    operation = zk_operation_new(client, command->verb, command->name);
    if (!operation) {
        answer(sent, LK_NOMEM);
        return;
    }
    if (contender)
        contender->refs++;
    operation->contender = contender;
    operation->sent = sent;
    sent->operation = operation;
    insert(&client->begun, sent);
    begin(operation);
}

/* Releases that nobody waits for any more, as long as nothing else is under way for them. */
static void clean_up(struct zk_client *client) {
    struct zk_contender *contender, *next = TAILQ_FIRST(&client->contenders);

    while ((contender = next)) {
        struct zk_operation *operation;

        next = TAILQ_NEXT(contender, entry);
        if (!contender->is_unwanted || contender->refs > 1)
            continue;
        operation = zk_operation_new(client, LK_RELEASE, contender->name);
        if (!operation)
            return;
        contender->refs++;
        operation->contender = contender;
        begin(operation);
    }
}

static void begin_all(struct zk_client *client) {
    struct zk_sent *sent;

    while (zk_session_is_up(client->session) && (sent = TAILQ_FIRST(&client->fresh))) {
        TAILQ_REMOVE(&client->fresh, sent, entry);
        begin_sent(client, sent);
    }
    arm(client);
}

/* ---- The session */

static void push_all(struct zk_client *client, enum lk_push what, const char *why) {
    client->config.push(client->config.data, what, NULL, NULL, why);
}

static void on_turn(void *data) {
    begin_all(data);
}

static void on_up(void *data) {
    struct zk_client *client = data;

    client->synced_ms = -1;
    client->sync_error = ZOK;
    begin_all(client);
    clean_up(client);
    push_all(client, LK_PUSH_FREE, NULL); /* what happened meanwhile, nobody told us */
}

static void on_doubt(void *data) {
    push_all(data, LK_PUSH_SUSPECT, "the connection to zookeeper broke");
}

static void on_expired(void *data) {
    struct zk_client *client = data;
    struct zk_contender *contender;

    while ((contender = TAILQ_FIRST(&client->contenders)))
        zk_contender_drop(client, contender);
    push_all(client, LK_PUSH_LOST, "the zookeeper session has expired");
}

static void run(struct lk_backend *backend, struct lk_command *command) {
    struct zk_client *client = (struct zk_client *)backend;
    struct zk_sent *sent = command->internal;
    struct zk_contender *contender = NULL;

    assert(command->on_answer);
    assert(command->owner || command->verb == LK_INSPECT || command->verb == LK_BREAK);
    command->remaining_ms = -1;
    sent->command = command;
    sent->operation = NULL;
    sent->deadline_ms = (int64_t)uv_now(client->config.loop) + command->reply_ms;
    insert(&client->fresh, sent);
    if (command->verb == LK_ACQUIRE || command->verb == LK_RELEASE)
        contender = zk_contender_find(client, command->owner);
    /* From here on, also when there is no connection before the deadline. */
    if (contender)
        contender->is_unwanted = command->verb == LK_RELEASE;
    zk_session_turn(client->session);
}

/* ---- Opening and closing */

static unsigned caps_of(const struct lk_backend *backend) {
    const struct zk_client *client = (const struct zk_client *)backend;
    unsigned caps = backend_zookeeper.caps;

    if (!client->url.is_fair)
        caps &= ~(unsigned)(LK_CAP_FAIR | LK_CAP_SHARED | LK_CAP_PERMITS | LK_CAP_WAITERS);
    if (client->url.layout == ZK_KAZOO)
        caps &= ~(unsigned)LK_CAP_PERMITS;
    return caps;
}

static enum lk_status open_zookeeper(struct lk_backend **backend,
                                     const struct lk_backend_config *config) {
    struct zk_client *client = calloc(1, sizeof *client);
    const struct zk_session_events events = {.on_up = on_up,
                                             .on_doubt = on_doubt,
                                             .on_expired = on_expired,
                                             .on_turn = on_turn,
                                             .data = client};

    if (!client)
        return LK_NOMEM;
    client->base.ops = &backend_zookeeper;
    client->config = *config;
    TAILQ_INIT(&client->fresh);
    TAILQ_INIT(&client->begun);
    TAILQ_INIT(&client->contenders);
    if (zk_url_parse(&client->url, config->url) != 0) {
        free(client);
        return LK_INVALID;
    }
    client->session = zk_session_open(config->loop, &client->url, &events);
    if (!client->session) {
        free(client);
        return LK_NOMEM;
    }
    (void)uv_timer_init(config->loop, &client->timer);
    client->timer.data = client;
    *backend = &client->base;
    return LK_OK;
}

static void on_timer_closed(uv_handle_t *handle) {
    struct zk_client *client = handle->data;
    lk_close_cb cb = client->on_closed;
    void *data = client->data;
    struct zk_contender *contender;

    while ((contender = TAILQ_FIRST(&client->contenders)))
        zk_contender_drop(client, contender);
    free(client);
    cb(data);
}

static void on_session_closed(void *data) {
    struct zk_client *client = data;

    uv_close((uv_handle_t *)&client->timer, on_timer_closed);
}

static void close_zookeeper(struct lk_backend *backend, lk_close_cb cb, void *data) {
    struct zk_client *client = (struct zk_client *)backend;

    assert(TAILQ_EMPTY(&client->fresh) && TAILQ_EMPTY(&client->begun));
    client->on_closed = cb;
    client->data = data;
    zk_session_close(client->session, on_session_closed, client);
}

const struct lk_backend_ops backend_zookeeper = {
    .scheme = ZK_SCHEME,
    .caps = LK_CAP_TTL | LK_CAP_SESSION | LK_CAP_FAIR | LK_CAP_EVENTS | LK_CAP_FENCE_LINEAR |
            LK_CAP_CROSS_PROCESS | LK_CAP_SHARED | LK_CAP_PERMITS | LK_CAP_WAITERS | LK_CAP_BREAK,
    .command_size = sizeof(struct zk_sent),
    .open = open_zookeeper,
    .close = close_zookeeper,
    .run = run,
    .caps_of = caps_of,
};
