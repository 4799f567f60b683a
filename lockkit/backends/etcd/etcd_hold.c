/* RENEW and RELEASE.
 *
 * RENEW: keep the lease alive, then look whether the key is still the one that was granted. etcd
 * has answered renewals of leases that it had revoked, and a leader that was deposed and did not
 * know it yet answers them too, while its successor counts by itself: so a renewal counts only when
 * a linearizable read after it finds the key, in the same term of raft.
 *
 * For a longer TTL, which a lease cannot get, the key is put on another lease. It keeps its
 * revision, so its place and its fencing token.
 *
 * RELEASE: delete the key. Where an earlier request may still take effect, revoke the lease as
 * well: then it cannot. */
#include "etcd_command.h"

#define NS_PER_MS 1000000

static uint32_t left_ms_of(const struct etcd_sent *sent, const struct etcd_lease *lease) {
    int64_t left_ms = (etcd_lease_end_ns(lease) - sent->started_ns) / NS_PER_MS;

    if (left_ms <= 0)
        return 0;
    return left_ms < UINT32_MAX ? (uint32_t)left_ms : UINT32_MAX;
}

static void lost(struct etcd_sent *sent) {
    etcd_owner_unwatch(sent->owner);
    sent->owner->is_held = false;
    etcd_sent_end(sent, LK_LOST);
}

static void renewed(struct etcd_sent *sent) {
    struct lk_command *command = sent->command;

    command->granted_ms = left_ms_of(sent, &sent->owner->lease);
    etcd_sent_end(sent, command->granted_ms > 0 ? LK_OK : LK_UNKNOWN);
}

/* A move to another lease that was not answered may have taken place. */
static bool is_on_lease(struct etcd_owner *owner, int64_t id) {
    if (id == owner->lease.id)
        return true;
    if (id == owner->next.id) {
        owner->lease = owner->next;
        owner->next = (struct etcd_lease){0};
    }
    return false;
}

/* From its first renewal on, a holder hears at once when its key goes. Short holds do without. */
static void on_seen(struct etcd_ask *ask) {
    struct etcd_sent *sent = ask->data;
    struct etcd_owner *owner = sent->owner;
    const json_t *kv = json_array_get(json_object_get(ask->reply, "kvs"), 0);
    struct etcd_keys keys;

    if (ask->status != LK_OK) {
        etcd_sent_end(sent, ask->status);
        return;
    }
    if (!etcd_line_is_whole(ask->reply)) {
        etcd_sent_end_puzzled(sent);
        return;
    }
    if (owner->is_gone || json_integer_of(kv, "create_revision") != owner->revision) {
        lost(sent);
        return;
    }
    if (ask->raft_term != sent->kept_term || !is_on_lease(owner, json_integer_of(kv, "lease"))) {
        etcd_sent_end(sent, LK_UNKNOWN);
        return;
    }
    etcd_sent_confirm(sent, ask->raft_term);
    etcd_sent_keys(sent, &keys);
    etcd_owner_watch(owner, keys.own, NULL, ask->revision + 1);
    renewed(sent);
}

static void on_kept(struct etcd_ask *ask) {
    struct etcd_sent *sent = ask->data;
    enum lk_status status = ask->status == LK_OK ? etcd_sent_kept(sent) : ask->status;
    struct etcd_keys keys;

    if (ask->status == LK_OK && (sent->owner->is_gone || status == LK_LOST)) {
        lost(sent);
    } else if (status != LK_OK) {
        etcd_sent_end(sent, status);
    } else {
        etcd_sent_keys(sent, &keys);
        etcd_sent_ask(sent, "/v3/kv/range", etcd_line_own(&keys), true, on_seen);
    }
}

static void on_moved(struct etcd_ask *ask) {
    struct etcd_sent *sent = ask->data;
    struct etcd_owner *owner = sent->owner;
    enum etcd_done done = etcd_line_done(ask->reply, "p", "");

    if (ask->status == LK_REFUSED && ask->code == ETCD_NOT_FOUND) { /* the new lease has ended */
        owner->next = (struct etcd_lease){0};
        etcd_sent_end(sent, LK_UNKNOWN);
    } else if (ask->status != LK_OK) {
        etcd_sent_end(sent, ask->status);
    } else if (owner->is_gone || done == ETCD_DONE_FAILURE) {
        lost(sent);
    } else if (done == ETCD_DONE_UNKNOWN) {
        etcd_sent_end_puzzled(sent);
    } else {
        owner->lease = owner->next;
        owner->next = (struct etcd_lease){0};
        renewed(sent);
    }
}

