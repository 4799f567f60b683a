/* The fair kind: a line of ephemeral sequential nodes. */
#include "zk_client.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_MOST 1000 /* nodes of a line that INSPECT lists */

/* Read the line; `on_line` runs later. */
static void zk_fair_list(struct zk_operation *operation, strings_completion_t on_line) {
    (void)zk_sending(operation, zoo_aget_children(zk_handle(operation), operation->folder, 0,
                                                  on_line, operation));
}

static void delete_node(struct zk_operation *operation, const char *node) {
    char path[ZK_PATH_SIZE];

    (void)zk_path(path, operation->folder, node);
    (void)zk_sending(operation,
                     zoo_adelete(zk_handle(operation), path, -1, zk_on_deleted, operation));
}

/* ---- Acquiring, in a line of ephemeral sequential nodes:
 *
 *     create, list ──► first ──────────────► granted
 *        │         └─► not first: watch the one before ──► BUSY ... its event: list, as above
 *        │                  └─ gone meanwhile: list again
 *        └─► no folder: create folder and node ──► the folder's first node: granted; else list
 *
 * A client that finds that most folders are missing begins with the last step.
 * The node's name has the owner token. So if the answer to a create was lost, the same owner finds
 * its node in the list when it asks again. An ACQUIRE that only tries looks at the line first, and
 * makes no node if it would be refused. If it is overtaken, it deletes its node before it answers.
 * Nodes of an earlier session go with that session, and are never taken over. */

static void acquire_create(struct zk_operation *operation);
static void acquire_create_both(struct zk_operation *operation);
static void on_line_to_acquire(int error, const struct String_vector *nodes, const void *data);

static void acquire_list(struct zk_operation *operation) {
    zk_fair_list(operation, on_line_to_acquire);
}

/* -- Waiting */

static void acquire_busy(struct zk_operation *operation) {
    if (operation->command != NULL)
        operation->command->is_queued = true;
    zk_finish(operation, LK_BUSY);
}

static void on_watched(int error, const char *value, int length, const struct Stat *stat,
                       const void *data) {
    struct zk_operation *operation = zk_operation_of(data);

    (void)value, (void)length, (void)stat;
    if (error != ZOK)
        operation->contender->watched = 0;
    if (!zk_completed(operation))
        return;
    if (error == ZNONODE)
        acquire_list(operation);
    else if (error != ZOK)
        zk_fail(operation, error);
    else
        acquire_busy(operation);
}

/* Watch the entry by its data, not by its existence: so no watch stays on a node that has gone.
 * NULL: watch the whole line, because any entry may give way; the same request reads the line
 * again. */
static void acquire_wait_for(struct zk_operation *operation, const struct zk_entry *entry) {
    struct zk_contender *contender = operation->contender;
    zhandle_t *handle = zk_handle(operation);
    char path[ZK_PATH_SIZE];
    uint64_t hash;

    if (entry != NULL && !zk_path(path, operation->folder, entry->node)) {
        acquire_busy(operation); /* another program's name, too long for us: poll */
        return;
    }
    hash = zk_hash(entry != NULL ? path : operation->folder);
    if (contender->watched == hash) {
        acquire_busy(operation);
        return;
    }
    contender->watched = hash;
    (void)zk_sending(
        operation,
        entry != NULL
            ? zoo_awget(handle, path, zk_on_node_event, operation->client, on_watched, operation)
            : zoo_awget_children(handle, operation->folder, zk_on_node_event, operation->client,
                                 on_line_to_acquire, operation));
}

/* -- Finding a node after a create without an answer */

static void contender_forget(struct zk_contender *contender) {
    contender->node[0] = '\0';
    contender->is_doubtful = false;
    contender->is_granted = false;
    contender->watched = contender->own = 0;
}

static void zk_fair_on_found(int error, const struct Stat *stat, const void *data) {
    struct zk_operation *operation = zk_operation_of(data);
    struct zk_contender *contender = operation->contender;

    if (!zk_completed(operation))
        return;
    if (error == ZOK && stat->ephemeralOwner == operation->client->session.id) {
        contender->czxid = stat->czxid;
        contender->is_doubtful = false;
        acquire_list(operation);
    } else if (error == ZOK || error == ZNONODE) {
        contender_forget(contender);
        acquire_create(operation);
    } else {
        contender->node[0] = '\0';
        zk_fail(operation, error);
    }
}

