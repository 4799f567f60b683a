/* The kinds of lock, each as a table of operations. */
#include "lock.h"

#include "clock.h"
#include "fiber.h"
#include "file_lock.h"
#include "log.h"
#include "pg.h"
#include "process_lock.h"
#include "statement.h"
#include "text_copy.h"
#include "user_command.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define NAME_BYTES (UUID_TEXT + 24)

struct lock_ops {
    /* See lock_acquire(). Sets the grant, or leaves it NULL. */
    enum outcome (*acquire)(struct store_lock *lock);
    void (*release)(struct store_lock *lock);
    /* NULL: it is released after `hold_ms`. */
    void (*abandon)(struct store_lock *lock, int64_t hold_ms);
};

/* ---- Leases of lockkit, at a server */

#define NEED_MS          (SERVER_MS + 300)
#define SESSION_LEAST_MS INT64_C(100)
/* In a fair queue, the server tells the next waiter. A whole crowd waits there, so each polls
 * seldom. */
#define FAIR_POLL_MS 10000

/* For each kind of lease: its server, and how a sale asks for it. */
static const struct {
    enum lock_server server;
    bool is_fair;    /* each sale waits in the server's queue itself, not one per instance */
    bool hands_over; /* as often as the sale's options allow */
    bool ends;       /* no renewal; the row's fence refuses a write after its end */
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

static void lease_name(char name[NAME_BYTES], const struct product *product, int shard) {
    (void)snprintf(name, NAME_BYTES, "stock:%s:%d", product->id, shard);
}

/* ZooKeeper's leases last as long as their client's session, at least this long. */
static void lease_query(char query[LOCK_QUERY_BYTES], enum lock_kind kind,
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

static enum lk_status lease_client(struct lock_servers *servers, enum lock_kind kind,
                                   const struct sale_options *options, lk_client **client) {
    char query[LOCK_QUERY_BYTES];

    lease_query(query, kind, options);
    return lock_servers_client(servers, leases[kind].server, query, client);
}

/* Nothing was sold. The fault is ours (memory included), or else the lock's owner's or server's. */
static enum outcome lease_refuse(struct store_lock *lock, enum lk_status status) {
    assert(status != LK_OK);
    (void)why_set(lock->why, "lock (%s): %s", lock_kind_name(lock->kind), lk_status_text(status));
    if (status == LK_REFUSED && lock->kind == LOCK_REDIS_WAIT)
        (void)why_set(lock->why, "lock (%s): %s; it needs replicas: %s up --with replica=2",
                      lock_kind_name(lock->kind), lk_status_text(status), user_command(USER_STACK));
    return status == LK_UNSUPPORTED || status == LK_INVALID || status == LK_NOMEM ? OUTCOME_FAILED
                                                                                  : OUTCOME_BUSY;
}

/* An acquire that a fiber waits for; on its stack. */
struct acquiring {
    struct fiber_event done;
    enum lk_status status;
    lk_lease **lease;
    unsigned *attempts;
    int64_t *kept_ns;
};

static void lease_on_acquired(lk_request *request, enum lk_status status, lk_lease *lease,
                              void *data) {
    struct acquiring *acquiring = data;

    assert((status == LK_OK) == (lease != NULL));
    acquiring->status = status;
    *acquiring->attempts = lk_request_round_trips(request);
    *acquiring->kept_ns = lk_request_kept_ns(request);
    *acquiring->lease = lease;
    fiber_event_set(&acquiring->done);
}

static enum lk_status lease_await(lk_client *client, const char *name,
                                  const struct lk_lock_options *options, uint32_t wait_ms,
                                  lk_lease **lease, unsigned *attempts, int64_t *kept_ns) {
    struct acquiring acquiring = {
        .done = FIBER_EVENT_INIT, .lease = lease, .attempts = attempts, .kept_ns = kept_ns};
    lk_lock *lock;
    enum lk_status status = lk_lock_open(&lock, client, name, options);

    *lease = NULL;
    *attempts = 0;
    *kept_ns = -1;
    if (status == LK_OK)
        status = lk_acquire(lock, wait_ms, lease_on_acquired, &acquiring, NULL);
    if (status == LK_OK) {
        fiber_event_wait(&acquiring.done);
        status = acquiring.status;
    }
    lk_lock_close(lock); /* it lives as long as the lease */
    return status;
}

static enum outcome lease_acquire(struct store_lock *lock) {
    const struct sale_options *sale = lock->sale->options;
    const struct lk_lock_options options = {
        .size = sizeof options,
        .ttl_ms = (uint32_t)sale->ttl_ms,
        .poll_ms = leases[lock->kind].is_fair ? FAIR_POLL_MS : 0,
        .no_renew = leases[lock->kind].ends,
        .is_fair = leases[lock->kind].is_fair,
        .mode = lock->mode == MODE_SHARED ? LK_SHARED : LK_EXCLUSIVE,
        .handover = leases[lock->kind].hands_over ? (uint32_t)sale->handover : 0,
    };
    int64_t wait_ms = lock->deadline_ms - clock_now_ms();
    char name[NAME_BYTES];
    lk_client *client;
    lk_lease *lease = NULL;
    enum lk_status status = lease_client(lock->servers, lock->kind, sale, &client);

    lock->product->is_leased = true;
    lock->product->lease = lock->kind;
    lease_name(name, lock->product, lock->shard);
    if (status == LK_OK)
        status = lease_await(client, name, &options, wait_ms > 0 ? (uint32_t)wait_ms : LK_TRY,
                             &lease, &lock->attempts, &lock->kept_ns);
    lock->grant = lease;
    return status == LK_OK ? OUTCOME_OK : lease_refuse(lock, status);
}

static uint64_t lease_handed_over(const lk_client *client) {
    struct lk_counters counters = {.size = sizeof counters};

    lk_client_counters(client, &counters);
    return counters.handed_over;
}

/* A release that its sale may wait for. It outlives the sale if the sale does not. */
struct releasing {
    struct fiber_event done;
    bool is_awaited;
};

static void lease_on_released(enum lk_status status, void *data) {
    struct releasing *releasing = data;

    (void)status;
    if (releasing != NULL && releasing->is_awaited)
        fiber_event_set(&releasing->done);
    else
        free(releasing);
}

/* The customer does not wait for the server's confirmation. After a hand-over the sale lets the
 * next holder go first: lockkit tells the heir before it confirms this release, so the heir's first
 * statement is sent before this customer's reply. Without memory the sale does not wait. */
static void lease_release(struct store_lock *lock) {
    struct releasing *releasing = calloc(1, sizeof *releasing);
    lk_client *client;
    enum lk_status status = lease_client(lock->servers, lock->kind, lock->sale->options, &client);
    uint64_t before = status == LK_OK ? lease_handed_over(client) : 0;

    assert(status == LK_OK); /* this client has granted the lease */
    lk_release(lock->grant, lease_on_released, releasing);
    lock->is_handed_over = lease_handed_over(client) > before;
    if (!lock->is_handed_over || releasing == NULL)
        return;
    releasing->is_awaited = true;
    fiber_event_wait(&releasing->done);
    free(releasing);
}

static void lease_abandon(struct store_lock *lock, int64_t hold_ms) {
    lk_abandon(lock->grant, leases[lock->kind].ends ? 0 : (uint32_t)hold_ms);
}

static const struct lock_ops lease_ops = {lease_acquire, lease_release, lease_abandon};

/* ---- Advisory locks by statements over a pool, written the naive way: wrong, see
 * strategies/postgres/locks.c. Unprepared, because a transaction pooler may not know prepared
 * statements. */

/* Any free session of the pool runs `function`, which answers whether that session now holds the
 * lock, or has held it until now. A product id has only hexadecimal digits and hyphens, so it may
 * stand in the text. OK, BUSY, FAILED. */
static enum outcome advisory_ask(struct store_lock *lock, const char *function, bool *is_yes) {
    const int64_t usual_ms = statement_deadline_ms();
    struct pg_query query = {.deadline_ms = lock->due_ms < usual_ms ? lock->due_ms : usual_ms};
    enum pg_status status;
    char sql[160];

    (void)snprintf(sql, sizeof sql, "SELECT %s(hashtextextended('stock:%.36s:%d', 0))", function,
                   lock->product->id, lock->shard);
    query.sql = sql;
    status = pg_query_await(lock->servers->pooled, &query);
    *is_yes = status == PG_OK && *pg_text(&query, 0, 0) == 't';
    if (status != PG_OK)
        (void)why_set(lock->why, "lock: %s", query.message);
    pg_query_clear(&query);
    if (status == PG_OK)
        return OUTCOME_OK;
    return status == PG_REJECTED ? OUTCOME_FAILED : OUTCOME_BUSY;
}

static enum outcome advisory_acquire(struct store_lock *lock) {
    enum outcome outcome;
    bool is_taken;

    for (;;) {
        lock->attempts++;
        outcome = advisory_ask(lock, "pg_try_advisory_lock", &is_taken);
        if (outcome == OUTCOME_OK && is_taken)
            break;
        if (outcome == OUTCOME_OK)
            outcome = store_pause(lock->sale);
        if (outcome != OUTCOME_OK)
            return outcome;
    }
    lock->grant = lock->servers->pooled;
    return OUTCOME_OK;
}

/* The answer is ignored: it would come too late. */
static void advisory_release(struct store_lock *lock) {
    bool is_ours;

    (void)advisory_ask(lock, "pg_advisory_unlock", &is_ours);
}

/* Some session holds it until that session closes. */
static void advisory_abandon(struct store_lock *lock, int64_t hold_ms) {
    (void)lock;
    (void)hold_ms;
}

static const struct lock_ops advisory_ops = {advisory_acquire, advisory_release, advisory_abandon};

/* ---- On this machine's disk. No event tells when a lock is free, so a sale tries again and again.
 */

/* The log gets the system's message. */
static enum outcome file_refuse(struct store_lock *lock, int err) {
    static struct log_limit limit;
    const bool may_pass =
        err == UV_ENOSPC || err == -EDQUOT || err == UV_EMFILE || err == UV_ENFILE;
    unsigned left_out;

    if (log_limit_pass(&limit, clock_now_ms(), &left_out))
        log_warn("lock directory failed", "dir=%s left_out=%u why=%s", lock->servers->dir, left_out,
                 uv_err_name(err));
    (void)why_set(lock->why, "the directory for locks cannot be used");
    return may_pass ? OUTCOME_BUSY : OUTCOME_FAILED;
}

static enum outcome file_acquire(struct store_lock *lock) {
    const struct lock_servers *servers = lock->servers;
    const enum file_lock_way way = lock->kind == LOCK_MKDIR ? FILE_MKDIR : FILE_FLOCK;
    struct file_lock *file;
    char name[NAME_BYTES];
    int err;

    (void)snprintf(name, sizeof name, "%s-%d.%s", lock->product->id, lock->shard,
                   way == FILE_MKDIR ? "d" : "lock");
    while ((err = file_lock_try(servers->loop, servers->dir, way, name, &file)) == UV_EBUSY) {
        enum outcome outcome = store_pause(lock->sale);

        if (outcome != OUTCOME_OK)
            return outcome;
    }
    lock->grant = file;
    return err == 0 ? OUTCOME_OK : file_refuse(lock, err);
}

static void file_release(struct store_lock *lock) {
    file_lock_release(lock->servers->loop, lock->grant);
}

/* Nothing will ever free it. */
static void file_leave(struct store_lock *lock, int64_t hold_ms) {
    (void)hold_ms;
    log_warn("lock left for ever", "dir=%s product=%s", lock->servers->dir, lock->product->id);
    file_lock_leave(lock->grant);
}

static const struct lock_ops mkdir_ops = {file_acquire, file_release, file_leave};
static const struct lock_ops flock_ops = {file_acquire, file_release, NULL};

/* ---- In this process
 *
 * A stamp is the number of times that the product's stamped locks have been won. It counts all rows
 * together, so an event at another row makes a stamp out of date, too. */

static void process_name(char name[NAME_BYTES], const struct product *product, enum lock_kind kind,
                         int shard) {
    (void)snprintf(name, NAME_BYTES, "%d:%s:%d", (int)kind, product->id, shard);
}

uint64_t lock_stamp(const struct product *product, int shard) {
    char name[NAME_BYTES];

    process_name(name, product, LOCK_STAMPED, shard);
    return process_lock_is_free(name) ? product->stamped + 1 : 0;
}

static enum process_lock_mode process_mode(const struct store_lock *lock) {
    if (lock->kind == LOCK_SPIN)
        return PROCESS_LOCK_SPIN;
    return lock->mode == MODE_UNCHANGED ? PROCESS_LOCK_AT_ONCE
           : lock->mode == MODE_SHARED  ? PROCESS_LOCK_SHARED
                                        : PROCESS_LOCK_EXCLUSIVE;
}

static enum outcome process_acquire(struct store_lock *lock) {
    struct process_lock *won;
    char name[NAME_BYTES];
    int err;

    if (lock->mode == MODE_UNCHANGED && lock->stamp != lock_stamp(lock->product, lock->shard))
        return OUTCOME_CONFLICT;
    process_name(name, lock->product, lock->kind, lock->shard);
    err = process_lock_acquire(lock->servers->loop, name, process_mode(lock), lock->deadline_ms,
                               &won, &lock->attempts);
    if (err != 0) {
        (void)why_set(lock->why, "lock: %s",
                      err == UV_ENOMEM ? "out of memory" : "another sale has it");
        return err == UV_ENOMEM ? OUTCOME_FAILED : OUTCOME_BUSY;
    }
    lock->product->stamped += lock->kind == LOCK_STAMPED;
    lock->grant = won;
    return OUTCOME_OK;
}

static void process_release(struct store_lock *lock) {
    process_lock_release(lock->grant);
}

static const struct lock_ops process_ops = {process_acquire, process_release, NULL};

/* ---- All of them */

static const struct lock_ops *const kinds[] = {
    [LOCK_LOCAL] = &process_ops,
    [LOCK_REDIS] = &lease_ops,
    [LOCK_KEY] = NULL, /* store_lock() never takes it */
    [LOCK_MKDIR] = &mkdir_ops,
    [LOCK_FLOCK] = &flock_ops,
    [LOCK_REENTRANT] = &process_ops,
    [LOCK_RWLOCK] = &process_ops,
    [LOCK_STAMPED] = &process_ops,
    [LOCK_SPIN] = &process_ops,
    [LOCK_TABLE] = &lease_ops,
    [LOCK_REDIS_FAIR] = &lease_ops,
    [LOCK_REDIS_WAIT] = &lease_ops,
    [LOCK_REDIS_RW] = &lease_ops,
    [LOCK_REDLOCK] = &lease_ops,
    [LOCK_ZOOKEEPER] = &lease_ops,
    [LOCK_ZOOKEEPER_UNFAIR] = &lease_ops,
    [LOCK_ETCD] = &lease_ops,
    [LOCK_PG_ADVISORY] = &lease_ops,
    [LOCK_PG_ADVISORY_RAW] = &advisory_ops,
};

#define WAIT_TIMES                                                                                 \
    "inventory_lock_wait_seconds", "Time until a lock was won or given up", METRIC_TIMES
#define HOLD_TIMES                                                                                 \
    "inventory_lock_hold_seconds", "Time from winning a lock to giving it back", METRIC_TIMES

static struct {
    struct metric wait, hold;
} times[] = {
#define X(kind, text, server)                                                                      \
    [LOCK_##kind] = {{WAIT_TIMES, .labels = "kind=\"" text "\""},                                  \
                     {HOLD_TIMES, .labels = "kind=\"" text "\""}},
    LOCK_KINDS(X)
#undef X
};

void lock_note_wait(enum lock_kind kind, int64_t wait_ns) {
    metric_time(&times[kind].wait, wait_ns);
}

void lock_note_hold(enum lock_kind kind, int64_t hold_ns) {
    metric_time(&times[kind].hold, hold_ns);
}

enum outcome lock_acquire(struct store_lock *lock) {
    int64_t begun_ns = clock_now_ns();
    enum outcome outcome;

    assert(kinds[lock->kind] != NULL && lock->grant == NULL);
    lock->kept_ns = -1;
    outcome = kinds[lock->kind]->acquire(lock);
    assert((outcome == OUTCOME_OK) == (lock->grant != NULL));
    if (outcome != OUTCOME_BUSY)
        lock->kept_ns = -1;
    lock->acquired_ns = clock_now_ns();
    lock->wait_ns = lock->acquired_ns - begun_ns;
    lock_note_wait(lock->kind, lock->wait_ns);
    return outcome;
}

static bool is_lease(const struct store_lock *lock) {
    return lock->grant != NULL && kinds[lock->kind] == &lease_ops;
}

/* A lease must last until the server would give the write up, even if this instance or the lock
 * server dies right after the sending. A short lease cannot last so long: then a third of it is
 * enough, because renewal begins when two thirds are left. */
enum outcome lock_check(const struct store_lock *lock) {
    const int64_t third_ms = lock->sale->options->ttl_ms / 3;
    const int64_t need_ms = third_ms < NEED_MS ? third_ms : NEED_MS;

    if (!is_lease(lock) || lk_lease_check(lock->grant, (uint32_t)need_ms) == LK_OK)
        return OUTCOME_OK;
    (void)why_set(lock->why, "the lease ended, or was about to, before the write");
    return OUTCOME_BUSY;
}

void lock_release(struct store_lock *lock) {
    assert(lock->grant != NULL);
    kinds[lock->kind]->release(lock);
    lock->grant = NULL;
}

/* On the heap, because the sale ends first. */
struct held_on {
    struct store_lock lock; /* without product, sale and why */
    int64_t hold_ms;
};

static void hold_on(void *arg) {
    struct held_on *held = arg;

    fiber_sleep(held->lock.servers->loop, (uint64_t)held->hold_ms);
    lock_release(&held->lock);
    free(held);
}

/* Without memory the lock is held for ever: nothing can tell when it may be released. */
static void begin_to_hold_on(const struct store_lock *lock, int64_t hold_ms) {
    struct held_on *held = malloc(sizeof *held);

    assert(!is_lease(lock)); /* lease_release() needs the sale */
    if (held == NULL)
        return;
    *held = (struct held_on){*lock, hold_ms};
    held->lock.product = NULL;
    held->lock.sale = NULL;
    held->lock.why = NULL;
    if (fiber_start(hold_on, held) != 0)
        free(held);
}

void lock_abandon(struct store_lock *lock, int64_t hold_ms) {
    assert(lock->grant != NULL);
    if (kinds[lock->kind]->abandon != NULL)
        kinds[lock->kind]->abandon(lock, hold_ms);
    else
        begin_to_hold_on(lock, hold_ms);
    lock->grant = NULL;
}

int64_t lock_fence(const struct store_lock *lock) {
    return is_lease(lock) ? (int64_t)lk_lease_fence(lock->grant) : 0;
}

/* Tells the lease of the row's token: this row would refuse tokens that fell. */
void lock_saw_fence(const struct store_lock *lock, int64_t fence) {
    if (is_lease(lock))
        lk_lease_saw_fence(lock->grant, (uint64_t)fence);
}

/* An inspection that a fiber waits for; on its stack. */
struct inspecting {
    struct fiber_event done;
    char *label;
    size_t size;
};

static void lease_on_inspected(enum lk_status status, const struct lk_inspection *inspection,
                               void *data) {
    struct inspecting *inspecting = data;

    if (status == LK_OK && inspection->holder_count > 0)
        text_copy(inspecting->label, inspecting->size, inspection->holders[0].label);
    fiber_event_set(&inspecting->done);
}

static void lease_await_holder(lk_client *client, const char *name, char *label, size_t size) {
    struct inspecting inspecting = {.done = FIBER_EVENT_INIT, .label = label, .size = size};
    lk_lock *lock;

    label[0] = '\0';
    if (lk_lock_open(&lock, client, name, NULL) == LK_OK &&
        lk_inspect(lock, lease_on_inspected, &inspecting) == LK_OK)
        fiber_event_wait(&inspecting.done);
    lk_lock_close(lock);
}

void lock_holder(struct lock_servers *servers, const struct product *product,
                 char holder[INSTANCE_BYTES]) {
    char name[NAME_BYTES];
    lk_client *client;

    holder[0] = '\0';
    if (!product->is_leased ||
        lease_client(servers, product->lease, &product->spec.options, &client) != LK_OK)
        return;
    lease_name(name, product, 0);
    lease_await_holder(client, name, holder, INSTANCE_BYTES);
}
