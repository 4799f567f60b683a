/* Keeping and giving back one's node.
 *
 * A renewal reads the node. What the server near us says may be old news: the leader ends sessions,
 * and so the leader is asked first, in the same breath. A release deletes the node, and is repeated
 * by zk_client until it is confirmed or the session has ended, whatever the core has given up. */
#include "zk_client.h"

#include <string.h>

static struct zk_operation *of(const void *data) {
    return (struct zk_operation *)(uintptr_t)data;
}

static void lost(struct zk_operation *operation) {
    zk_contender_drop(operation->client, operation->contender);
    zk_finish(operation, LK_LOST);
}

static void on_renewed(int error, const char *value, int length, const struct Stat *stat,
                       const void *data) {
    struct zk_operation *operation = of(data);
    struct zk_client *client = operation->client;

    (void)value, (void)length;
    if (!zk_completed(operation))
        return;
    if (error == ZOK && client->sync_error != ZOK)
        error = client->sync_error;
    if (error != ZOK && error != ZNONODE)
        zk_fail(operation, error);
    else if (error == ZNONODE || stat->czxid != operation->contender->czxid ||
             stat->ephemeralOwner != zk_session_id(client->session))
        lost(operation);
    else
        zk_grant(operation);
}

void zk_renew(struct zk_operation *operation) {
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

static void on_deleted(int error, const void *data) {
    struct zk_operation *operation = of(data);
    struct zk_contender *contender = operation->contender;
    const bool was_ours = error == ZOK && contender->is_granted;

    if (error == ZOK || error == ZNONODE)
        zk_contender_drop(operation->client, contender);
    if (!zk_completed(operation))
        return;
    if (error != ZOK && error != ZNONODE)
        zk_fail(operation, error);
    else
        zk_finish(operation, was_ours ? LK_OK : LK_LOST);
}

static void delete_node(struct zk_operation *operation, const char *node) {
    char path[ZK_PATH_SIZE];

    (void)zk_path(path, operation->folder, node);
    (void)zk_sending(operation, zoo_adelete(zk_handle(operation), path, -1, on_deleted, operation));
}

/* Whether a create that was not answered has made a node. */
static void on_line(int error, const struct String_vector *nodes, const void *data) {
    struct zk_operation *operation = of(data);
    const struct zk_entry *entry;
    struct zk_line line;

    if (!zk_completed(operation))
        return;
    if (error == ZOK && operation->client->sync_error != ZOK)
        error = operation->client->sync_error;
    if (error == ZNONODE) {
        lost(operation);
    } else if (error != ZOK) {
        zk_fail(operation, error);
    } else if (zk_line_read(&line, nodes->data, nodes->count) != 0) {
        zk_finish(operation, LK_NOMEM);
    } else {
        entry = zk_line_find(&line, NULL, operation->contender->owner);
        if (entry)
            delete_node(operation, entry->node);
        else
            lost(operation);
        zk_line_free(&line);
    }
}

void zk_release(struct zk_operation *operation) {
    struct zk_contender *contender = operation->contender;

    if (contender->node[0])
        delete_node(operation, contender->node);
    else if (!contender->is_doubtful)
        lost(operation);
    else if (zk_sync(operation))
        (void)zk_sending(operation, zoo_aget_children(zk_handle(operation), operation->folder, 0,
                                                      on_line, operation));
}
