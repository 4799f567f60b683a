/* The unfair kind: one ephemeral node, "lock". All waiters watch it, and race for it when it goes.
 *
 * Its data is `owner:label`. The same transaction makes and deletes a second node, named by the
 * owner. So a release deletes the lock only while this owner holds it, no matter when it takes
 * effect. The request for the data follows the create at once. Its answer names the holder, also if
 * this owner holds the lock by a create without an answer, and it watches for the end of the
 * holder. */
#include "zk_client.h"

#include <stdio.h>
#include <string.h>

#define LOCK "lock"

/* The paths of the two nodes. */
struct pair {
    char lock[ZK_PATH_SIZE], token[ZK_PATH_SIZE];
};

static void zk_single_pair(struct pair *pair, const struct zk_operation *operation,
                           const char *owner) {
    (void)zk_path(pair->lock, operation->folder, LOCK);
    (void)zk_path(pair->token, operation->folder, owner);
}

/* ---- Acquiring */

static void single_ask(struct zk_operation *operation);
static void single_make_and_ask(struct zk_operation *operation);

static bool is_owner(const char *value, int length, const char *owner) {
    const size_t size = strlen(owner);

    return length > 0 && (size_t)length > size && memcmp(value, owner, size) == 0 &&
           value[size] == ':';
}

/* Another owner has the lock, or it went between the two requests. Earlier requests of this owner
 * had no effect: these requests came after them, and this server knows at least as much as those
 * requests did. */
static void busy_or_again(struct zk_operation *operation, int error) {
    operation->contender->is_doubtful = false;
    if (error == ZNONODE) {
        single_ask(operation);
        return;
    }
    if (operation->command != NULL && operation->command->patience_ms == 0)
        operation->contender->watched = 0;
    else if (operation->command != NULL)
        operation->command->is_queued = true; /* so that the core withdraws it when it gives up */
    zk_finish(operation, LK_BUSY);
}

static void on_holder(int error, const char *value, int length, const struct Stat *stat,
                      const void *data) {
    struct zk_operation *operation = zk_operation_of(data);
    struct zk_contender *contender = operation->contender;

    if (error != ZOK)
        contender->watched = 0;
    if (!zk_completed(operation))
        return;
    if (error == ZOK && is_owner(value, length, contender->owner) &&
        stat->ephemeralOwner == operation->client->session.id) {
        contender->is_doubtful = false;
        contender->czxid = stat->czxid;
        contender->own = contender->watched;
        contender->watched = 0;
        (void)snprintf(contender->node, sizeof contender->node, "%s", contender->owner);
        zk_grant(operation);
    } else if (error != ZOK && error != ZNONODE) {
        zk_fail(operation, error);
    } else if (operation->error == ZNONODE && operation->has_made_folder) {
        zk_make_folder(operation, single_ask); /* its parents are missing, too */
    } else if (operation->error == ZNONODE) {
        single_make_and_ask(operation);
    } else if (operation->error != ZOK && operation->error != ZNODEEXISTS) {
        zk_fail(operation, operation->error);
    } else {
        busy_or_again(operation, error);
    }
}

static void zk_single_on_created(int error, const void *data) {
    struct zk_operation *operation = zk_operation_of(data);

    operation->error = error;
    if (!zk_is_unanswered(error) && error != ZNODEEXISTS)
        operation->contender->is_doubtful = error == ZOK;
    if (!operation->has_made_folder && !zk_is_unanswered(error))
        zk_saw_folder(operation->client, error != ZNONODE);
    if (zk_completed(operation)) /* the request for the holder could not be sent */
        zk_fail(operation, error ? error : ZCONNECTIONLOSS);
}

