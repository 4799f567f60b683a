/* Who holds and who waits, and taking the lock from those who hold it: by the line's nodes, of
 * which the data is a label. */
#include "zk_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_MOST 1000 /* nodes of a line that are listed */

struct zk_look {
    size_t count, listed;
    struct lk_holder *list; /* the holders from its start, the waiters after them */
    struct zk_found {
        struct zk_operation *operation;
        bool is_there, is_holder;
        struct lk_holder holder;
        char owner[64];
        char label[LABEL_MAX_BYTES + 1];
    } found[];
};

static struct zk_operation *of(const void *data) {
    return (struct zk_operation *)(uintptr_t)data;
}

static void put(struct zk_look *look, bool is_holder) {
    for (size_t i = 0; i < look->count; i++)
        if (look->found[i].is_there && look->found[i].is_holder == is_holder)
            look->list[look->listed++] = look->found[i].holder;
}

static void answer(struct zk_operation *operation) {
    struct lk_command *command = zk_command(operation);
    struct zk_look *look = operation->look;

    if (!command) {
        zk_finish(operation, LK_UNKNOWN);
        return;
    }
    put(look, true);
    command->holders = look->list;
    command->holder_count = look->listed;
    put(look, false);
    command->waiters = look->list + command->holder_count;
    command->waiter_count = look->listed - command->holder_count;
    zk_finish(operation, LK_OK);
}

/* One that has gone meanwhile is left out. */
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
        answer(operation);
}

static void find(struct zk_operation *operation, struct zk_found *found, const struct zk_line *line,
                 const struct zk_entry *entry) {
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

static void look(struct zk_operation *operation, const struct zk_line *line) {
    const size_t count = line->count < LOOK_MOST ? line->count : LOOK_MOST;
    const size_t size = sizeof(struct zk_look) + count * sizeof(struct zk_found);
    struct zk_look *look = calloc(1, size + count * sizeof *look->list);
    char path[ZK_PATH_SIZE];

    if (!look) {
        zk_finish(operation, LK_NOMEM);
        return;
    }
    operation->look = look;
    look->list = (struct lk_holder *)((char *)look + size);
    for (size_t i = 0; i < count; i++) {
        struct zk_found *found = &look->found[look->count++];

        find(operation, found, line, &line->entries[i]);
        if (zk_path(path, operation->folder, line->entries[i].node) &&
            !zk_sending(operation, zoo_aget(zk_handle(operation), path, 0, on_data, found)))
            return;
    }
    if (operation->pending == 0)
        answer(operation);
}

static void on_broken(int error, const void *data) {
    struct zk_operation *operation = of(data);

    operation->has_hit |= error == ZOK;
    if (error != ZOK && error != ZNONODE)
        operation->error = error;
    if (!zk_completed(operation))
        return;
    if (operation->error != ZOK)
        zk_fail(operation, operation->error);
    else
        zk_finish(operation, operation->has_hit ? LK_OK : LK_LOST);
}

static void break_holders(struct zk_operation *operation, const struct zk_line *line) {
    const char *owner = operation->sent->command->owner;
    char path[ZK_PATH_SIZE];

    for (size_t i = 0; i < line->count; i++) {
        const struct zk_entry *entry = &line->entries[i];
        const bool is_meant = !owner || ((size_t)entry->owner_length == strlen(owner) &&
                                         memcmp(entry->owner, owner, strlen(owner)) == 0);

        if (is_meant && zk_line_stand(line, entry).is_granted &&
            zk_path(path, operation->folder, entry->node) &&
            !zk_sending(operation,
                        zoo_adelete(zk_handle(operation), path, -1, on_broken, operation)))
            return;
    }
    if (operation->pending == 0)
        zk_finish(operation, LK_LOST);
}

static void on_line(int error, const struct String_vector *nodes, const void *data) {
    const struct String_vector none = {0};
    struct zk_operation *operation = of(data);
    struct zk_line line;

    if (!zk_completed(operation))
        return;
    if (error == ZNONODE)
        nodes = &none;
    if (error == ZOK || error == ZNONODE)
        error = operation->client->sync_error;
    if (error != ZOK) {
        zk_fail(operation, error);
    } else if (!operation->sent) {
        zk_finish(operation, LK_UNKNOWN);
    } else if (zk_line_read(&line, nodes->data, nodes->count) != 0) {
        zk_finish(operation, LK_NOMEM);
    } else {
        if (operation->verb == LK_BREAK)
            break_holders(operation, &line);
        else
            look(operation, &line);
        zk_line_free(&line);
    }
}

static void list(struct zk_operation *operation) {
    if (zk_sync(operation))
        (void)zk_sending(operation, zoo_aget_children(zk_handle(operation), operation->folder, 0,
                                                      on_line, operation));
}

void zk_inspect(struct zk_operation *operation) {
    list(operation);
}

void zk_break(struct zk_operation *operation) {
    list(operation);
}
