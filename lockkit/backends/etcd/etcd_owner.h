/* Owners, each with its place in the line of a name, and the etcd leases that they stand on.
 *
 * Each acquisition has a lease of its own, so that it ends by its own TTL, whatever else the client
 * holds, and so that revoking it undoes what may still arrive late of it: a put that names a
 * revoked lease is refused. A lease that was given back without any doubt is spared for the next
 * acquisition of the same TTL, which saves both of them a write. */
#ifndef LOCKKIT_ETCD_OWNER_H
#define LOCKKIT_ETCD_OWNER_H

#include "etcd_servers.h"

#define SPARE_MOST 64

struct etcd_lease {
    int64_t id; /* 0: none. We choose it, so that a lease can be revoked whose grant was not
                   answered. */
    bool is_granted;
    uint32_t asked_s, ttl_s; /* what was asked for, and what was granted */
    int64_t confirmed_ns;    /* no later than etcd began to count the TTL; on CLOCK_BOOTTIME */
};

struct etcd_owners;

struct etcd_owner {
    const char *token; /* the key of the tree; first, so that a search needs no whole owner */
    const char *name;
    struct etcd_owners *owners;
    struct etcd_lease lease;
    struct etcd_lease next; /* a longer one that is to replace it */
    int64_t revision;       /* of the creation of its key: its place; 0: none that is known of */
    bool is_held;           /* granted, as far as is known */
    bool is_doubtful;       /* of its lease something may still take effect */
    bool is_gone;           /* only commands under way know it yet */
    unsigned refs;          /* these */
    struct etcd_watch *watch;
    TAILQ_ENTRY(etcd_owner) entry; /* by last use */
    char text[];
};

struct etcd_owners {
    struct etcd_servers *servers;
    const struct lk_backend_config *config; /* whom to tell */
    void *by_token;                         /* a tree */
    TAILQ_HEAD(, etcd_owner) by_use;
    struct etcd_lease spare[SPARE_MOST];
    unsigned spare_count;
};

void etcd_owners_init(struct etcd_owners *owners, struct etcd_servers *servers,
                      const struct lk_backend_config *config);
/* All of them go, with none in use. */
void etcd_owners_clear(struct etcd_owners *owners);

/* NULL when it is not known. */
struct etcd_owner *etcd_owner_find(struct etcd_owners *owners, const char *token);
/* NULL without memory. Those that nobody has asked for until after their lease go meanwhile. */
struct etcd_owner *etcd_owner_new(struct etcd_owners *owners, const char *token, const char *name);
/* It is in use, or not any more. */
void etcd_owner_ref(struct etcd_owners *owners, struct etcd_owner *owner);
void etcd_owner_unref(struct etcd_owner *owner);
/* It neither waits nor holds any more. Its lease is spared unless it is doubtful. */
void etcd_owner_drop(struct etcd_owners *owners, struct etcd_owner *owner);
/* Have the client told when a key goes that it waits for, or, once it holds, its own: unless it is
 * the one that is watched already. As etcd_watch_start(), of which a failure does no harm. */
void etcd_owner_watch(struct etcd_owner *owner, const char *key, const char *range_end,
                      int64_t revision);
void etcd_owner_unwatch(struct etcd_owner *owner);

/* A lease to begin with: a spare one, or one that is still to be granted. False when the system
 * gives no random numbers. */
bool etcd_lease_begin(struct etcd_owners *owners, struct etcd_lease *lease, uint32_t ttl_ms);
int64_t etcd_lease_end_ns(const struct etcd_lease *lease);
/* So old that it is to be kept alive before one builds on it. */
bool etcd_lease_is_old(const struct etcd_lease *lease);

#endif