static void single_ask(struct zk_operation *operation) {
    struct zk_contender *contender = operation->contender;
    struct zk_client *client = operation->client;
    zhandle_t *handle = zk_handle(operation);
    const char *label = client->config.label;
    char held[OWNER_SIZE + LABEL_MAX_BYTES + 2];
    struct pair paths;
    zoo_op_t both[2];

    if (operation->command == NULL) {
        zk_finish(operation, LK_UNKNOWN);
        return;
    }
    operation->error = ZOK;
    zk_single_pair(&paths, operation, contender->owner);
    (void)snprintf(held, sizeof held, "%s:%s", contender->owner, label);
    zoo_create_op_init(&both[0], paths.lock, held, (int)strlen(held), &ZOO_OPEN_ACL_UNSAFE,
                       ZOO_EPHEMERAL, NULL, 0);
    zoo_create_op_init(&both[1], paths.token, NULL, -1, &ZOO_OPEN_ACL_UNSAFE, ZOO_EPHEMERAL, NULL,
                       0);
    contender->is_doubtful = true;
    if (!zk_sending(operation, zoo_amulti(handle, 2, both, operation->results, zk_single_on_created,
                                          operation)))
        return;
    contender->watched = zk_hash(paths.lock);
    (void)zk_sending(operation, zoo_awget(handle, paths.lock,
                                          operation->command->patience_ms ? zk_on_node_event : NULL,
                                          client, on_holder, operation));
}

static void single_make_and_ask(struct zk_operation *operation) {
    if (zk_add_folder(operation))
        single_ask(operation);
}

static void zk_single_acquire(struct zk_operation *operation) {
    if (zk_expects_folder(operation->client))
        single_ask(operation);
    else
        single_make_and_ask(operation);
}

/* ---- Giving back */

static void delete_both(struct zk_operation *operation, const char *owner) {
    struct pair paths;
    zoo_op_t both[2];

    zk_single_pair(&paths, operation, owner);
    zoo_delete_op_init(&both[0], paths.token, -1);
    zoo_delete_op_init(&both[1], paths.lock, -1);
    (void)zk_sending(operation, zoo_amulti(zk_handle(operation), 2, both, operation->results,
                                           zk_on_deleted, operation));
}

static void zk_single_release(struct zk_operation *operation) {
    struct zk_contender *contender = operation->contender;

    if (contender->is_doubtful || contender->node[0])
        delete_both(operation, contender->owner);
    else
        zk_lose(operation);
}

/* ---- INSPECT and BREAK */

static void tell_holder(struct zk_operation *operation, struct lk_holder *holder) {
    struct lk_command *command = operation->command;

    if (command != NULL && holder != NULL) {
        command->holders = holder;
        command->holder_count = 1;
    }
    zk_finish(operation, LK_OK);
}

static void zk_single_on_seen(int error, const char *value, int length, const struct Stat *stat,
                              const void *data) {
    struct zk_operation *operation = zk_operation_of(data);
    struct lk_command *command = operation->command;
    char held[OWNER_SIZE + LABEL_MAX_BYTES + 2] = "";
    struct lk_holder holder = {.owner = held, .label = "", .remaining_ms = -1, .permits = 1};
    char *colon;

    if (!zk_completed(operation))
        return;
    if (error == ZOK && operation->client->sync_error != ZOK)
        error = operation->client->sync_error;
    if (error != ZOK && error != ZNONODE) {
        zk_fail(operation, error);
        return;
    }
    if (error == ZOK && length > 0)
        (void)snprintf(held, sizeof held, "%.*s", length, value);
    colon = strchr(held, ':');
    if (colon != NULL) {
        *colon = '\0';
        holder.label = colon + 1;
    }
    holder.fence = error == ZOK ? (uint64_t)stat->czxid : 0;
    if (operation->verb == LK_INSPECT)
        tell_holder(operation, error == ZOK ? &holder : NULL);
    else if (command != NULL && error == ZOK &&
             (command->owner == NULL || strcmp(command->owner, held) == 0))
        delete_both(operation, held);
    else
        zk_finish(operation, LK_LOST);
}

static void zk_single_look(struct zk_operation *operation) {
    char path[ZK_PATH_SIZE];

    (void)zk_path(path, operation->folder, LOCK);
    if (zk_sync(operation))
        (void)zk_sending(operation,
                         zoo_aget(zk_handle(operation), path, 0, zk_single_on_seen, operation));
}

const struct zk_kind zk_single = {.run = {[LK_ACQUIRE] = zk_single_acquire,
                                          [LK_RELEASE] = zk_single_release,
                                          [LK_INSPECT] = zk_single_look,
                                          [LK_BREAK] = zk_single_look}};
