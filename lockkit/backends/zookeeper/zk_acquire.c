/* Acquiring, in a line of ephemeral sequential nodes:
 *
 *     create, list ──► first ──────────────► granted
 *                  └─► not first: watch the one before ──► BUSY ... its event: list, as above
 *                           └─ gone meanwhile: list again
 *
 * The create carries the owner token in the node's name, so that one whose answer was lost is found
 * in the list when the same owner asks again. What tries without waiting looks at the line first,
 * so that it makes no node where it would be refused; one that is overtaken deletes its own before
 * it answers. Nothing of an earlier session is ever taken over: its nodes go with it. */
#include "zk_client.h"

#include <stdio.h>
#include <string.h>

static void create(struct zk_operation *operation);

static struct zk_operation *of(const void *data) {
    return (struct zk_operation *)(uintptr_t)data;
}

static void on_line(int error, const struct String_vector *nodes, const void *data);

static void list(struct zk_operation *operation) {
    (void)zk_sending(operation, zoo_aget_children(zk_handle(operation), operation->folder, 0,
                                                  on_line, operation));
}

/* ---- Waiting */

static void busy(struct zk_operation *operation) {
    if (operation->sent)
        operation->sent->command->is_queued = true;
    zk_finish(operation, LK_BUSY);
}

static void on_watched(int error, const char *value, int length, const struct Stat *stat,
                       const void *data) {
    struct zk_operation *operation = of(data);

    (void)value, (void)length, (void)stat;
    if (error != ZOK)
        operation->contender->watched = 0;
    if (!zk_completed(operation))
        return;
    if (error == ZNONODE)
        list(operation);
    else if (error != ZOK)
        zk_fail(operation, error);
    else
        busy(operation);
}

/* By its data and not its existence: no watch stays on a node that is gone already. NULL: the whole
 * line, of which any may be the one to give way, and which is read again in the same request. */
static void wait_for(struct zk_operation *operation, const struct zk_entry *entry) {
    struct zk_contender *contender = operation->contender;
    zhandle_t *handle = zk_handle(operation);
    char path[ZK_PATH_SIZE];
    uint64_t hash;

    if (entry && !zk_path(path, operation->folder, entry->node)) {
        busy(operation); /* the name of somebody else's, too long for us: it is polled */
        return;
    }
    hash = zk_hash(entry ? path : operation->folder);
    if (contender->watched == hash) {
        busy(operation);
        return;
    }
    contender->watched = hash;
    (void)zk_sending(
        operation,
        entry ? zoo_awget(handle, path, zk_on_node_event, operation->client, on_watched, operation)
              : zoo_awget_children(handle, operation->folder, zk_on_node_event, operation->client,
                                   on_line, operation));
}

/* ---- Withdrawing what was tried */

static void on_withdrawn(int error, const void *data) {
    struct zk_operation *operation = of(data);

    if (error == ZOK || error == ZNONODE)
        zk_contender_drop(operation->client, operation->contender);
    if (!zk_completed(operation))
        return;
    if (error == ZOK || error == ZNONODE)
        zk_finish(operation, LK_BUSY);
    else
        zk_fail(operation, error);
}

static void withdraw(struct zk_operation *operation) {
    char path[ZK_PATH_SIZE];

    operation->contender->is_unwanted = true;
    (void)zk_path(path, operation->folder, operation->contender->node);
    (void)zk_sending(operation,
                     zoo_adelete(zk_handle(operation), path, -1, on_withdrawn, operation));
}

/* ---- Finding a node whose creation was not answered */

static void forget(struct zk_contender *contender) {
    contender->node[0] = '\0';
    contender->is_doubtful = false;
    contender->is_granted = false;
    contender->watched = contender->own = 0;
}

static void on_found(int error, const struct Stat *stat, const void *data) {
    struct zk_operation *operation = of(data);
    struct zk_contender *contender = operation->contender;

    if (!zk_completed(operation))
        return;
    if (error == ZOK && stat->ephemeralOwner == zk_session_id(operation->client->session)) {
        contender->czxid = stat->czxid;
        contender->is_doubtful = false;
        list(operation);
    } else if (error == ZOK || error == ZNONODE) {
        forget(contender);
        create(operation);
    } else {
        contender->node[0] = '\0';
        zk_fail(operation, error);
    }
}