static void acquire_adopt(struct zk_operation *operation, const struct zk_entry *entry) {
    char path[ZK_PATH_SIZE];

    (void)snprintf(operation->contender->node, ZK_NODE_SIZE, "%s", entry->node);
    (void)zk_path(path, operation->folder, entry->node);
    (void)zk_sending(operation,
                     zoo_aexists(zk_handle(operation), path, 0, zk_fair_on_found, operation));
}

/* -- The line */

static void acquire_peek(struct zk_operation *operation, const struct zk_line *line) {
    operation->is_peeking = false;
    if (zk_line_admits(line, operation->command))
        acquire_create(operation);
    else
        zk_finish(operation, LK_BUSY);
}

static void acquire_take_line(struct zk_operation *operation, const struct zk_line *line) {
    struct zk_contender *contender = operation->contender;
    const char *node = contender->node[0] ? contender->node : NULL;
    const struct zk_entry *entry = zk_line_find(line, node, contender->owner);
    struct zk_stand stand;

    if (operation->is_peeking) {
        acquire_peek(operation, line);
    } else if (entry == NULL) {
        contender_forget(contender);
        acquire_create(operation);
    } else if (node == NULL) {
        acquire_adopt(operation, entry);
    } else {
        stand = zk_line_stand(line, entry);
        if (stand.is_granted)
            zk_grant(operation);
        else if (operation->command->patience_ms > 0)
            acquire_wait_for(operation, stand.watched);
        else {
            contender->is_unwanted = true; /* withdraw the node of the try */
            delete_node(operation, contender->node);
        }
    }
}

/* The folder is missing. */
static void acquire_no_folder(struct zk_operation *operation) {
    operation->is_peeking = false;
    contender_forget(operation->contender);
    if (operation->has_made_folder)
        zk_make_folder(operation, acquire_create); /* its parents are missing, too */
    else
        acquire_create_both(operation);
}

static void on_line_to_acquire(int error, const struct String_vector *nodes, const void *data) {
    struct zk_operation *operation = zk_operation_of(data);
    struct zk_line line;

    if (!zk_completed(operation))
        return;
    if (operation->error == ZOK && operation->has_synced)
        operation->error = operation->client->sync_error;
    if (operation->error != ZOK && operation->error != ZNONODE)
        zk_fail(operation, operation->error);
    else if (error != ZOK && error != ZNONODE)
        zk_fail(operation, error);
    else if (operation->command == NULL)
        zk_finish(operation, LK_UNKNOWN); /* the next command asks for the node, or gives it back */
    else if (operation->error == ZNONODE || error == ZNONODE)
        acquire_no_folder(operation);
    else if (zk_line_read(&line, nodes->data, nodes->count) != 0)
        zk_finish(operation, LK_NOMEM);
    else {
        acquire_take_line(operation, &line);
        zk_line_free(&line);
    }
}

/* -- The node */

static void acquire_created(struct zk_operation *operation, int error, const char *path,
                            const struct Stat *stat) {
    struct zk_contender *contender = operation->contender;

    operation->error = error;
    if (!zk_is_unanswered(error))
        contender->is_doubtful = false;
    if (error == ZOK) {
        const char *slash = strrchr(path, '/');

        (void)snprintf(contender->node, ZK_NODE_SIZE, "%s", slash != NULL ? slash + 1 : path);
        contender->czxid = stat->czxid;
    }
}

static void zk_fair_on_created(int error, const char *path, const struct Stat *stat,
                               const void *data) {
    struct zk_operation *operation = zk_operation_of(data);

    acquire_created(operation, error, path, stat);
    if (error == ZOK || error == ZNONODE)
        zk_saw_folder(operation->client, error == ZOK);
    if (zk_completed(operation)) /* the list could not be requested */
        zk_fail(operation, error ? error : ZCONNECTIONLOSS);
}

static void on_created_both(int error, const char *path, const struct Stat *stat,
                            const void *data) {
    struct zk_operation *operation = zk_operation_of(data);

    acquire_created(operation, error, path, stat);
    if (!zk_completed(operation))
        return;
    if (error == ZNONODE)
        acquire_no_folder(operation);
    else if (error != ZOK)
        zk_fail(operation, error);
    else if (operation->command == NULL)
        zk_finish(operation, LK_UNKNOWN);
    else if (operation->is_folder_new && zk_line_is_first(operation->contender->node))
        zk_grant(operation);
    else
        acquire_list(operation);
}

