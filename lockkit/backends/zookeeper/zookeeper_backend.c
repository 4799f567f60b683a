/* Locks in ZooKeeper: commands, their deadlines, and their end with the session.
 *
 * A command waits for the connection until its deadline. Then it is UNAVAILABLE, because nothing
 * was sent. Once it was sent, it is UNKNOWN at its deadline. */
#include "fnv.h"
#include "zk_client.h"

#include <assert.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ACQUIRES_MOST 128 /* the server takes a session's requests one after another */

/* ---- The contenders of a client, by owner token */

static int compare_owners(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static struct zk_contender *contender_find(struct zk_client *client, const char *owner) {
    struct zk_contender **found = tfind(&owner, &client->by_owner, compare_owners);

    return found != NULL ? *found : NULL;
}

static struct zk_contender *contender_add(struct zk_client *client, const char *name,
                                          const char *owner) {
    const size_t size = strlen(name) + 1;
    struct zk_contender *contender = calloc(1, sizeof *contender + size);

    if (contender == NULL)
        return NULL;
    assert(strlen(owner) == OWNER_SIZE - 1);
    memcpy(contender->owner_copy, owner, OWNER_SIZE);
    memcpy(contender->name, name, size);
    contender->owner = contender->owner_copy;
    if (tsearch(contender, &client->by_owner, compare_owners) == NULL) {
        free(contender);
        return NULL;
    }
    contender->refs = 1;
    TAILQ_INSERT_TAIL(&client->contenders, contender, entry);
    return contender;
}

static void contender_unref(struct zk_contender *contender) {
    assert(contender->refs > 0);
    if (--contender->refs == 0)
        free(contender);
}

static void zk_contender_drop(struct zk_client *client, struct zk_contender *contender) {
    if (contender->is_gone)
        return;
    contender->is_gone = true;
    tdelete(contender, &client->by_owner, compare_owners);
    TAILQ_REMOVE(&client->contenders, contender, entry);
    contender_unref(contender);
}

/* ---- Operations */

static struct zk_operation *operation_new(struct zk_client *client, enum lk_verb verb,
                                          const char *name) {
    struct zk_operation *operation = calloc(1, sizeof *operation);

    if (operation == NULL)
        return NULL;
    operation->client = client;
    operation->verb = verb;
    zk_folder(operation->folder, client->url.base, name);
    return operation;
}

static void operation_free(struct zk_operation *operation) {
    assert(operation->pending == 0 && operation->command == NULL);
    if (operation->contender != NULL)
        contender_unref(operation->contender);
    free(operation->look);
    free(operation);
}

bool zk_sending(struct zk_operation *operation, int error) {
    if (error == ZOK) {
        operation->pending++;
        if (operation->command != NULL)
            operation->command->round_trips++;
        return true;
    }
    operation->error = error;
    if (operation->pending == 0)
        zk_fail(operation, error);
    return false;
}

bool zk_completed(struct zk_operation *operation) {
    assert(operation->pending > 0);
    if (--operation->pending > 0)
        return false;
    if (operation->is_done)
        operation_free(operation);
    else
        return true;
    return false;
}

/* An ACQUIRE that was not granted may leave a node. The core gives that back, after BUSY in line
 * and after UNKNOWN. If it leaves nothing, nobody asks for the contender again, except another
 * operation that began while this one was late. */
static enum lk_status operation_leave(struct zk_operation *operation, enum lk_status status) {
    struct zk_contender *contender = operation->contender;

    if (contender->node[0] || contender->is_doubtful)
        return status == LK_BUSY ? status : LK_UNKNOWN;
    if (contender->refs <= 2 && (status != LK_BUSY || contender->watched == 0))
        zk_contender_drop(operation->client, contender);
    return status;
}

void zk_finish(struct zk_operation *operation, enum lk_status status) {
    struct lk_command *command = operation->command;

    assert(!operation->is_done);
    operation->is_done = true;
    if (operation->verb == LK_ACQUIRE && status != LK_OK)
        status = operation_leave(operation, status);
    if (command != NULL) {
        TAILQ_REMOVE(&operation->client->begun, (struct zk_sent *)command->internal, entry);
        operation->command = NULL;
        command->status = status;
        command->on_answer(command);
    }
    if (operation->pending == 0)
        operation_free(operation);
}

void zk_lose(struct zk_operation *operation) {
    zk_contender_drop(operation->client, operation->contender);
    zk_finish(operation, LK_LOST);
}

bool zk_is_unanswered(int error) {
    return (error < ZOK && error > ZAPIERROR) || error == ZCLOSING || error == ZSESSIONMOVED;
}

void zk_fail(struct zk_operation *operation, int error) {
    const bool is_of_session = operation->verb == LK_RENEW || operation->verb == LK_RELEASE;

    if (zk_is_unanswered(error)) {
        zk_finish(operation, LK_UNKNOWN);
    } else if (error == ZSESSIONEXPIRED || error == ZINVALIDSTATE) {
        zk_finish(operation, is_of_session ? LK_LOST : LK_UNAVAILABLE);
    } else {
        answer_tell_refused(&operation->client->refusals, "zookeeper refuses a lock command",
                            zerror(error));
        if (operation->command != NULL)
            operation->command->why = zerror(error);
        zk_finish(operation, LK_REFUSED);
    }
}

static enum lk_status status_of_delete(const struct zk_operation *operation, bool was_ours) {
    if (operation->verb == LK_ACQUIRE)
        return LK_BUSY;
    return (operation->verb == LK_BREAK ? operation->has_hit : was_ours) ? LK_OK : LK_LOST;
}

void zk_on_deleted(int error, const void *data) {
    struct zk_operation *operation = zk_operation_of(data);
    struct zk_contender *contender = operation->contender;
    const bool was_ours = error == ZOK && contender != NULL && contender->is_granted;

    operation->has_hit |= error == ZOK;
    if (error != ZOK && error != ZNONODE)
        operation->error = error;
    else if (contender != NULL)
        zk_contender_drop(operation->client, contender);
    if (!zk_completed(operation))
        return;
    if (operation->error != ZOK)
        zk_fail(operation, operation->error);
    else
        zk_finish(operation, status_of_delete(operation, was_ours));
}

void zk_grant(struct zk_operation *operation) {
    struct lk_command *command = operation->command;

    operation->contender->is_granted = true;
    if (command != NULL) {
        command->fence = (uint64_t)operation->contender->czxid;
        command->granted_ms = operation->client->session.timeout_ms / 3 * 2;
    }
    zk_finish(operation, LK_OK);
}

static void on_synced(int error, const char *path, const void *data) {
    struct zk_operation *operation = zk_operation_of(data);

    (void)path;
    operation->client->sync_error = error;
    if (zk_completed(operation))
        zk_fail(operation, error ? error : operation->error);
}

bool zk_sync(struct zk_operation *operation) {
    struct zk_client *client = operation->client;
    int64_t now_ms = (int64_t)uv_now(client->config.loop);

    operation->has_synced = true;
    if (client->synced_ms == now_ms)
        return true;
    client->synced_ms = now_ms;
    return zk_sending(operation,
                      zoo_async(zk_handle(operation), operation->folder, on_synced, operation));
}

/* ---- Folders */

static bool make_node(struct zk_operation *operation, const char *path, int mode,
                      string_completion_t on_made) {
    return zk_sending(operation, zoo_acreate(zk_handle(operation), path, NULL, -1,
                                             &ZOO_OPEN_ACL_UNSAFE, mode, on_made, operation));
}

bool zk_expects_folder(const struct zk_client *client) {
    return client->missing < 128;
}

void zk_saw_folder(struct zk_client *client, bool was_there) {
    client->missing += ((was_there ? 0 : 256) - client->missing) / 16;
}

static void on_folder_added(int error, const char *path, const void *data) {
    struct zk_operation *operation = zk_operation_of(data);

    (void)path;
    if (error == ZOK || error == ZNODEEXISTS)
        zk_saw_folder(operation->client, error == ZNODEEXISTS);
    operation->is_folder_new = error == ZOK;
    if (zk_completed(operation)) /* the next request could not be sent */
        zk_fail(operation, operation->error);
}

bool zk_add_folder(struct zk_operation *operation) {
    operation->has_made_folder = true;
    operation->is_folder_new = false;
    return make_node(operation, operation->folder, ZOO_CONTAINER, on_folder_added);
}

static void zookeeper_on_made(int error, const char *path, const void *data) {
    struct zk_operation *operation = zk_operation_of(data);

    (void)path;
    if (!zk_completed(operation))
        return;
    if (error != ZOK && error != ZNODEEXISTS)
        zk_fail(operation, error);
    else if (operation->command == NULL)
        zk_finish(operation, LK_UNKNOWN);
    else
        operation->next(operation);
}

/* All requests are sent at once: the answer to the last one counts. ZooKeeper removes a container
 * after it was empty for some time. */
void zk_make_folder(struct zk_operation *operation, void (*next)(struct zk_operation *operation)) {
    char path[ZK_FOLDER_SIZE];

    operation->error = ZOK;
    operation->next = next;
    memcpy(path, operation->folder, sizeof path);
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (!make_node(operation, path, ZOO_PERSISTENT, zookeeper_on_made))
            return;
        *slash = '/';
    }
    (void)make_node(operation, path, ZOO_CONTAINER, zookeeper_on_made);
}

