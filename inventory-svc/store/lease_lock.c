/* Leases of lockkit, at a server. */
#include "store_live_internal.h"

#include "clock.h"
#include "lock_adapter.h"
#include "statement.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#define NEED_MS          (SERVER_MS + 300)
#define SESSION_LEAST_MS INT64_C(100)
/* The server tells the next one in a fair line. All of a crowd wait there, so each asks seldom. */
#define FAIR_POLL_MS    10000
#define LOCK_NAME_BYTES (UUID_TEXT + 24)

static void name_lock(char name[LOCK_NAME_BYTES], const struct product *product, int shard) {
    (void)snprintf(name, LOCK_NAME_BYTES, "stock:%s:%d", product->id, shard);
}

/* Nothing was sold: at fault are we or our memory, or else the lock's owner or server. */
static enum outcome not_acquired(struct live_sale *live, enum lk_status status) {
    assert(status != LK_OK);
    (void)snprintf(live->sale.message, MESSAGE_BYTES, "lock (%s): %s%s",
                   lock_kind_name(live->lock.kind), lk_status_text(status),
                   status == LK_REFUSED && live->lock.kind == LOCK_REDIS_WAIT
                       ? "; it wants replicas, which scripts/stack up --with replica=2 starts"
                       : "");
    return status == LK_UNSUPPORTED || status == LK_INVALID || status == LK_NOMEM ? OUTCOME_FAILED
                                                                                  : OUTCOME_BUSY;
}

/* Where the leases of a kind are, and how it asks for them. */
static const struct {
    enum lock_server server;
    bool is_fair; /* each who waits stands in the server's line itself, not one for its instance */
    bool hands_over; /* as often as the sale's options say */
    bool ends;       /* it is not renewed, and the row's fence refuses a write after its end */
} leases[] = {
    [LOCK_REDIS] = {.server = LOCK_AT_REDIS, .hands_over = true},
    [LOCK_REDIS_FAIR] = {.server = LOCK_AT_REDIS, .is_fair = true},
    [LOCK_REDIS_WAIT] = {.server = LOCK_AT_REDIS},
    [LOCK_REDIS_RW] = {.server = LOCK_AT_REDIS},
    [LOCK_REDLOCK] = {.server = LOCK_AT_REDLOCK},
    [LOCK_ZOOKEEPER] = {.server = LOCK_AT_ZOOKEEPER},
    [LOCK_ZOOKEEPER_UNFAIR] = {.server = LOCK_AT_ZOOKEEPER},
    [LOCK_ETCD] = {.server = LOCK_AT_ETCD},
    [LOCK_PG_ADVISORY] = {.server = LOCK_AT_POSTGRES, .hands_over = true},
    [LOCK_TABLE] = {.server = LOCK_AT_POSTGRES, .ends = true},
};

/* ZooKeeper's leases last as long as the session of their client, which is no shorter than this. */
static void write_query(char query[LOCK_QUERY_BYTES], enum lock_kind kind,
                        const struct sale_options *options) {
    query[0] = '\0';
    if (kind == LOCK_REDIS_WAIT)
        (void)snprintf(query, LOCK_QUERY_BYTES, "wait=%d", options->replicas);
    else if (leases[kind].server == LOCK_AT_POSTGRES)
        (void)snprintf(query, LOCK_QUERY_BYTES, "mode=%s",
                       kind == LOCK_TABLE ? "table" : "session");
    else if (leases[kind].server == LOCK_AT_ZOOKEEPER)
        (void)snprintf(query, LOCK_QUERY_BYTES, "fair=%d&session=%" PRId64, kind == LOCK_ZOOKEEPER,
                       options->ttl_ms > SESSION_LEAST_MS ? options->ttl_ms : SESSION_LEAST_MS);
}

static enum lk_status open_client(struct store *store, enum lock_kind kind,
                                  const struct sale_options *options, lk_client **client) {
    char query[LOCK_QUERY_BYTES];

    write_query(query, kind, options);
    return lock_servers_client(&store->locks, leases[kind].server, query, client);
}