/* False: the library refused. */
static bool acquire_create_node(struct zk_operation *operation,
                                string_stat_completion_t on_created) {
    struct zk_client *client = operation->client;
    char node[ZK_NODE_SIZE], path[ZK_PATH_SIZE];
    int error;

    operation->error = ZOK;
    operation->has_synced = false;
    zk_line_node(node, client->url.layout, operation->command);
    (void)zk_path(path, operation->folder, node);
    error = zoo_acreate2(zk_handle(operation), path, client->config.label,
                         (int)strlen(client->config.label), &ZOO_OPEN_ACL_UNSAFE,
                         ZOO_EPHEMERAL_SEQUENTIAL, on_created, operation);
    operation->contender->is_doubtful = error == ZOK;
    return zk_sending(operation, error);
}

/* Create the folder and the node, both at once: requests of a session take effect in their order.
 * The first node that a folder ever had holds the lock. */
static void acquire_create_both(struct zk_operation *operation) {
    if (operation->command == NULL)
        zk_finish(operation, LK_UNKNOWN);
    else if (zk_add_folder(operation))
        (void)acquire_create_node(operation, on_created_both);
}

/* Create the node and list the line, both at once. */
static void acquire_create(struct zk_operation *operation) {
    if (zk_expects_folder(operation->client) && operation->command != NULL) {
        if (acquire_create_node(operation, zk_fair_on_created))
            acquire_list(operation);
    } else {
        acquire_create_both(operation);
    }
}

static void zk_fair_acquire(struct zk_operation *operation) {
    struct zk_contender *contender = operation->contender;

    if (contender->node[0] || contender->is_doubtful) {
        if (zk_sync(operation))
            acquire_list(operation);
    } else if (operation->command->patience_ms == 0) {
        operation->is_peeking = true;
        acquire_list(operation);
    } else {
        acquire_create(operation);
    }
}

/* ---- Giving back: delete the owner's node. The client repeats that until it is confirmed or the
 * session has ended, even if the core has given up. */

/* Whether an unanswered create has made a node. */
static void on_line_to_release(int error, const struct String_vector *nodes, const void *data) {
    struct zk_operation *operation = zk_operation_of(data);
    const struct zk_entry *entry;
    struct zk_line line;

    if (!zk_completed(operation))
        return;
    if (error == ZOK && operation->client->sync_error != ZOK)
        error = operation->client->sync_error;
    if (error == ZNONODE) {
        zk_lose(operation);
    } else if (error != ZOK) {
        zk_fail(operation, error);
    } else if (zk_line_read(&line, nodes->data, nodes->count) != 0) {
        zk_finish(operation, LK_NOMEM);
    } else {
        entry = zk_line_find(&line, NULL, operation->contender->owner);
        if (entry != NULL)
            delete_node(operation, entry->node);
        else
            zk_lose(operation);
        zk_line_free(&line);
    }
}

static void zk_fair_release(struct zk_operation *operation) {
    struct zk_contender *contender = operation->contender;

    if (contender->node[0])
        delete_node(operation, contender->node);
    else if (!contender->is_doubtful)
        zk_lose(operation);
    else if (zk_sync(operation))
        zk_fair_list(operation, on_line_to_release);
}

/* ---- INSPECT and BREAK: read the nodes of the line, with their data as labels, or delete the
 * holders' nodes. */

struct zk_look {
    size_t count, listed;
    struct lk_holder *list; /* first the holders, then the waiters */
    struct zk_found {
        struct zk_operation *operation;
        bool is_there, is_holder;
        struct lk_holder holder;
        char owner[64];
        char label[LABEL_MAX_BYTES + 1];
    } found[];
};

static void look_put(struct zk_look *look, bool is_holder) {
    for (size_t i = 0; i < look->count; i++)
        if (look->found[i].is_there && look->found[i].is_holder == is_holder)
            look->list[look->listed++] = look->found[i].holder;
}

static void look_answer(struct zk_operation *operation) {
    struct lk_command *command = operation->command;
    struct zk_look *look = operation->look;

    if (command == NULL) {
        zk_finish(operation, LK_UNKNOWN);
        return;
    }
    look_put(look, true);
    command->holders = look->list;
    command->holder_count = look->listed;
    look_put(look, false);
    command->waiters = look->list + command->holder_count;
    command->waiter_count = look->listed - command->holder_count;
    assert(look->listed <= look->count);
    zk_finish(operation, LK_OK);
}