/* If two paths have the same hash, a contender looks once too often. */
uint64_t zk_hash(const char *path) {
    return fnv_hash(path) | 1;
}

void zk_on_node_event(zhandle_t *handle, int type, int state, const char *path, void *context) {
    struct zk_client *client = context;
    const struct lk_backend_config *config = &client->config;
    struct zk_contender *contender;
    uint64_t hash;

    (void)handle, (void)state;
    if (type == ZOO_SESSION_EVENT || path == NULL)
        return;
    hash = zk_hash(path);
    TAILQ_FOREACH (contender, &client->contenders, entry) {
        if (contender->watched == hash) {
            contender->watched = 0;
            config->push(config->data, LK_PUSH_FREE, contender->name, contender->owner, NULL);
        }
        if (contender->own == hash) {
            contender->own = 0;
            if (type == ZOO_DELETED_EVENT && contender->is_granted && !contender->is_unwanted)
                config->push(config->data, LK_PUSH_LOST, contender->name, contender->owner,
                             "its node was deleted");
        }
    }
}

/* ---- Renewing: read the owner's node. The answer of the nearest server may be old. The leader
 * ends sessions, so the same turn first asks the leader. */

static void on_renewed(int error, const char *value, int length, const struct Stat *stat,
                       const void *data) {
    struct zk_operation *operation = zk_operation_of(data);
    struct zk_client *client = operation->client;

    (void)value, (void)length;
    if (!zk_completed(operation))
        return;
    if (error == ZOK && client->sync_error != ZOK)
        error = client->sync_error;
    if (error != ZOK && error != ZNONODE)
        zk_fail(operation, error);
    else if (error == ZNONODE || stat->czxid != operation->contender->czxid ||
             stat->ephemeralOwner != client->session.id)
        zk_lose(operation);
    else
        zk_grant(operation);
}