static enum outcome acquire(struct live_sale *live, int shard, unsigned *attempts) {
    const struct sale_options *sale = live->sale.options;
    const struct lk_lock_options options = {
        .size = sizeof options,
        .ttl_ms = (uint32_t)sale->ttl_ms,
        .poll_ms = leases[live->lock.kind].is_fair ? FAIR_POLL_MS : 0,
        .no_renew = leases[live->lock.kind].ends,
        .is_fair = leases[live->lock.kind].is_fair,
        .mode = live->lock.is_shared ? LK_SHARED : LK_EXCLUSIVE,
        .handover = leases[live->lock.kind].hands_over ? (uint32_t)sale->handover : 0,
    };
    int64_t wait_ms = live->lock_deadline_ms - clock_now_ms();
    char name[LOCK_NAME_BYTES];
    lk_client *client;
    lk_lease *lease = NULL;
    int64_t kept_ns = -1;
    enum lk_status status = open_client(live->store, live->lock.kind, sale, &client);
    enum outcome outcome;

    live->product->is_leased = true;
    live->product->lease = live->lock.kind;
    name_lock(name, live->product, shard);
    if (status == LK_OK)
        status =
            lock_acquire_await(client, name, &options, wait_ms > 0 ? (uint32_t)wait_ms : LK_TRY,
                               &lease, attempts, &kept_ns);
    live->lock.grant = lease;
    outcome = status == LK_OK ? OUTCOME_OK : not_acquired(live, status);
    live->cost.kept_ns = outcome == OUTCOME_BUSY ? kept_ns : -1;
    return outcome;
}

/* So much that the server gives the write up before the lease ends, even when this instance or
 * the lock server dies right after the sending. A short lease cannot have that: a third of it then,
 * since renewal begins when two thirds are left. */
static int64_t need_ms(const struct live_sale *live) {
    return earlier(NEED_MS, live->sale.options->ttl_ms / 3);
}

static enum outcome check(struct live_sale *live) {
    if (lk_lease_check(live->lock.grant, (uint32_t)need_ms(live)) == LK_OK)
        return OUTCOME_OK;
    (void)snprintf(live->sale.message, MESSAGE_BYTES,
                   "the lease ended, or was about to, before the write");
    return OUTCOME_BUSY;
}

static uint64_t handed_over(const lk_client *client) {
    struct lk_counters counters = {.size = sizeof counters};

    lk_client_counters(client, &counters);
    return counters.handed_over;
}

/* The customer need not wait for the confirmation. */
static void release(struct live_sale *live) {
    lk_client *client;
    enum lk_status status = open_client(live->store, live->lock.kind, live->sale.options, &client);
    uint64_t before = status == LK_OK ? handed_over(client) : 0;

    assert(status == LK_OK); /* it has granted the lease */
    lk_release(live->lock.grant, NULL, NULL);
    live->lock.is_handed_over = handed_over(client) > before;
}

static void abandon(struct live_sale *live, int64_t hold_ms) {
    lk_abandon(live->lock.grant, leases[live->lock.kind].ends ? 0 : (uint32_t)hold_ms);
}

static int64_t fence(const struct store_lock *lock) {
    return (int64_t)lk_lease_fence(lock->grant);
}

/* Tokens that fell would be refused by this row from now on. */
static void saw_fence(const struct store_lock *lock, int64_t seen) {
    lk_lease_saw_fence(lock->grant, (uint64_t)seen);
}

const struct lock_ops lease_lock_ops = {.acquire = acquire,
                                        .check = check,
                                        .release = release,
                                        .abandon = abandon,
                                        .fence = fence,
                                        .saw_fence = saw_fence};

void store_live_holder(struct store *store, const struct product *product,
                       char holder[INSTANCE_BYTES]) {
    char name[LOCK_NAME_BYTES];
    lk_client *client;

    holder[0] = '\0';
    if (!product->is_leased ||
        open_client(store, product->lease, &product->spec.options, &client) != LK_OK)
        return;
    name_lock(name, product, 0);
    lock_holder_await(client, name, holder, INSTANCE_BYTES);
}