/* A node that has gone meanwhile is left out. */
static void on_data(int error, const char *value, int length, const struct Stat *stat,
                    const void *data) {
    struct zk_found *found = (struct zk_found *)(uintptr_t)data;
    struct zk_operation *operation = found->operation;

    if (error == ZOK) {
        found->is_there = true;
        found->holder.fence = found->is_holder ? (uint64_t)stat->czxid : 0;
        if (length > 0)
            (void)snprintf(found->label, sizeof found->label, "%.*s", length, value);
    } else if (error != ZNONODE) {
        operation->error = error;
    }
    if (!zk_completed(operation))
        return;
    if (operation->error != ZOK)
        zk_fail(operation, operation->error);
    else
        look_answer(operation);
}

static void look_find(struct zk_operation *operation, struct zk_found *found,
                      const struct zk_line *line, const struct zk_entry *entry) {
    found->operation = operation;
    found->is_holder = zk_line_stand(line, entry).is_granted;
    (void)snprintf(found->owner, sizeof found->owner, "%.*s", entry->owner_length, entry->owner);
    found->holder = (struct lk_holder){
        .owner = found->owner,
        .label = found->label,
        .remaining_ms = -1,
        .mode = entry->is_shared ? LK_SHARED : LK_EXCLUSIVE,
        .permits = entry->permits,
    };
}

static void zk_fair_look_at(struct zk_operation *operation, const struct zk_line *line) {
    const size_t count = line->count < LOOK_MOST ? line->count : LOOK_MOST;
    const size_t size = sizeof(struct zk_look) + count * sizeof(struct zk_found);
    struct zk_look *look = calloc(1, size + count * sizeof *look->list);
    char path[ZK_PATH_SIZE];

    if (look == NULL) {
        zk_finish(operation, LK_NOMEM);
        return;
    }
    operation->look = look;
    look->list = (struct lk_holder *)((char *)look + size);
    for (size_t i = 0; i < count; i++) {
        struct zk_found *found = &look->found[look->count++];

        look_find(operation, found, line, &line->entries[i]);
        if (zk_path(path, operation->folder, line->entries[i].node) &&
            !zk_sending(operation, zoo_aget(zk_handle(operation), path, 0, on_data, found)))
            return;
    }
    if (operation->pending == 0)
        look_answer(operation);
}

static void zk_fair_break_holders(struct zk_operation *operation, const struct zk_line *line) {
    const char *owner = operation->command->owner;
    char path[ZK_PATH_SIZE];

    for (size_t i = 0; i < line->count; i++) {
        const struct zk_entry *entry = &line->entries[i];
        const bool is_meant = owner == NULL || ((size_t)entry->owner_length == strlen(owner) &&
                                                memcmp(entry->owner, owner, strlen(owner)) == 0);

        if (is_meant && zk_line_stand(line, entry).is_granted &&
            zk_path(path, operation->folder, entry->node) &&
            !zk_sending(operation,
                        zoo_adelete(zk_handle(operation), path, -1, zk_on_deleted, operation)))
            return;
    }
    if (operation->pending == 0)
        zk_finish(operation, LK_LOST);
}

static void on_line_to_look(int error, const struct String_vector *nodes, const void *data) {
    const struct String_vector none = {0};
    struct zk_operation *operation = zk_operation_of(data);
    struct zk_line line;

    if (!zk_completed(operation))
        return;
    if (error == ZNONODE)
        nodes = &none;
    if (error == ZOK || error == ZNONODE)
        error = operation->client->sync_error;
    if (error != ZOK) {
        zk_fail(operation, error);
    } else if (operation->command == NULL) {
        zk_finish(operation, LK_UNKNOWN);
    } else if (zk_line_read(&line, nodes->data, nodes->count) != 0) {
        zk_finish(operation, LK_NOMEM);
    } else {
        if (operation->verb == LK_BREAK)
            zk_fair_break_holders(operation, &line);
        else
            zk_fair_look_at(operation, &line);
        zk_line_free(&line);
    }
}

static void zk_fair_look(struct zk_operation *operation) {
    if (zk_sync(operation))
        zk_fair_list(operation, on_line_to_look);
}

const struct zk_kind zk_fair = {.run = {[LK_ACQUIRE] = zk_fair_acquire,
                                        [LK_RELEASE] = zk_fair_release,
                                        [LK_INSPECT] = zk_fair_look,
                                        [LK_BREAK] = zk_fair_look}};
