/* What a backend says by itself, brought to whom it concerns. */
#include "lease.h"

#include <assert.h>
#include <string.h>

/* Leases are freed in a later turn of the loop, so none goes from the list here, whatever the
 * callbacks do. */
static void doubt(struct lk_client *client, const char *name, const char *owner,
                  enum lk_state state, const char *why) {
    struct lk_lease *lease;

    TAILQ_FOREACH (lease, &client->leases, entry) {
        if ((owner && strcmp(lease->owner, owner) != 0) ||
            (name && strcmp(lease->queue->name, name) != 0))
            continue;
        if (lease->phase == LEASE_HELD)
            lease_doubt(lease, state, why);
        else if ((lease->phase == LEASE_TRYING || lease->phase == LEASE_ORPHANED) &&
                 state == LK_LOST_STATE)
            lease->is_lost_early = true;
    }
}

void client_push(void *data, enum lk_push what, const char *name, const char *owner,
                 const char *why) {
    struct lk_client *client = data;

    assert(what != LK_PUSH_FREE || name || !owner);
    switch (what) {
    case LK_PUSH_FREE:
        queue_wake(client, name, owner);
        break;
    case LK_PUSH_SUSPECT:
        doubt(client, name, owner, LK_SUSPECT, why);
        break;
    case LK_PUSH_LOST:
        doubt(client, name, owner, LK_LOST_STATE, why);
        break;
    }
}
