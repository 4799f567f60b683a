/* Owners, their leases, and their commands: ACQUIRE, RENEW and RELEASE. */
#include "etcd_command.h"

#include "clock.h"

#include <assert.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define NS_PER_MS   1000000
#define NS_PER_S    1000000000LL
#define GRACE_NS    NS_PER_S /* an owner is forgotten so long after its end */
#define OLD_PART    10       /* of the TTL: an older lease is first kept alive */
#define ROUNDS_MOST 8        /* of questions; only leases that end at once need more */

/* ---- Owners, by their tokens */

struct etcd_owner {
    const char *token; /* the key of the tree; first, so that a search needs no whole owner */
    const char *name;
    struct etcd *etcd;
    struct etcd_lease lease;
    struct etcd_lease next; /* a longer lease that will replace it */
    int64_t revision;       /* of the creation of its key: its place; 0: no key is known */
    bool is_held;           /* granted, as far as the client knows */
    bool is_doubtful;       /* a request on its lease may still take effect */
    bool is_gone;           /* only commands under way still refer to it */
    unsigned refs;          /* commands under way */
    struct etcd_watch *watch;
    TAILQ_ENTRY(etcd_owner) entry; /* by last use */
    char text[];
};

static int etcd_owner_compare(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static struct etcd_owner *etcd_owner_find(struct etcd *etcd, const char *token) {
    struct etcd_owner **found = tfind(&token, &etcd->owners, etcd_owner_compare);

    return found != NULL ? *found : NULL;
}

/* A command uses the owner. */
static void etcd_owner_ref(struct etcd_owner *owner) {
    assert(!owner->is_gone); /* it would stand in no list */
    owner->refs++;
    TAILQ_REMOVE(&owner->etcd->by_use, owner, entry);
    TAILQ_INSERT_TAIL(&owner->etcd->by_use, owner, entry);
}

static void etcd_owner_unref(struct etcd_owner *owner) {
    assert(owner->refs > 0);
    if (--owner->refs == 0 && owner->is_gone)
        free(owner);
}

static void sent_let_go(struct etcd_sent *sent) {
    if (sent->owner != NULL)
        etcd_owner_unref(sent->owner);
    sent->owner = NULL;
}

static void etcd_owner_unwatch(struct etcd_owner *owner) {
    etcd_watch_stop(owner->watch);
    owner->watch = NULL;
}

static void on_watch_over(void *data, bool is_deleted) {
    struct etcd_owner *owner = data;
    const struct lk_backend_config *config = &owner->etcd->config;

    owner->watch = NULL;
    if (!is_deleted)
        return; /* the next poll, or renewal, watches again */
    if (owner->is_held)
        config->push(config->data, LK_PUSH_LOST, owner->name, owner->token,
                     "its key was deleted, or its lease has ended");
    else
        config->push(config->data, LK_PUSH_FREE, owner->name, owner->token, NULL);
}

/* Watch the key that the owner waits for, or, if it holds, its own key. A failure does no harm. */
static void etcd_owner_watch(struct etcd_owner *owner, const char *key, const char *range_end,
                             int64_t revision) {
    owner->watch = etcd_watch_start(owner->etcd->servers, owner->watch, key, range_end, revision,
                                    on_watch_over, owner);
}

static int64_t etcd_lease_end_ns(const struct etcd_lease *lease) {
    return lease->confirmed_ns + lease->ttl_s * NS_PER_S;
}

static void etcd_owner_forget(struct etcd_owner *owner) {
    etcd_owner_unwatch(owner);
    tdelete(owner, &owner->etcd->owners, etcd_owner_compare);
    TAILQ_REMOVE(&owner->etcd->by_use, owner, entry);
    owner->is_gone = true;
    owner->refs++;
    etcd_owner_unref(owner);
}

/* The owner neither waits nor holds. Its lease is spared unless the owner is doubtful. */
static void etcd_owner_drop(struct etcd_owner *owner) {
    struct etcd *etcd = owner->etcd;

    assert(!owner->is_gone);
    if (owner->lease.is_granted && !owner->is_doubtful && etcd->spare_count < SPARE_MOST)
        etcd->spare[etcd->spare_count++] = owner->lease;
    etcd_owner_forget(owner);
}

void etcd_owners_clear(struct etcd *etcd) {
    struct etcd_owner *owner;

    while ((owner = TAILQ_FIRST(&etcd->by_use)) != NULL) {
        assert(owner->refs == 0);
        etcd_owner_forget(owner);
    }
}

/* The core drops an owner with an ended lease without telling the backend. Each new owner removes
 * up to two of them. So they cannot pile up, even if some have long leases. */
static void forget_old(struct etcd *etcd) {
    int64_t now_ns = clock_ns(CLOCK_BOOTTIME);
    struct etcd_owner *owner;

    for (int i = 0; i < 2 && (owner = TAILQ_FIRST(&etcd->by_use)); i++) {
        int64_t end_ns = etcd_lease_end_ns(&owner->lease) + GRACE_NS;

        if (owner->refs == 0 && end_ns < now_ns) {
            etcd_owner_forget(owner);
        } else {
            TAILQ_REMOVE(&etcd->by_use, owner, entry);
            TAILQ_INSERT_TAIL(&etcd->by_use, owner, entry);
        }
    }
}

/* NULL: out of memory. */
static struct etcd_owner *etcd_owner_new(struct etcd *etcd, const char *token, const char *name) {
    size_t token_size = strlen(token) + 1, name_size = strlen(name) + 1;
    struct etcd_owner *owner = calloc(1, sizeof *owner + token_size + name_size);

    if (owner == NULL)
        return NULL;
    owner->token = memcpy(owner->text, token, token_size);
    owner->name = memcpy(owner->text + token_size, name, name_size);
    owner->etcd = etcd;
    if (tsearch(owner, &etcd->owners, etcd_owner_compare) == NULL) {
        free(owner);
        return NULL;
    }
    forget_old(etcd);
    TAILQ_INSERT_TAIL(&etcd->by_use, owner, entry);
    return owner;
}

void etcd_sent_end(struct etcd_sent *sent, enum lk_status status) {
    struct lk_command *command = sent->command;

    if (status == LK_REFUSED && sent->ask.why != NULL) {
        command->why = sent->ask.why;
        answer_tell_refused(&sent->etcd->refusals, "etcd refuses a lock command", command->why);
    }
    sent_let_go(sent);
    command->status = status;
    command->on_answer(command);
}

static void sent_end_later(struct etcd_sent *sent, enum lk_status status) {
    sent_let_go(sent);
    answer_later(&sent->etcd->answers, sent->command, status);
}

/* ---- Leases of etcd: grant one or keep it alive, and take the answer. The result is LK_OK,
 * LK_LOST when the lease is gone, or the status that ends the command. */

/* The lease that was spared last is the youngest. Ended leases are useless. */
static bool take_spare(struct etcd *etcd, struct etcd_lease *lease, uint32_t asked_s) {
    int64_t now_ns = clock_ns(CLOCK_BOOTTIME);

    for (unsigned i = etcd->spare_count; i-- > 0;) {
        bool is_over = etcd_lease_end_ns(&etcd->spare[i]) <= now_ns;

        if (!is_over && etcd->spare[i].asked_s != asked_s)
            continue;
        *lease = etcd->spare[i];
        etcd->spare_count--;
        memmove(&etcd->spare[i], &etcd->spare[i + 1],
                (etcd->spare_count - i) * sizeof *etcd->spare);
        if (!is_over)
            return true;
    }
    return false;
}

/* Take a spare lease, or prepare a new one. False: the system gives no random numbers. */
static bool lease_begin(struct etcd_sent *sent, struct etcd_lease *lease) {
    uint32_t asked_s = (sent->command->ttl_ms + 999) / 1000;

    if (take_spare(sent->etcd, lease, asked_s))
        return true;
    *lease = (struct etcd_lease){.asked_s = asked_s, .ttl_s = asked_s};
    if (getrandom(&lease->id, sizeof lease->id, 0) != sizeof lease->id)
        return false;
    lease->id = (lease->id & INT64_MAX) | 1;
    return true;
}

static void sent_keep(struct etcd_sent *sent, void (*on_answer)(struct etcd_ask *ask)) {
    etcd_sent_ask(sent, "/v3/lease/keepalive",
                  json_pack("{s:I}", "ID", (json_int_t)sent->owner->lease.id), true, on_answer);
}

/* The TTL of this lease in the reply, in seconds; 0: the lease is gone; -1: neither. */
static int64_t ttl_of(const json_t *reply, const struct etcd_lease *lease) {
    const json_t *ttl = json_object_get(reply, "TTL"); /* missing when it is 0 */
    int64_t ttl_s = json_integer_of(reply, "TTL");
    const char *text = json_string_value(ttl);
    bool is_zero =
        ttl == NULL || (text != NULL ? strcmp(text, "0") == 0
                                     : json_is_integer(ttl) && json_integer_value(ttl) == 0);

    if (json_integer_of(reply, "ID") != lease->id || ttl_s > UINT32_MAX || (ttl_s == 0 && !is_zero))
        return -1;
    return ttl_s;
}

static enum lk_status sent_kept(struct etcd_sent *sent) {
    int64_t ttl_s = ttl_of(sent->ask.reply, &sent->owner->lease);

    if (ttl_s <= 0)
        return ttl_s == 0 ? LK_LOST : LK_UNKNOWN;
    sent->owner->lease.ttl_s = (uint32_t)ttl_s;
    sent->is_kept = true;
    sent->kept_ns = sent->asked_ns;
    sent->kept_term = sent->ask.raft_term;
    return LK_OK;
}

static void sent_confirm(struct etcd_sent *sent, int64_t term) {
    struct etcd_lease *lease = &sent->owner->lease;

    if (sent->is_kept && term == sent->kept_term && sent->kept_ns > lease->confirmed_ns)
        lease->confirmed_ns = sent->kept_ns;
}

static void sent_grant(struct etcd_sent *sent, struct etcd_lease *lease,
                       void (*on_answer)(struct etcd_ask *ask)) {
    assert(lease->id != 0); /* else the server would choose an id that we cannot revoke */
    etcd_sent_ask(
        sent, "/v3/lease/grant",
        json_pack("{s:I, s:I}", "ID", (json_int_t)lease->id, "TTL", (json_int_t)lease->asked_s),
        true, on_answer);
}

static enum lk_status sent_granted(struct etcd_sent *sent, struct etcd_lease *lease) {
    const struct etcd_ask *ask = &sent->ask;
    int64_t ttl_s;

    sent->owner->is_doubtful |= ask->was_unknown;
    /* The lease exists: an earlier request was not answered, but made it. Its age is known after
     * the next keepalive. */
    if (ask->status == LK_REFUSED && ask->code == ETCD_FAILED_PRECONDITION) {
        lease->is_granted = true;
        lease->confirmed_ns = 0;
        return LK_OK;
    }
    if (ask->status != LK_OK)
        return ask->status;
    ttl_s = ttl_of(ask->reply, lease);
    if (ttl_s < lease->asked_s)
        return LK_UNKNOWN;
    lease->is_granted = true;
    lease->ttl_s = (uint32_t)ttl_s;
    lease->confirmed_ns = sent->asked_ns;
    return LK_OK;
}

static uint32_t left_ms_of(const struct etcd_sent *sent, const struct etcd_lease *lease) {
    int64_t left_ms = (etcd_lease_end_ns(lease) - sent->started_ns) / NS_PER_MS;

    if (left_ms <= 0)
        return 0;
    return left_ms < UINT32_MAX ? (uint32_t)left_ms : UINT32_MAX;
}

/* ---- ACQUIRE: get a place in the line of the name, and judge it.
 *
 *    (lease) ──► ENTER ──► nobody stands before it: OK
 *                  │  ▲
 *     own key there│  │own key gone         somebody does: BUSY; the end of that key is watched
 *                  ▼  │
 *    (lease) ──►  LOOK ──► the same
 *
 * (lease): grant one, unless there is a spare one. Keep an old one alive. Replace a lease that is
 * gone; its key has gone with it. Both transactions are linearizable: a key that they find is
 * there, even after a long wait. The validity counts from the last answer that showed the lease
 * alive. */

static void acquire_step(struct etcd_sent *sent);

/* If nothing of the owner is at the server, nobody will release it: drop it here. */
static void acquire_end(struct etcd_sent *sent, enum lk_status status) {
    struct etcd_owner *owner = sent->owner;

    if (owner->revision == 0 && !owner->is_doubtful && status != LK_UNKNOWN && !owner->is_gone)
        etcd_owner_drop(owner);
    etcd_sent_end(sent, status);
}

static void acquire_granted(struct etcd_sent *sent) {
    struct lk_command *command = sent->command;
    struct etcd_owner *owner = sent->owner;

    assert(owner->revision > 0); /* the fencing token */
    command->granted_ms = left_ms_of(sent, &owner->lease);
    etcd_owner_unwatch(owner);
    if (command->granted_ms > 0) {
        owner->is_held = true;
        command->fence = (uint64_t)owner->revision;
    }
    acquire_end(sent, command->granted_ms > 0 ? LK_OK : LK_UNKNOWN);
}

static void on_withdrawn(struct etcd_ask *ask) {
    struct etcd_sent *sent = ask->data;
    bool is_done =
        ask->status == LK_OK && etcd_line_done(ask->reply, "rrd", NULL) == ETCD_DONE_SUCCESS;

    if (is_done)
        sent->owner->revision = 0;
    acquire_end(sent, is_done ? LK_BUSY : LK_UNKNOWN);
}

/* An owner that does not wait leaves nothing in the line. */
static void acquire_refused(struct etcd_sent *sent, const char *blocker) {
    const struct etcd_keys keys = etcd_keys_of(&sent->line);
    struct lk_command *command = sent->command;

    if (command->patience_ms == 0) {
        etcd_sent_ask(sent, "/v3/kv/txn", etcd_line_leave(&sent->line), true, on_withdrawn);
        return;
    }
    etcd_owner_watch(sent->owner, blocker != NULL ? blocker : keys.first,
                     blocker != NULL ? NULL : keys.end, sent->ask.revision + 1);
    command->is_queued = true;
    acquire_end(sent, LK_BUSY);
}

static void acquire_judge(struct etcd_sent *sent, const json_t *found) {
    struct etcd_place place = etcd_line_place(found, sent->owner->revision, sent->command);

    sent_confirm(sent, sent->ask.raft_term);
    if (place.is_held)
        acquire_granted(sent);
    else
        acquire_refused(sent, place.blocker);
}

/* The server may have carried it out. */
static void acquire_puzzled(struct etcd_sent *sent) {
    sent->owner->is_doubtful = true;
    etcd_sent_end_puzzled(sent);
}

static void lose_lease(struct etcd_owner *owner) {
    etcd_owner_unwatch(owner);
    owner->lease = (struct etcd_lease){0};
    owner->revision = 0;
}

/* It did not enter the line. Either its key is there from an unanswered attempt, or it only tries
 * and others are in the line. Its key on an ended lease will go soon. */
static void acquire_not_entered(struct etcd_sent *sent) {
    struct etcd_owner *owner = sent->owner;
    const json_t *own = json_array_get(etcd_line_found(sent->ask.reply, 0), 0);

    if (own != NULL && json_integer_of(own, "lease") == owner->lease.id) {
        owner->revision = json_integer_of(own, "create_revision");
        acquire_step(sent);
    } else {
        acquire_end(sent, own != NULL || sent->command->patience_ms > 0 ? LK_UNKNOWN : LK_BUSY);
    }
}

/* The line that it read contains its own key, unless the line is longer than that. */
static void acquire_entered(struct etcd_sent *sent, bool has_line) {
    const json_t *line = etcd_line_found(sent->ask.reply, 1);

    sent->owner->revision = sent->ask.revision;
    if (has_line && json_array_size(line) == 0)
        acquire_puzzled(sent);
    else
        acquire_judge(sent, line);
}

static void on_entered(struct etcd_ask *ask) {
    struct etcd_sent *sent = ask->data;
    bool has_line = etcd_line_is_read(sent->command);

    sent->owner->is_doubtful |= ask->was_unknown;
    if (ask->status == LK_REFUSED && ask->code == ETCD_NOT_FOUND) {
        lose_lease(sent->owner);
        acquire_step(sent);
        return;
    }
    if (ask->status != LK_OK) {
        acquire_end(sent, ask->status);
        return;
    }
    switch (etcd_line_done(ask->reply, has_line ? "pr" : "p", "r")) {
    case ETCD_DONE_UNKNOWN:
        acquire_puzzled(sent);
        break;
    case ETCD_DONE_SUCCESS:
        acquire_entered(sent, has_line);
        break;
    case ETCD_DONE_FAILURE:
        acquire_not_entered(sent);
        break;
    }
}

static void on_looked(struct etcd_ask *ask) {
    struct etcd_sent *sent = ask->data;

    if (ask->status != LK_OK) {
        acquire_end(sent, ask->status);
        return;
    }
    switch (etcd_line_done(ask->reply, "r", "")) {
    case ETCD_DONE_UNKNOWN:
        acquire_puzzled(sent);
        break;
    case ETCD_DONE_SUCCESS:
        acquire_judge(sent, etcd_line_found(ask->reply, 0));
        break;
    case ETCD_DONE_FAILURE:
        sent->owner->revision = 0;
        acquire_step(sent);
        break;
    }
}

static void on_kept_to_acquire(struct etcd_ask *ask) {
    struct etcd_sent *sent = ask->data;
    enum lk_status status = ask->status == LK_OK ? sent_kept(sent) : ask->status;

    if (status == LK_LOST)
        lose_lease(sent->owner);
    if (status == LK_OK || status == LK_LOST)
        acquire_step(sent);
    else
        acquire_end(sent, status);
}

static void on_granted(struct etcd_ask *ask) {
    struct etcd_sent *sent = ask->data;
    enum lk_status status = sent_granted(sent, &sent->owner->lease);

    if (status == LK_OK)
        acquire_step(sent);
    else
        acquire_end(sent, status);
}

/* The next question. */
static void acquire_step(struct etcd_sent *sent) {
    struct etcd_owner *owner = sent->owner;

    if (owner->is_gone || sent->rounds++ == ROUNDS_MOST) {
        acquire_end(sent, LK_UNKNOWN);
        return;
    }
    if (owner->lease.id == 0 && !lease_begin(sent, &owner->lease)) {
        sent_end_later(sent, LK_UNSUPPORTED);
        return;
    }
    if (!owner->lease.is_granted)
        sent_grant(sent, &owner->lease, on_granted);
    else if (!sent->is_kept && clock_ns(CLOCK_BOOTTIME) - owner->lease.confirmed_ns >
                                   owner->lease.ttl_s * NS_PER_S / OLD_PART)
        sent_keep(sent, on_kept_to_acquire);
    else if (owner->revision == 0)
        etcd_sent_ask(sent, "/v3/kv/txn", etcd_line_enter(&sent->line, owner->lease.id), true,
                      on_entered);
    else
        etcd_sent_ask(sent, "/v3/kv/txn", etcd_line_look(&sent->line, owner->revision), true,
                      on_looked);
}

/* ---- RENEW and RELEASE.
 *
 * RENEW: keep the lease alive, then check that the key is still the granted one. Answers to
 * keepalives prove too little: etcd has answered them for revoked leases. A deposed leader that
 * does not know it yet answers them too, while its successor counts the TTL itself. So a renewal
 * counts only if a linearizable read after it finds the key, in the same term of raft.
 *
 * A lease cannot get a longer TTL. For that the key is put on another lease. It keeps its revision,
 * and with it its place and its fencing token.
 *
 * RELEASE: delete the key. If an earlier request may still take effect, also revoke the lease: then
 * it cannot. */

static void renew_lost(struct etcd_sent *sent) {
    etcd_owner_unwatch(sent->owner);
    sent->owner->is_held = false;
    etcd_sent_end(sent, LK_LOST);
}

static void renew_confirmed(struct etcd_sent *sent) {
    struct lk_command *command = sent->command;

    command->granted_ms = left_ms_of(sent, &sent->owner->lease);
    etcd_sent_end(sent, command->granted_ms > 0 ? LK_OK : LK_UNKNOWN);
}

/* An unanswered move to another lease may have taken place. */
static bool is_on_lease(struct etcd_owner *owner, int64_t id) {
    if (id == owner->lease.id)
        return true;
    if (id == owner->next.id) {
        owner->lease = owner->next;
        owner->next = (struct etcd_lease){0};
    }
    return false;
}

/* From its first renewal on, a watch tells a holder when its key goes. Short holds need none. */
static void etcd_command_on_seen(struct etcd_ask *ask) {
    struct etcd_sent *sent = ask->data;
    struct etcd_owner *owner = sent->owner;
    const json_t *kv = json_array_get(json_object_get(ask->reply, "kvs"), 0);
    struct etcd_keys keys;

    if (ask->status != LK_OK) {
        etcd_sent_end(sent, ask->status);
    } else if (!etcd_line_is_whole(ask->reply)) {
        etcd_sent_end_puzzled(sent);
    } else if (owner->is_gone || json_integer_of(kv, "create_revision") != owner->revision) {
        renew_lost(sent);
    } else if (ask->raft_term != sent->kept_term ||
               !is_on_lease(owner, json_integer_of(kv, "lease"))) {
        etcd_sent_end(sent, LK_UNKNOWN);
    } else {
        sent_confirm(sent, ask->raft_term);
        keys = etcd_keys_of(&sent->line);
        etcd_owner_watch(owner, keys.own, NULL, ask->revision + 1);
        renew_confirmed(sent);
    }
}

static void on_kept_to_renew(struct etcd_ask *ask) {
    struct etcd_sent *sent = ask->data;
    enum lk_status status = ask->status == LK_OK ? sent_kept(sent) : ask->status;

    if (ask->status == LK_OK && (sent->owner->is_gone || status == LK_LOST))
        renew_lost(sent);
    else if (status != LK_OK)
        etcd_sent_end(sent, status);
    else
        etcd_sent_ask(sent, "/v3/kv/range", etcd_line_own(&sent->line), true, etcd_command_on_seen);
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
        renew_lost(sent);
    } else if (done == ETCD_DONE_UNKNOWN) {
        etcd_sent_end_puzzled(sent);
    } else {
        owner->lease = owner->next;
        owner->next = (struct etcd_lease){0};
        renew_confirmed(sent);
    }
}