static void move(struct etcd_sent *sent) {
    const struct etcd_owner *owner = sent->owner;
    struct etcd_keys keys;

    etcd_sent_keys(sent, &keys);
    etcd_sent_ask(sent, "/v3/kv/txn",
                  etcd_line_move(&keys, sent->command, sent->etcd->config.label, owner->revision,
                                 owner->next.id),
                  true, on_moved);
}

static void on_longer_granted(struct etcd_ask *ask) {
    struct etcd_sent *sent = ask->data;
    enum lk_status status = etcd_sent_granted(sent, &sent->owner->next);

    if (status == LK_OK && !sent->owner->is_gone)
        move(sent);
    else
        etcd_sent_end(sent, status == LK_OK ? LK_LOST : status);
}

static void extend(struct etcd_sent *sent) {
    struct etcd_owner *owner = sent->owner;
    uint32_t asked_s = (sent->command->ttl_ms + 999) / 1000;

    if (owner->next.is_granted && owner->next.asked_s >= asked_s) {
        move(sent);
        return;
    }
    if (owner->next.id == 0 &&
        !etcd_lease_begin(&sent->etcd->owners, &owner->next, sent->command->ttl_ms)) {
        etcd_sent_end_later(sent, LK_UNSUPPORTED);
        return;
    }
    etcd_sent_grant(sent, &owner->next, on_longer_granted);
}

void etcd_renew(struct etcd_sent *sent) {
    struct etcd_owner *owner = sent->owner;

    if (!owner || !owner->is_held)
        etcd_sent_end_later(sent, LK_LOST);
    else if (sent->command->ttl_ms > owner->lease.ttl_s * 1000ULL)
        extend(sent);
    else
        etcd_sent_keep(sent, on_kept);
}

static void left(struct etcd_sent *sent) {
    if (!sent->owner->is_gone)
        etcd_owner_drop(&sent->etcd->owners, sent->owner);
    etcd_sent_end(sent, sent->left);
}

static void on_revoked(struct etcd_ask *ask) {
    struct etcd_sent *sent = ask->data;

    if (ask->status == LK_OK || (ask->status == LK_REFUSED && ask->code == ETCD_NOT_FOUND))
        left(sent);
    else
        etcd_sent_end(sent, ask->status);
}

/* Whether the key that was deleted held the lock: it was granted, or had come to be the first. */
static bool was_held(const struct etcd_sent *sent) {
    const struct etcd_owner *owner = sent->owner;
    const json_t *own = json_array_get(etcd_line_found(sent->ask.reply, 0), 0);
    const json_t *first = json_array_get(etcd_line_found(sent->ask.reply, 1), 0);
    int64_t revision = json_integer_of(own, "create_revision");

    if (revision == 0 || (owner->revision != 0 && revision != owner->revision))
        return false;
    return owner->is_held || json_integer_of(first, "create_revision") == revision;
}

static void on_left(struct etcd_ask *ask) {
    struct etcd_sent *sent = ask->data;
    struct etcd_owner *owner = sent->owner;

    if (ask->status != LK_OK) {
        etcd_sent_end(sent, ask->status);
        return;
    }
    if (etcd_line_done(ask->reply, "rrd", NULL) == ETCD_DONE_UNKNOWN) {
        etcd_sent_end_puzzled(sent);
        return;
    }
    sent->left = was_held(sent) ? LK_OK : LK_LOST;
    owner->is_held = false;
    if (owner->is_doubtful && owner->lease.id != 0)
        etcd_sent_ask(sent, "/v3/lease/revoke",
                      json_pack("{s:I}", "ID", (json_int_t)owner->lease.id), true, on_revoked);
    else
        left(sent);
}

void etcd_release(struct etcd_sent *sent) {
    struct etcd_keys keys;

    if (!sent->owner) {
        etcd_sent_end_later(sent, LK_LOST);
        return;
    }
    etcd_owner_unwatch(sent->owner);
    etcd_sent_keys(sent, &keys);
    etcd_sent_ask(sent, "/v3/kv/txn", etcd_line_leave(&keys), false, on_left);
}
