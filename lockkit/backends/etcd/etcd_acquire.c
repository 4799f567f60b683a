/* ACQUIRE: a place in the line of the name, and what it is worth.
 *
 *    (lease) ──► ENTER ──► nobody before it: OK
 *                  │  ▲
 *     own key there│  │own key gone         somebody is: BUSY; its end is watched
 *                  ▼  │
 *    (lease) ──►  LOOK ──► the same
 *
 * (lease): grant one, unless there is one to spare; keep it alive when it is old; one that is gone
 * is replaced, and the key has gone with it. Both transactions are linearizable: a key that they
 * find is there, after however long a wait, and the validity counts from the last sign of life that
 * its lease has given. */
#include "etcd_command.h"

#include <assert.h>

#define ROUNDS_MOST                                                                                \
    8 /* of questions: more are needed only while leases end as soon as they begin */
#define NS_PER_MS 1000000

static void step(struct etcd_sent *sent);

/* When nothing of it is at the server, nobody will release it. */
static void end(struct etcd_sent *sent, enum lk_status status) {
    struct etcd_owner *owner = sent->owner;

    if (owner->revision == 0 && !owner->is_doubtful && status != LK_UNKNOWN && !owner->is_gone)
        etcd_owner_drop(&sent->etcd->owners, owner);
    etcd_sent_end(sent, status);
}

static void granted(struct etcd_sent *sent) {
    struct lk_command *command = sent->command;
    struct etcd_owner *owner = sent->owner;
    int64_t left_ms = (etcd_lease_end_ns(&owner->lease) - sent->started_ns) / NS_PER_MS;

    etcd_owner_unwatch(owner);
    if (left_ms <= 0) {
        end(sent, LK_UNKNOWN);
        return;
    }
    owner->is_held = true;
    command->fence = (uint64_t)owner->revision;
    command->granted_ms = left_ms < UINT32_MAX ? (uint32_t)left_ms : UINT32_MAX;
    end(sent, LK_OK);
}

static void on_withdrawn(struct etcd_ask *ask) {
    struct etcd_sent *sent = ask->data;
    bool is_done =
        ask->status == LK_OK && etcd_line_done(ask->reply, "rrd", NULL) == ETCD_DONE_SUCCESS;

    if (is_done)
        sent->owner->revision = 0;
    end(sent, is_done ? LK_BUSY : LK_UNKNOWN);
}

/* One who does not wait leaves nothing in the line. */
static void refused(struct etcd_sent *sent, const struct etcd_keys *keys,
                    const struct etcd_place *place) {
    struct lk_command *command = sent->command;

    if (command->patience_ms == 0) {
        etcd_sent_ask(sent, "/v3/kv/txn", etcd_line_leave(keys), true, on_withdrawn);
        return;
    }
    etcd_owner_watch(sent->owner, place->blocker ? place->blocker : keys->first,
                     place->blocker ? NULL : keys->end, sent->ask.revision + 1);
    command->is_queued = true;
    end(sent, LK_BUSY);
}

static void judge(struct etcd_sent *sent, const struct etcd_keys *keys, const json_t *found) {
    struct etcd_owner *owner = sent->owner;
    struct etcd_place place = etcd_line_place(found, owner->revision, sent->command);

    etcd_sent_confirm(sent, sent->ask.raft_term);
    if (place.is_held)
        granted(sent);
    else
        refused(sent, keys, &place);
}

/* The server may have done it. */
static void puzzled(struct etcd_sent *sent) {
    sent->owner->is_doubtful = true;
    etcd_sent_end_puzzled(sent);
}

static void lose_lease(struct etcd_owner *owner) {
    etcd_owner_unwatch(owner);
    owner->lease = (struct etcd_lease){0};
    owner->revision = 0;
}

/* It did not enter: since it is there, from an attempt that was not answered, or, trying, since
 * others are. A key of its own on a lease that has ended is about to go. */
static void not_entered(struct etcd_sent *sent) {
    struct etcd_owner *owner = sent->owner;
    const json_t *own = json_array_get(etcd_line_found(sent->ask.reply, 0), 0);

    if (own && json_integer_of(own, "lease") == owner->lease.id) {
        owner->revision = json_integer_of(own, "create_revision");
        step(sent);
    } else {
        end(sent, own || sent->command->patience_ms > 0 ? LK_UNKNOWN : LK_BUSY);
    }
}