static void renew_move(struct etcd_sent *sent) {
    const struct etcd_owner *owner = sent->owner;

    etcd_sent_ask(sent, "/v3/kv/txn", etcd_line_move(&sent->line, owner->revision, owner->next.id),
                  true, on_moved);
}

static void on_longer_granted(struct etcd_ask *ask) {
    struct etcd_sent *sent = ask->data;
    enum lk_status status = sent_granted(sent, &sent->owner->next);

    if (status == LK_OK && !sent->owner->is_gone)
        renew_move(sent);
    else
        etcd_sent_end(sent, status == LK_OK ? LK_LOST : status);
}

static void renew_extend(struct etcd_sent *sent) {
    struct etcd_owner *owner = sent->owner;
    uint32_t asked_s = (sent->command->ttl_ms + 999) / 1000;

    if (owner->next.is_granted && owner->next.asked_s >= asked_s)
        renew_move(sent);
    else if (owner->next.id == 0 && !lease_begin(sent, &owner->next))
        sent_end_later(sent, LK_UNSUPPORTED);
    else
        sent_grant(sent, &owner->next, on_longer_granted);
}

static void etcd_renew(struct etcd_sent *sent) {
    struct etcd_owner *owner = sent->owner;

    if (!owner->is_held)
        sent_end_later(sent, LK_LOST);
    else if (sent->command->ttl_ms > owner->lease.ttl_s * 1000ULL)
        renew_extend(sent);
    else
        sent_keep(sent, on_kept_to_renew);
}