static void adopt(struct zk_operation *operation, const struct zk_entry *entry) {
    char path[ZK_PATH_SIZE];

    (void)snprintf(operation->contender->node, ZK_NODE_SIZE, "%s", entry->node);
    (void)zk_path(path, operation->folder, entry->node);
    (void)zk_sending(operation, zoo_aexists(zk_handle(operation), path, 0, on_found, operation));
}

/* ---- The line */

static void peek(struct zk_operation *operation, const struct zk_line *line) {
    operation->is_peeking = false;
    if (zk_line_admits(line, operation->sent->command))
        create(operation);
    else
        zk_finish(operation, LK_BUSY);
}

static void take_line(struct zk_operation *operation, const struct zk_line *line) {
    struct zk_contender *contender = operation->contender;
    const char *node = contender->node[0] ? contender->node : NULL;
    const struct zk_entry *entry = zk_line_find(line, node, contender->owner);
    struct zk_stand stand;

    if (operation->is_peeking) {
        peek(operation, line);
    } else if (!entry) {
        forget(contender);
        create(operation);
    } else if (!node) {
        adopt(operation, entry);
    } else {
        stand = zk_line_stand(line, entry);
        if (stand.is_granted)
            zk_grant(operation);
        else if (operation->sent->command->patience_ms == 0)
            withdraw(operation);
        else
            wait_for(operation, stand.watched);
    }
}

/* The folder is not there. */
static void no_folder(struct zk_operation *operation) {
    operation->is_peeking = false;
    forget(operation->contender);
    zk_make_folder(operation, create);
}

static void on_line(int error, const struct String_vector *nodes, const void *data) {
    struct zk_operation *operation = of(data);
    struct zk_line line;

    if (!zk_completed(operation))
        return;
    if (operation->error == ZOK && operation->has_synced)
        operation->error = operation->client->sync_error;
    if (operation->error != ZOK && operation->error != ZNONODE)
        zk_fail(operation, operation->error);
    else if (error != ZOK && error != ZNONODE)
        zk_fail(operation, error);
    else if (!operation->sent)
        zk_finish(operation, LK_UNKNOWN); /* what it has got is known, and is asked for or given
                                             back by the next command */
    else if (operation->error == ZNONODE || error == ZNONODE)
        no_folder(operation);
    else if (zk_line_read(&line, nodes->data, nodes->count) != 0)
        zk_finish(operation, LK_NOMEM);
    else {
        take_line(operation, &line);
        zk_line_free(&line);
    }
}

/* ---- The node */

static void on_created(int error, const char *path, const struct Stat *stat, const void *data) {
    struct zk_operation *operation = of(data);
    struct zk_contender *contender = operation->contender;

    operation->error = error;
    if (!zk_is_unanswered(error))
        contender->is_doubtful = false;
    if (error == ZOK) {
        (void)snprintf(contender->node, ZK_NODE_SIZE, "%s", zk_node_of(path));
        contender->czxid = stat->czxid;
    }
    if (zk_completed(operation)) /* the list could not be asked for */
        zk_fail(operation, error ? error : ZCONNECTIONLOSS);
}

/* And list, without waiting in between: requests of a session take effect in their order. */
static void create(struct zk_operation *operation) {
    struct zk_client *client = operation->client;
    char node[ZK_NODE_SIZE], path[ZK_PATH_SIZE];
    int error;

    if (!operation->sent) {
        zk_finish(operation, LK_UNKNOWN);
        return;
    }
    operation->error = ZOK;
    operation->has_synced = false;
    zk_line_node(node, client->url.layout, operation->sent->command);
    (void)zk_path(path, operation->folder, node);
    error = zoo_acreate2(zk_handle(operation), path, client->config.label,
                         (int)strlen(client->config.label), &ZOO_OPEN_ACL_UNSAFE,
                         ZOO_EPHEMERAL_SEQUENTIAL, on_created, operation);
    operation->contender->is_doubtful = error == ZOK;
    if (zk_sending(operation, error))
        list(operation);
}

void zk_acquire(struct zk_operation *operation) {
    struct zk_contender *contender = operation->contender;

    if (contender->node[0] || contender->is_doubtful) {
        if (zk_sync(operation))
            list(operation);
    } else if (operation->sent->command->patience_ms == 0) {
        operation->is_peeking = true;
        list(operation);
    } else {
        create(operation);
    }
}
