/* The owners of a client by their tokens, and the leases that are to spare. */
#include "etcd_owner.h"

#include "clock.h"

#include <assert.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define NS_PER_S 1000000000LL
#define GRACE_NS NS_PER_S /* after its end, until an owner is forgotten */
#define OLD_PART 10       /* of the TTL */

static int etcd_owner_compare(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void etcd_owners_init(struct etcd_owners *owners, struct etcd_servers *servers,
                      const struct lk_backend_config *config) {
    owners->servers = servers;
    owners->config = config;
    TAILQ_INIT(&owners->by_use);
}

struct etcd_owner *etcd_owner_find(struct etcd_owners *owners, const char *token) {
    struct etcd_owner **found = tfind(&token, &owners->by_token, etcd_owner_compare);

    return found != NULL ? *found : NULL;
}

void etcd_owner_ref(struct etcd_owners *owners, struct etcd_owner *owner) {
    assert(!owner->is_gone); /* or it stands in no list */
    owner->refs++;
    TAILQ_REMOVE(&owners->by_use, owner, entry);
    TAILQ_INSERT_TAIL(&owners->by_use, owner, entry);
}

void etcd_owner_unref(struct etcd_owner *owner) {
    assert(owner->refs > 0);
    if (--owner->refs == 0 && owner->is_gone)
        free(owner);
}

void etcd_owner_unwatch(struct etcd_owner *owner) {
    if (owner->watch != NULL)
        etcd_watch_stop(owner->watch);
    owner->watch = NULL;
}

static void on_watch_over(void *data, bool is_deleted) {
    struct etcd_owner *owner = data;
    const struct lk_backend_config *config = owner->owners->config;

    owner->watch = NULL;
    if (!is_deleted)
        return; /* the next poll, or renewal, watches again */
    if (owner->is_held)
        config->push(config->data, LK_PUSH_LOST, owner->name, owner->token,
                     "its key was deleted, or its lease has ended");
    else
        config->push(config->data, LK_PUSH_FREE, owner->name, owner->token, NULL);
}

void etcd_owner_watch(struct etcd_owner *owner, const char *key, const char *range_end,
                      int64_t revision) {
    if (owner->watch != NULL && etcd_watch_is_of(owner->watch, key))
        return;
    etcd_owner_unwatch(owner);
    owner->watch =
        etcd_watch_start(owner->owners->servers, key, range_end, revision, on_watch_over, owner);
}

static void etcd_owner_forget(struct etcd_owners *owners, struct etcd_owner *owner) {
    etcd_owner_unwatch(owner);
    tdelete(owner, &owners->by_token, etcd_owner_compare);
    TAILQ_REMOVE(&owners->by_use, owner, entry);
    owner->is_gone = true;
    owner->refs++;
    etcd_owner_unref(owner);
}

void etcd_owner_drop(struct etcd_owners *owners, struct etcd_owner *owner) {
    assert(!owner->is_gone);
    if (owner->lease.is_granted && !owner->is_doubtful && owners->spare_count < SPARE_MOST)
        owners->spare[owners->spare_count++] = owner->lease;
    etcd_owner_forget(owners, owner);
}

void etcd_owners_clear(struct etcd_owners *owners) {
    struct etcd_owner *owner;

    while ((owner = TAILQ_FIRST(&owners->by_use)) != NULL) {
        assert(owner->refs == 0);
        etcd_owner_forget(owners, owner);
    }
}

/* The core lets go of an owner whose lease is over without a word. Two for each new one: so they
 * cannot become many, however long the leases of some are. */
static void forget_old(struct etcd_owners *owners) {
    int64_t now_ns = clock_ns(CLOCK_BOOTTIME);
    struct etcd_owner *owner;

    for (int i = 0; i < 2 && (owner = TAILQ_FIRST(&owners->by_use)); i++) {
        int64_t end_ns = etcd_lease_end_ns(&owner->lease) + GRACE_NS;

        if (owner->refs == 0 && end_ns < now_ns) {
            etcd_owner_forget(owners, owner);
        } else {
            TAILQ_REMOVE(&owners->by_use, owner, entry);
            TAILQ_INSERT_TAIL(&owners->by_use, owner, entry);
        }
    }
}

struct etcd_owner *etcd_owner_new(struct etcd_owners *owners, const char *token, const char *name) {
    size_t token_size = strlen(token) + 1, name_size = strlen(name) + 1;
    struct etcd_owner *owner = calloc(1, sizeof *owner + token_size + name_size);

    assert(etcd_owner_find(owners, token) == NULL);
    if (owner == NULL)
        return NULL;
    memcpy(owner->text, token, token_size);
    memcpy(owner->text + token_size, name, name_size);
    owner->token = owner->text;
    owner->name = owner->text + token_size;
    owner->owners = owners;
    if (tsearch(owner, &owners->by_token, etcd_owner_compare) == NULL) {
        free(owner);
        return NULL;
    }
    forget_old(owners);
    TAILQ_INSERT_TAIL(&owners->by_use, owner, entry);
    return owner;
}

int64_t etcd_lease_end_ns(const struct etcd_lease *lease) {
    return lease->confirmed_ns + lease->ttl_s * NS_PER_S;
}

bool etcd_lease_is_old(const struct etcd_lease *lease) {
    return clock_ns(CLOCK_BOOTTIME) - lease->confirmed_ns > lease->ttl_s * NS_PER_S / OLD_PART;
}

/* The last one that was spared is the youngest. Those that are over are of no use to anybody. */
static bool take_spare(struct etcd_owners *owners, struct etcd_lease *lease, uint32_t asked_s) {
    int64_t now_ns = clock_ns(CLOCK_BOOTTIME);

    for (unsigned i = owners->spare_count; i-- > 0;) {
        bool is_over = etcd_lease_end_ns(&owners->spare[i]) <= now_ns;

        if (!is_over && owners->spare[i].asked_s != asked_s)
            continue;
        *lease = owners->spare[i];
        owners->spare_count--;
        memmove(&owners->spare[i], &owners->spare[i + 1],
                (owners->spare_count - i) * sizeof *owners->spare);
        if (!is_over)
            return true;
    }
    return false;
}

bool etcd_lease_begin(struct etcd_owners *owners, struct etcd_lease *lease, uint32_t ttl_ms) {
    uint32_t asked_s = (ttl_ms + 999) / 1000;

    if (take_spare(owners, lease, asked_s))
        return true;
    *lease = (struct etcd_lease){.asked_s = asked_s, .ttl_s = asked_s};
    if (getrandom(&lease->id, sizeof lease->id, 0) != sizeof lease->id)
        return false;
    lease->id = (lease->id & INT64_MAX) | 1;
    return true;
}