static void zk_renew(struct zk_operation *operation) {
    struct zk_contender *contender = operation->contender;
    char path[ZK_PATH_SIZE];

    if (!contender->is_granted || !contender->node[0] || contender->is_unwanted) {
        zk_finish(operation, LK_LOST);
        return;
    }
    (void)zk_path(path, operation->folder, contender->node);
    if (!zk_sync(operation))
        return;
    contender->own = zk_hash(path);
    (void)zk_sending(operation, zoo_awget(zk_handle(operation), path, zk_on_node_event,
                                          operation->client, on_renewed, operation));
}

/* ---- Deadlines */

static void on_deadline(uv_timer_t *timer);

static void zookeeper_arm(struct zk_client *client) {
    const struct zk_sent *fresh = TAILQ_FIRST(&client->fresh);
    const struct zk_sent *begun = TAILQ_FIRST(&client->begun);
    int64_t next_ms, left_ms;

    if (fresh == NULL && begun == NULL) {
        (void)uv_timer_stop(&client->timer);
        return;
    }
    next_ms = begun == NULL || (fresh != NULL && fresh->deadline_ms < begun->deadline_ms)
                  ? fresh->deadline_ms
                  : begun->deadline_ms;
    left_ms = next_ms - (int64_t)uv_now(client->config.loop);
    (void)uv_timer_start(&client->timer, on_deadline, left_ms > 0 ? (uint64_t)left_ms : 0, 0);
}

static void sent_answer(struct zk_sent *sent, enum lk_status status) {
    sent->command->status = status;
    sent->command->on_answer(sent->command);
}