/* Its own key is in the line that it read, unless that is longer than what is read. */
static void entered(struct etcd_sent *sent, bool has_line) {
    const json_t *line = etcd_line_found(sent->ask.reply, 1);
    struct etcd_keys keys;

    sent->owner->revision = sent->ask.revision;
    if (has_line && json_array_size(line) == 0) {
        puzzled(sent);
        return;
    }
    etcd_sent_keys(sent, &keys);
    judge(sent, &keys, line);
}

static void on_entered(struct etcd_ask *ask) {
    struct etcd_sent *sent = ask->data;
    bool has_line = etcd_line_is_read(sent->command);

    sent->owner->is_doubtful |= ask->was_unknown;
    if (ask->status == LK_REFUSED && ask->code == ETCD_NOT_FOUND) {
        lose_lease(sent->owner);
        step(sent);
        return;
    }
    if (ask->status != LK_OK) {
        end(sent, ask->status);
        return;
    }
    switch (etcd_line_done(ask->reply, has_line ? "pr" : "p", "r")) {
    case ETCD_DONE_UNKNOWN:
        puzzled(sent);
        break;
    case ETCD_DONE_SUCCESS:
        entered(sent, has_line);
        break;
    case ETCD_DONE_FAILURE:
        not_entered(sent);
        break;
    }
}

static void on_looked(struct etcd_ask *ask) {
    struct etcd_sent *sent = ask->data;
    struct etcd_keys keys;

    if (ask->status != LK_OK) {
        end(sent, ask->status);
        return;
    }
    switch (etcd_line_done(ask->reply, "r", "")) {
    case ETCD_DONE_UNKNOWN:
        puzzled(sent);
        break;
    case ETCD_DONE_SUCCESS:
        etcd_sent_keys(sent, &keys);
        judge(sent, &keys, etcd_line_found(ask->reply, 0));
        break;
    case ETCD_DONE_FAILURE:
        sent->owner->revision = 0;
        step(sent);
        break;
    }
}

static void on_kept(struct etcd_ask *ask) {
    struct etcd_sent *sent = ask->data;

    enum lk_status status = ask->status == LK_OK ? etcd_sent_kept(sent) : ask->status;

    if (status == LK_LOST)
        lose_lease(sent->owner);
    if (status == LK_OK || status == LK_LOST)
        step(sent);
    else
        end(sent, status);
}

static void on_granted(struct etcd_ask *ask) {
    struct etcd_sent *sent = ask->data;
    enum lk_status status = etcd_sent_granted(sent, &sent->owner->lease);

    if (status == LK_OK)
        step(sent);
    else
        end(sent, status);
}

static void place(struct etcd_sent *sent) {
    const struct etcd_owner *owner = sent->owner;
    struct etcd_keys keys;

    etcd_sent_keys(sent, &keys);
    if (owner->revision == 0)
        etcd_sent_ask(
            sent, "/v3/kv/txn",
            etcd_line_enter(&keys, sent->command, sent->etcd->config.label, owner->lease.id), true,
            on_entered);
    else
        etcd_sent_ask(sent, "/v3/kv/txn", etcd_line_look(&keys, sent->command, owner->revision),
                      true, on_looked);
}

/* The next question. */
static void step(struct etcd_sent *sent) {
    struct etcd_owner *owner = sent->owner;

    if (owner->is_gone || sent->rounds++ == ROUNDS_MOST) {
        end(sent, LK_UNKNOWN);
        return;
    }
    if (owner->lease.id == 0 &&
        !etcd_lease_begin(&sent->etcd->owners, &owner->lease, sent->command->ttl_ms)) {
        etcd_sent_end_later(sent, LK_UNSUPPORTED);
        return;
    }
    if (!owner->lease.is_granted)
        etcd_sent_grant(sent, &owner->lease, on_granted);
    else if (!sent->is_kept && etcd_lease_is_old(&owner->lease))
        etcd_sent_keep(sent, on_kept);
    else
        place(sent);
}

void etcd_acquire(struct etcd_sent *sent) {
    struct etcd *etcd = sent->etcd;
    const struct lk_command *command = sent->command;

    if (!sent->owner) {
        struct etcd_owner *owner = etcd_owner_new(&etcd->owners, command->owner, command->name);

        if (!owner) {
            etcd_sent_end_later(sent, LK_NOMEM);
            return;
        }
        etcd_owner_ref(&etcd->owners, owner);
        sent->owner = owner;
    }
    step(sent);
}
