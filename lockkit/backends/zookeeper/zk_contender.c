/* Those of this client who hold or wait, by owner token. */
#include "zk_client.h"

#include <assert.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

struct zk_contender *zk_contender_find(struct zk_client *client, const char *owner) {
    struct zk_contender **found = tfind(&owner, &client->by_owner, compare);

    return found ? *found : NULL;
}

struct zk_contender *zk_contender_add(struct zk_client *client, const char *name,
                                      const char *owner) {
    const size_t size = strlen(name) + 1;
    struct zk_contender *contender = calloc(1, sizeof *contender + size);

    if (!contender)
        return NULL;
    assert(strlen(owner) == OWNER_SIZE - 1);
    memcpy(contender->owner_copy, owner, OWNER_SIZE);
    memcpy(contender->name, name, size);
    contender->owner = contender->owner_copy;
    if (!tsearch(contender, &client->by_owner, compare)) {
        free(contender);
        return NULL;
    }
    contender->refs = 1;
    TAILQ_INSERT_TAIL(&client->contenders, contender, entry);
    return contender;
}

void zk_contender_unref(struct zk_contender *contender) {
    assert(contender->refs > 0);
    if (--contender->refs == 0)
        free(contender);
}

void zk_contender_drop(struct zk_client *client, struct zk_contender *contender) {
    if (contender->is_gone)
        return;
    contender->is_gone = true;
    tdelete(contender, &client->by_owner, compare);
    TAILQ_REMOVE(&client->contenders, contender, entry);
    zk_contender_unref(contender);
}