static bool zookeeper_is_over(const struct zk_sent *sent, int64_t now_ms) {
    return sent != NULL && sent->deadline_ms <= now_ms;
}

static void on_deadline(uv_timer_t *timer) {
    struct zk_client *client = timer->data;
    const int64_t now_ms = (int64_t)uv_now(client->config.loop);
    struct zk_sent *sent;

    while (zookeeper_is_over(sent = TAILQ_FIRST(&client->begun), now_ms)) {
        assert(sent->operation->command == sent->command);
        TAILQ_REMOVE(&client->begun, sent, entry);
        sent->operation->command = NULL;
        if (sent->command->verb == LK_RENEW)
            zk_session_leave_server(&client->session);
        sent_answer(sent, LK_UNKNOWN);
    }
    while (zookeeper_is_over(sent = TAILQ_FIRST(&client->fresh), now_ms)) {
        TAILQ_REMOVE(&client->fresh, sent, entry);
        sent_answer(sent, LK_UNAVAILABLE);
    }
    zookeeper_arm(client);
}

static void sent_insert(struct zk_sent_list *list, struct zk_sent *sent) {
    struct zk_sent *before = TAILQ_LAST(list, zk_sent_list);

    while (before != NULL && before->deadline_ms > sent->deadline_ms)
        before = TAILQ_PREV(before, zk_sent_list, entry);
    if (before != NULL)
        TAILQ_INSERT_AFTER(list, before, sent, entry);
    else
        TAILQ_INSERT_HEAD(list, sent, entry);
}

/* ---- Beginning */

static void operation_begin(struct zk_operation *operation) {
    const struct zk_kind *kind = operation->client->url.is_fair ? &zk_fair : &zk_single;

    if (operation->verb == LK_RENEW)
        zk_renew(operation);
    else
        kind->run[operation->verb](operation);
}

/* NULL: there is none and none is made, or out of memory. */
static struct zk_contender *contender_of(struct zk_client *client,
                                         const struct lk_command *command) {
    struct zk_contender *contender = contender_find(client, command->owner);

    if (contender == NULL && command->verb == LK_ACQUIRE)
        contender = contender_add(client, command->name, command->owner);
    return contender;
}

static void begin_sent(struct zk_client *client, struct zk_sent *sent) {
    struct lk_command *command = sent->command;
    const bool is_of_owner = command->verb != LK_INSPECT && command->verb != LK_BREAK;
    struct zk_contender *contender = is_of_owner ? contender_of(client, command) : NULL;
    struct zk_operation *operation;

    /* an owner without a node in this session holds nothing */
    if (is_of_owner && contender == NULL) {
        sent_answer(sent, command->verb == LK_ACQUIRE ? LK_NOMEM : LK_LOST);
        return;
    }
    operation = operation_new(client, command->verb, command->name);
    if (operation == NULL) {
        sent_answer(sent, LK_NOMEM);
        return;
    }
    if (contender != NULL)
        contender->refs++;
    operation->contender = contender;
    operation->command = command;
    sent->operation = operation;
    sent_insert(&client->begun, sent);
    operation_begin(operation);
}

/* Releases without a waiting command, while nothing else is under way for their contender. */
static void clean_up(struct zk_client *client) {
    struct zk_contender *contender, *next = TAILQ_FIRST(&client->contenders);

    while ((contender = next) != NULL) {
        struct zk_operation *operation;

        next = TAILQ_NEXT(contender, entry);
        if (!contender->is_unwanted || contender->refs > 1)
            continue;
        operation = operation_new(client, LK_RELEASE, contender->name);
        if (operation == NULL)
            return;
        contender->refs++;
        operation->contender = contender;
        operation_begin(operation);
    }
}

static void zookeeper_begin_all(void *data) {
    struct zk_client *client = data;
    struct zk_sent *sent;

    while (zk_session_is_up(&client->session) && (sent = TAILQ_FIRST(&client->fresh))) {
        TAILQ_REMOVE(&client->fresh, sent, entry);
        begin_sent(client, sent);
    }
    zookeeper_arm(client);
}

/* ---- The session */

static void zookeeper_push_all(struct zk_client *client, enum lk_push what, const char *why) {
    client->config.push(client->config.data, what, NULL, NULL, why);
}

