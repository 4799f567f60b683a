/* What concerns all leases of a client: what the backend says by itself, and closing. It stands
 * above the parts of a client, because each of them ends in a way of its own. */
#include "lease.h"

#include <assert.h>
#include <string.h>

/* ---- What the backend says by itself */

/* Leases are freed in a later turn of the loop, so none goes from the list here, whatever the
 * callbacks do. */
static void client_doubt(struct lk_client *client, const char *name, const char *owner,
                         enum lk_state state, const char *why) {
    struct lk_lease *lease;

    TAILQ_FOREACH (lease, &client->leases, entry) {
        if ((owner != NULL && strcmp(lease->owner, owner) != 0) ||
            (name != NULL && strcmp(lease->queue->name, name) != 0))
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
        client_doubt(client, name, owner, LK_SUSPECT, why);
        break;
    case LK_PUSH_LOST:
        client_doubt(client, name, owner, LK_LOST_STATE, why);
        break;
    }
}

/* ---- Closing: every part is told to end, and the last queue to go tears the client down */

/* A lease that the caller has, or could still be given. */
static void close_lease(struct lk_lease *lease) {
    switch (lease->phase) {
    case LEASE_QUEUED:
    case LEASE_TRYING:
        if (!lease->is_outcome_due) /* else it ends once that has been told */
            lease_end_request(lease, LK_CANCELED);
        break;
    case LEASE_HELD:
        if (lease->is_outcome_due) {
            lease->outcome = LK_CANCELED;
            lease->client->counters.late_grants++;
        }
        lease->on_state = NULL;
        lease_release(lease);
        break;
    case LEASE_ABANDONED: /* stays taken for its time, by its TTL or as we wait for it */
        lease->cleanup_until_ns = client_moment_ns(lease->client, lease->client->cleanup_ms);
        if (lease_outlives_hold(lease))
            lease_end(lease);
        else if (!(lease->client->caps & LK_CAP_CROSS_PROCESS))
            lease_release(lease); /* nobody is left whom it could keep out */
        break;
    case LEASE_RELEASING:
        lease_hurry_release(lease);
        break;
    case LEASE_ORPHANED:
    case LEASE_ENDED:
        break;
    }
}

void lk_client_close(lk_client *client, lk_close_cb cb, void *data) {
    struct lk_lock *lock;
    struct lk_lease *lease;

    if (client->is_closing)
        return;
    client->is_closing = true;
    client->on_closed = cb;
    client->close_data = data;
    TAILQ_FOREACH (lease, &client->leases, entry)
        close_lease(lease);
    while ((lock = TAILQ_FIRST(&client->locks)) != NULL)
        lk_lock_close(lock);
    client_maybe_closed(client);
}