static void release_left(struct etcd_sent *sent) {
    if (!sent->owner->is_gone)
        etcd_owner_drop(sent->owner);
    etcd_sent_end(sent, sent->left);
}

static void on_revoked(struct etcd_ask *ask) {
    struct etcd_sent *sent = ask->data;

    if (ask->status == LK_OK || (ask->status == LK_REFUSED && ask->code == ETCD_NOT_FOUND))
        release_left(sent);
    else
        etcd_sent_end(sent, ask->status);
}

/* Whether the deleted key held the lock: it was granted, or had become the first. */
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
    } else if (etcd_line_done(ask->reply, "rrd", NULL) == ETCD_DONE_UNKNOWN) {
        etcd_sent_end_puzzled(sent);
    } else {
        sent->left = was_held(sent) ? LK_OK : LK_LOST;
        owner->is_held = false;
        if (owner->is_doubtful && owner->lease.id != 0)
            etcd_sent_ask(sent, "/v3/lease/revoke",
                          json_pack("{s:I}", "ID", (json_int_t)owner->lease.id), true, on_revoked);
        else
            release_left(sent);
    }
}

static void etcd_release(struct etcd_sent *sent) {
    etcd_owner_unwatch(sent->owner);
    etcd_sent_ask(sent, "/v3/kv/txn", etcd_line_leave(&sent->line), false, on_left);
}

void etcd_sent_start(struct etcd_sent *sent) {
    const struct lk_command *command = sent->command;
    struct etcd_owner *owner = etcd_owner_find(sent->etcd, command->owner);

    if (owner == NULL && command->verb == LK_ACQUIRE)
        owner = etcd_owner_new(sent->etcd, command->owner, command->name);
    if (owner == NULL) {
        sent_end_later(sent, command->verb == LK_ACQUIRE ? LK_NOMEM : LK_LOST);
        return;
    }
    etcd_owner_ref(owner);
    sent->owner = owner;
    if (command->verb == LK_ACQUIRE)
        acquire_step(sent);
    else if (command->verb == LK_RENEW)
        etcd_renew(sent);
    else
        etcd_release(sent);
}