static void zookeeper_on_up(void *data) {
    struct zk_client *client = data;

    client->synced_ms = -1;
    client->sync_error = ZOK;
    zookeeper_begin_all(client);
    clean_up(client);
    zookeeper_push_all(client, LK_PUSH_FREE, NULL); /* nobody told us of events meanwhile */
}

static void on_doubt(void *data) {
    zookeeper_push_all(data, LK_PUSH_SUSPECT, "the connection to zookeeper broke");
}

static void on_expired(void *data) {
    struct zk_client *client = data;
    struct zk_contender *contender;

    while ((contender = TAILQ_FIRST(&client->contenders)) != NULL)
        zk_contender_drop(client, contender);
    zookeeper_push_all(client, LK_PUSH_LOST, "the zookeeper session has expired");
}

static void zookeeper_run(struct lk_backend *backend, struct lk_command *command) {
    struct zk_client *client = (struct zk_client *)backend;
    struct zk_sent *sent = command->internal;
    struct zk_contender *contender = NULL;

    assert(command->on_answer);
    assert(command->owner || command->verb == LK_INSPECT || command->verb == LK_BREAK);
    command->remaining_ms = -1;
    sent->command = command;
    sent->operation = NULL;
    sent->deadline_ms = (int64_t)uv_now(client->config.loop) + command->reply_ms;
    sent_insert(&client->fresh, sent);
    if (command->verb == LK_ACQUIRE || command->verb == LK_RELEASE)
        contender = contender_find(client, command->owner);
    /* This counts from now on, even if the deadline passes without a connection. */
    if (contender != NULL)
        contender->is_unwanted = command->verb == LK_RELEASE;
    zk_session_turn(&client->session);
}

/* ---- Opening and closing */

static unsigned zookeeper_caps_of(const struct lk_backend *backend) {
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
    const struct zk_session_events events = {.on_up = zookeeper_on_up,
                                             .on_doubt = on_doubt,
                                             .on_expired = on_expired,
                                             .on_turn = zookeeper_begin_all,
                                             .data = client};

    if (client == NULL)
        return LK_NOMEM;
    client->base.ops = &backend_zookeeper;
    client->base.acquires_most = ACQUIRES_MOST;
    client->base.has_own_count = true; /* a zxid */
    client->config = *config;
    TAILQ_INIT(&client->fresh);
    TAILQ_INIT(&client->begun);
    TAILQ_INIT(&client->contenders);
    if (zk_url_parse(&client->url, config->url) != 0) {
        free(client);
        return LK_INVALID;
    }
    zk_session_open(&client->session, config->loop, &client->url, &events);
    (void)uv_timer_init(config->loop, &client->timer);
    client->timer.data = client;
    *backend = &client->base;
    return LK_OK;
}

static void zookeeper_on_timer_closed(uv_handle_t *handle) {
    struct zk_client *client = handle->data;
    struct zk_contender *contender;

    while ((contender = TAILQ_FIRST(&client->contenders)) != NULL)
        zk_contender_drop(client, contender);
    backend_end(&client->base);
}

static void on_session_closed(void *data) {
    struct zk_client *client = data;

    uv_close((uv_handle_t *)&client->timer, zookeeper_on_timer_closed);
}

static void close_zookeeper(struct lk_backend *backend, lk_close_cb cb, void *data) {
    struct zk_client *client = (struct zk_client *)backend;

    assert(TAILQ_EMPTY(&client->fresh) && TAILQ_EMPTY(&client->begun));
    backend->on_closed = cb;
    backend->data = data;
    zk_session_close(&client->session, on_session_closed, client);
}

const struct lk_backend_ops backend_zookeeper = {
    .scheme = ZK_SCHEME,
    .caps = LK_CAP_TTL | LK_CAP_SESSION | LK_CAP_FAIR | LK_CAP_EVENTS | LK_CAP_FENCE_LINEAR |
            LK_CAP_CROSS_PROCESS | LK_CAP_SHARED | LK_CAP_PERMITS | LK_CAP_WAITERS | LK_CAP_BREAK,
    .command_size = sizeof(struct zk_sent),
    .open = open_zookeeper,
    .close = close_zookeeper,
    .run = zookeeper_run,
    .caps_of = zookeeper_caps_of,
};
