/* lockkit: distributed locks for C programs on libuv. Programs without a loop use a blocking
 * facade.
 *
 * Four kinds of object:
 *   lk_client    a backend, opened by URL (README.md lists the URLs and their guarantees)
 *   lk_lock      a name in it, and a policy; cheap, but keep it while you use the name often
 *   lk_lease     one acquisition: owner token, fencing token, validity. It owns the lock
 *   lk_request   one acquire under way, which you can cancel
 *
 * Everything runs on the caller's loop and thread. Only the blocking facade starts a thread.
 *
 * What lockkit promises (README.md has the reasons, and the known failure behind each promise):
 *   1. The lease owns the lock, not a thread. Each acquisition has a random owner token of 160
 *      bits. Only a lease that was handed over (`handover`) keeps the token of the first holder.
 *   2. Validity counts from before the request was sent, on a clock that goes on during suspend,
 *      minus drift (1 % of the TTL + 2 ms). It is checked again after the last reply.
 *   3. A lease goes HELD -> SUSPECT -> LOST by a local timer, whether the network works or not:
 *      its holder is told before anyone else can own the lock, unless the server loses the lock
 *      or frees it before its TTL.
 *   4. A fencing token is minted in the same atomic step as the grant, only for a new grant, in
 *      storage that outlives the lock.
 *   5. A missing reply is UNKNOWN, never "no". The client keeps the owner token until the server
 *      confirms, and gives back a possible grant, with a deadline of its own.
 *   6. Renewal extends only a lock that is still owned; it never re-creates one. Release cancels
 *      renewal first.
 *   7. A waiter waits for an event, if the backend can tell one (LK_CAP_EVENTS), and also polls, at
 *      bounded, jittered intervals.
 *
 * What lockkit does not promise: that a paused holder learns in time that it lost the lock. A lease
 * that was valid when you looked may have ended when your write arrives. Pass the fencing token to
 * the resource, and let the resource refuse an older one.
 *
 * Callbacks: when a function that starts something returns LK_OK, its callback runs exactly once,
 * later, on the loop, never inside the call. When it returns any other value, nothing started and
 * the callback never runs. Strings are copied. Durations are milliseconds. Not thread-safe: one
 * client, one loop, one thread.
 *
 * fork(): clients, and all that belongs to them, stay with the parent, which holds its leases as
 * before. In the child, calls on them that return a status return LK_INVALID at once, a lease is
 * LK_LOST_STATE, and other calls do nothing: no callback runs, and memory is not freed. Do not run
 * the parent's loop there. The child may open clients of its own. A lock of `file:` with
 * kind=flock that the parent never gives back stays taken until the child, too, has ended or called
 * exec(). */
#ifndef LOCKKIT_H
#define LOCKKIT_H

#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this header. lk_version() returns that of the library, which may be newer. Before
 * 1.0.0 a minor version may break programs; from then on only a major version may. */
#define LK_VERSION       "0.1.0"
#define LK_VERSION_MAJOR 0
#define LK_VERSION_MINOR 1
#define LK_VERSION_PATCH 0
const char *lk_version(void);

#if defined(__GNUC__)
#define LK_CHECK __attribute__((warn_unused_result))
#else
#define LK_CHECK
#endif

/* Every outcome, and its text (lk_status_text). BUSY and TIMEOUT are outcomes, not errors. */
#define LK_STATUSES(X)                                                                             \
    X(OK, "done")                                                                                  \
    X(BUSY, "held by another owner")                                                               \
    X(TIMEOUT, "not acquired within the wait: others held it")                                     \
    X(CANCELED, "cancelled by the caller")                                                         \
    X(LOST, "the lease had ended before the release was confirmed")                                \
    X(UNKNOWN, "the server did not answer; this client may hold the lock until its TTL ends")      \
    X(UNAVAILABLE, "the server could not be reached, or could not serve; nothing was acquired")    \
    X(REFUSED, "the server refused; nothing was acquired")                                         \
    X(UNSUPPORTED, "this backend cannot do that")                                                  \
    X(INVALID, "an argument is out of range")                                                      \
    X(NOMEM, "out of memory")

enum lk_status {
#define X(name, text) LK_##name,
    LK_STATUSES(X)
#undef X
};
const char *lk_status_text(enum lk_status status);

/* The abilities of a backend, and how far to trust its fencing tokens (lk_client_caps). */
enum lk_caps {
    LK_CAP_TTL = 1 << 0,    /* the lock of a dead holder frees itself after its TTL */
    LK_CAP_FAIR = 1 << 1,   /* can serve all waiters in the order of their arrival (is_fair) */
    LK_CAP_EVENTS = 1 << 2, /* an event wakes a waiter, not only a poll */
    LK_CAP_FENCE_LINEAR = 1 << 3,  /* fencing tokens never repeat nor fall, under any failure */
    LK_CAP_FENCE_BEST = 1 << 4,    /* they may, if keys are lost and a clock is set back */
    LK_CAP_CROSS_PROCESS = 1 << 5, /* excludes holders in other processes */
    LK_CAP_SHARED = 1 << 6,        /* LK_SHARED */
    LK_CAP_PERMITS = 1 << 7,       /* `limit` and `permits`: a semaphore */
    LK_CAP_BREAK = 1 << 8,         /* lk_break() */
    LK_CAP_WAITERS = 1 << 9,       /* lk_inspect() lists the waiters, too */
    /* A lease lasts as long as the client's session with the server. The server may grant another
     * TTL than the client asked for. All leases of one session end together. */
    LK_CAP_SESSION = 1 << 10,
    LK_CAP_HANDOVER = 1 << 11 /* `handover` */
};

/* Runs for events that an operator should know: a server cannot be reached, refuses a command (in
 * its own words) or may lose locks, and when that is over. `message` is for people; `pairs` repeats
 * it as logfmt key=value pairs. Without a callback lockkit writes nothing anywhere. One callback
 * serves the whole process. Set it before you open the first client. It may run in any thread that
 * uses lockkit. */
enum lk_log_level { LK_LOG_DEBUG, LK_LOG_INFO, LK_LOG_WARN, LK_LOG_ERROR };
typedef void (*lk_log_cb)(enum lk_log_level level, const char *message, const char *pairs,
                          void *data);
void lk_set_log(lk_log_cb cb, void *data);

typedef struct lk_client lk_client;
typedef struct lk_lock lk_lock;
typedef struct lk_lease lk_lease;
typedef struct lk_request lk_request;

/* ---- Client */

/* Zero means the default in brackets. `size` must be sizeof(struct lk_client_options), so that the
 * struct can grow. */
struct lk_client_options {
    size_t size;
    /* the holder's name for people, kept beside the lock and listed ["host:pid"] */
    const char *label;
    uint32_t reply_ms;   /* how long to wait for one reply of the server [500] */
    uint32_t cleanup_ms; /* how long to go on giving back a possible grant [10,000] */
    /* Replaces CLOCK_BOOTTIME, for tests. The blocking facade calls it from any thread. */
    uint64_t (*clock_ns)(void *data); /* [NULL] */
    void *clock_data;
};

/* Open a client. The servers need not be reachable yet. LK_INVALID: the URL names no backend.
 * LK_UNSUPPORTED: this build lacks the backend. On any value but LK_OK *client is NULL and there is
 * nothing to undo. `options` may be NULL. */
LK_CHECK enum lk_status lk_client_open(lk_client **client, uv_loop_t *loop, const char *url,
                                       const struct lk_client_options *options);

typedef void (*lk_close_cb)(void *data);
/* Close: pending requests end with LK_CANCELED; held leases are given back, for as long as
 * cleanup_ms allows. Then the client is freed and `cb` runs exactly once. Do not use locks and
 * leases of the client after this call: the client frees them. */
void lk_client_close(lk_client *client, lk_close_cb cb, void *data);

/* LK_CAP_* bits. */
unsigned lk_client_caps(const lk_client *client);

/* Set `size` to sizeof(struct lk_counters) before the call: only `size` bytes are filled in. */
struct lk_counters {
    size_t size;
    uint64_t acquired, busy, timed_out, canceled, unknown, unavailable, refused;
    uint64_t released, release_lost; /* release_lost: the lease had ended before its release */
    uint64_t renewed, renew_failed;
    uint64_t suspected, lost;
    uint64_t late_grants;      /* granted after the caller had gone, and given back */
    uint64_t polls, wakeups;   /* attempts by waiters after the poll timer, and after an event */
    uint64_t wait_ns, hold_ns; /* sums: wait_ns over acquired, hold_ns over released or lost */
    uint64_t handed_over;      /* part of released: to another waiter of this client */
};
void lk_client_counters(const lk_client *client, struct lk_counters *counters);

/* ---- Lock */

enum lk_mode {
    LK_EXCLUSIVE, /* held alone */
    LK_SHARED     /* held beside other LK_SHARED leases, never beside an LK_EXCLUSIVE one */
};

/* Zero means the default in brackets. An option that the backend cannot honour (lk_client_caps) is
 * refused with LK_UNSUPPORTED, never ignored. */
struct lk_lock_options {
    size_t size; /* sizeof(struct lk_lock_options) */
    /* How long a grant lasts without renewal, 10..86,400,000. A backend without LK_CAP_TTL ignores
     * it; one with LK_CAP_SESSION may grant less or more. [10,000] */
    uint32_t ttl_ms;
    /* How long before the end of its validity a lease becomes SUSPECT; less than the TTL. */
    uint32_t suspect_ms; /* [ttl / 4] */
    /* The longest time between two attempts of a waiter. Jitter shortens it by up to a half. */
    uint32_t poll_ms; /* [250] */
    int no_renew;     /* 1: no automatic renewal (else every ttl / 3) */
    /* 1: first come, first served among the waiters of all processes; each waiter then asks the
     * server itself. 0: that order holds only within a client. With LK_CAP_FAIR clients then take
     * turns: no client gets the lock more than twice in a row while another waits. */
    int is_fair;
    enum lk_mode mode; /* [LK_EXCLUSIVE] */
    /* A semaphore, with LK_SHARED: `limit` is the number of permits [no limit], `permits` how many
     * one grant takes [1]. All users of a name give the same limit. */
    uint32_t limit, permits;
    /* How often in a row, 0..1000, a holder hands the lock to the next waiter of this client,
     * without a round trip, while other clients wait; then it is given back. [0, or the URL's
     * `handover=`] Conditions:
     *      - both locks are LK_EXCLUSIVE, not `is_fair`, and have the same `ttl_ms` and `handover`;
     *      - with a TTL: less than a third of it has passed since the grant or its last renewal.
     * The LK_OK of such a release comes from the clock: the server is not asked. It comes after
     * the next holder's callback. */
    uint32_t handover;
};

/* Name a lock: 1..512 bytes, copied. LK_INVALID, LK_UNSUPPORTED, LK_NOMEM. Cheap: no round trip.
 * `options` may be NULL. */
LK_CHECK enum lk_status lk_lock_open(lk_lock **lock, lk_client *client, const char *name,
                                     const struct lk_lock_options *options);
/* Forget the name. Leases and requests of the lock may go on: it is freed when the last of them has
 * ended. NULL is fine. */
void lk_lock_close(lk_lock *lock);
const char *lk_lock_name(const lk_lock *lock);
lk_client *lk_lock_client(const lk_lock *lock);
uv_loop_t *lk_client_loop(const lk_client *client);

/* ---- Acquire and release */

/* wait_ms: one attempt, then LK_BUSY. LK_UNAVAILABLE if so many other attempts of this client are
 * under way that this one is not sent within reply_ms. */
#define LK_TRY     0U
#define LK_FOREVER UINT32_MAX

/* How an acquisition ended. On LK_OK the caller owns `lease` until it passes the lease to
 * lk_release() or lk_abandon(). On any other status `lease` is NULL:
 *   BUSY         held by another owner, or other waiters come first (LK_TRY)
 *   TIMEOUT      not acquired within `wait_ms`: the server, or this client, saw another owner
 *   CANCELED     by lk_cancel() or lk_client_close()
 *   NOMEM        out of memory
 *   UNAVAILABLE  the last attempt could not be sent, or none was sent within `wait_ms`
 *   REFUSED      the server refused (no memory, a replica, missing rights); the log has its words
 *   UNKNOWN      the server did not answer, perhaps because `wait_ms` was too short for that; or the
 *                validity had ended when the answer came. If the lock was granted, the next waiter
 *                takes it over, or it is given back. */
typedef void (*lk_acquire_cb)(lk_request *request, enum lk_status status, lk_lease *lease,
                              void *data);

/* Acquire within `wait_ms`. The waiters of this client are served in the order of their calls.
 * `request` may be NULL; else you can cancel *request until the callback runs, which frees it. A
 * wait that ends during an attempt ends at once. A grant that arrives later goes to the next waiter
 * of this client, if it asks for the same (mode, permits, limit, TTL, hand-over); else it is given
 * back. LK_NOMEM. LK_UNSUPPORTED: the system gives no random numbers. */
LK_CHECK enum lk_status lk_acquire(lk_lock *lock, uint32_t wait_ms, lk_acquire_cb cb, void *data,
                                   lk_request **request);
/* The callback runs soon, with LK_CANCELED, or with its outcome if that came first. */
void lk_cancel(lk_request *request);
/* Call it in the acquire callback: the number of requests that this acquisition sent to a server.
 * Counts each attempt, plus one if the script had to be sent. Includes an attempt that timed out.
 * Does not include the release that cleans up after it. A waiter that takes over the attempt of
 * another waiter counts only its own attempts. 0: no attempt was sent. Always 0 on the local
 * backend, which has no server. */
unsigned lk_request_round_trips(const lk_request *request);

/* Call it in the acquire callback, on any status but LK_OK: for how long of this wait others kept
 * the lock, up to its end, in nanoseconds, as far as this client saw. It counts from the first
 * refusal of any waiter of this client after the client last got the lock or gave it back, but not
 * from before this wait began. 0: the lock was not refused since it changed hands. If it is short
 * beside the wait, the lock changes hands. -1: not known, for example because the server did not
 * answer. */
int64_t lk_request_kept_ns(const lk_request *request);

typedef void (*lk_release_cb)(enum lk_status status, void *data);
/* Give the lock back. Renewal stops first. Do not use the lease after this call. `cb` may be NULL.
 *   OK       the lease owned the lock until now
 *   LOST     it did not: another owner may have held the lock meanwhile
 *   UNKNOWN  the server did not confirm within reply_ms. The client repeats the release up to
 *            cleanup_ms or the TTL, whichever ends first. Where no TTL of its own ends the lock,
 *            it repeats the release until the server confirms or the client is closed. */
void lk_release(lk_lease *lease, lk_release_cb cb, void *data);

/* Give up a lease without giving the lock back: for a holder with a last write that may still take
 * effect. Nobody gets the lock for `hold_ms` more, nor before the TTL of its last renewal has
 * ended. If the TTL ends earlier, the client extends it, and repeats that command until the server
 * confirms. The lock can end before `hold_ms` only if no extension reaches the server in time. On a
 * backend without TTL, or with LK_CAP_SESSION, the client itself keeps the lock for `hold_ms`.
 * lk_client_close() waits for that (but not on `local:`), and for an extension up to cleanup_ms. Do
 * not use the lease after this call. */
void lk_abandon(lk_lease *lease, uint32_t hold_ms);

/* ---- Lease */

enum lk_state {
    LK_HELD,      /* valid, and renewal is on time */
    LK_SUSPECT,   /* still valid, but for less than suspect_ms, or in doubt: begin nothing new */
    LK_LOST_STATE /* the validity has ended, or the server said that we do not hold it */
};

enum lk_state lk_lease_state(const lk_lease *lease);
/* The cheap guard before a side effect, without a round trip. LK_OK: the lease is valid for
 * `need_ms` more, by the clock at this moment. Else LK_LOST. */
LK_CHECK enum lk_status lk_lease_check(const lk_lease *lease, uint32_t need_ms);
/* Milliseconds of validity left; 0 when lost; INT64_MAX on a backend without TTL. */
int64_t lk_lease_remaining_ms(const lk_lease *lease);
/* The fencing token: greater than that of every earlier grant of this name, handed over or not. 0:
 * the backend has none. */
uint64_t lk_lease_fence(const lk_lease *lease);
/* Tell lockkit that the resource has seen this token: later grants of the name to this client get a
 * greater one. Use it where tokens may fall (LK_CAP_FENCE_BEST): pass each token that you read from
 * the resource under the lease. Else a resource that refuses lower tokens could refuse all later
 * holders. It holds for heirs and for waiters in line, too: a grant with a token that is too low is
 * given back, and the waiter asks again. If no greater token exists, each later acquisition of this
 * client is LK_REFUSED: Redis counts to 2^53 - 1, Postgres to 2^63 - 1. No effect on etcd and
 * ZooKeeper: their tokens are counts of the server, which only rise. */
void lk_lease_saw_fence(const lk_lease *lease, uint64_t fence);
/* 40 hex digits, for logs: the server knows the holder by this token. The lease owns the string. */
const char *lk_lease_owner(const lk_lease *lease);

/* Runs on the loop at each change of state. It may release the lease. `why` is a static text.
 *   HELD -> SUSPECT
 *   SUSPECT -> HELD   a renewal was confirmed
 *   -> LOST_STATE     once, last; straight from HELD when the server says that this client does
 *                     not hold it, or when the program was paused past the end. If its session
 *                     goes on (LK_CAP_SESSION), the client gives the lock back after this callback,
 *                     unless the callback abandons the lease
 * If you set it when the lease is no longer HELD, it runs at once, but not inside the call. */
typedef void (*lk_state_cb)(lk_lease *lease, enum lk_state state, const char *why, void *data);
void lk_lease_on_state(lk_lease *lease, lk_state_cb cb, void *data);

/* ---- Holders and waiters */

/* A holder, or a waiter. */
struct lk_holder {
    const char *owner; /* the owner token, or the text that another program wrote */
    const char *label; /* "" when not known */
    /* 0: none, or not known (waiters have none). Where leases are handed over: the token of the
     * first holder, or the greatest that was reserved with it. */
    uint64_t fence;
    /* A holder: until its TTL ends. A waiter: until the server skips it, unless it asks again. -1:
     * no end, or not known. */
    int64_t remaining_ms;
    enum lk_mode mode;
    uint32_t permits;
};
/* The server's view at one moment. Valid until the callback returns. */
struct lk_inspection {
    const struct lk_holder *holders, *waiters; /* waiters in the order of the line */
    size_t holder_count, waiter_count;         /* no waiters without LK_CAP_WAITERS */
    unsigned waiters_here; /* waiters of this client, through any lock of the name */
};
/* `inspection` is NULL unless `status` is LK_OK. */
typedef void (*lk_inspect_cb)(enum lk_status status, const struct lk_inspection *inspection,
                              void *data);
LK_CHECK enum lk_status lk_inspect(lk_lock *lock, lk_inspect_cb cb, void *data);

/* For people, when a holder is known to be dead or stuck: take the lock from `owner`, or from every
 * holder if `owner` is NULL. A holder that is alive after all may still write: then only its
 * fencing token stops it. LK_OK: taken. LK_LOST: `owner` did not hold it; with NULL: nobody did.
 * LK_INVALID: `owner` is longer than 255 bytes. LK_UNSUPPORTED: the backend lacks LK_CAP_BREAK.
 * `cb` may be NULL. */
LK_CHECK enum lk_status lk_break(lk_lock *lock, const char *owner, lk_release_cb cb, void *data);

/* ---- Several locks at once
 *
 * This section and the next two use only the calls above. End all their objects before you close
 * their client. */

typedef struct lk_set lk_set;
/* On LK_OK all are held, and the caller owns `set` until lk_set_release(). Else none is held, `set`
 * is NULL, and `status` is the outcome of the lock that failed. LK_LOST: a lease of the set ended
 * while the set waited for another lock. */
typedef void (*lk_set_cb)(enum lk_status status, lk_set *set, void *data);

/* Acquire all of `locks`, 1..64, or none, within `wait_ms` in all (LK_TRY: one attempt each). They
 * may belong to several clients on one loop. They are taken one by one in the order of their names.
 * Locks of equal names are taken in the order given, which must be the same in all programs. So
 * sets never wait for each other in a circle. LK_INVALID: a name is there twice on one client.
 * LK_NOMEM. You can cancel *set until the callback runs. `set` may be NULL. */
LK_CHECK enum lk_status lk_acquire_all(lk_lock *const *locks, size_t count, uint32_t wait_ms,
                                       lk_set_cb cb, void *data, lk_set **set);
void lk_set_cancel(lk_set *set);
/* The lease of the lock that was `locks[index]`. Do not release it by itself. */
lk_lease *lk_set_lease(const lk_set *set, size_t index);
/* LK_OK: all are valid for `need_ms` more. Else LK_LOST. */
LK_CHECK enum lk_status lk_set_check(const lk_set *set, uint32_t need_ms);
/* `cb` may be NULL. Its status is the worst of the outcomes: LK_OK, LK_LOST, LK_UNKNOWN. */
void lk_set_release(lk_set *set, lk_release_cb cb, void *data);

/* ---- Acquiring a lock again that one already holds */

/* An owner of a lock that may acquire the lock again while it holds it. Each user of this object is
 * that owner. Only the first acquisition and the last release go to the server. */
typedef struct lk_reentrant lk_reentrant;

/* The lock must live at least as long as the owner. LK_NOMEM. */
LK_CHECK enum lk_status lk_reentrant_open(lk_reentrant **owner, lk_lock *lock);
/* Call it only with nothing acquired or under way. NULL is fine. */
void lk_reentrant_close(lk_reentrant *owner);
/* Like lk_acquire(), but `request` is NULL in the callback of all acquisitions after the first. All
 * share one lease; do not release it by itself. LK_LOST in the callback: the lease has ended, and
 * cannot be taken again until all have released it. Returns LK_BUSY, and runs no callback, while
 * the first acquisition is under way. */
LK_CHECK enum lk_status lk_reentrant_acquire(lk_reentrant *owner, uint32_t wait_ms,
                                             lk_acquire_cb cb, void *data);
/* Like lk_release(), once for each acquisition. All but the last are LK_OK without asking the
 * server, and run `cb` inside the call if memory is short. */
void lk_reentrant_release(lk_reentrant *owner, lk_release_cb cb, void *data);
unsigned lk_reentrant_depth(const lk_reentrant *owner);

/* ---- Leader election */

enum lk_role {
    LK_FOLLOWER,       /* another leads, or nobody */
    LK_LEADER,         /* while lk_election_role() says so: a deposed leader may not know yet */
    LK_LEADER_IN_DOUBT /* it leads, but its lease is SUSPECT: begin nothing new */
};
typedef struct lk_election lk_election;
/* Runs at each change of the election's own role. `term` is the fencing token of the leadership, or
 * 0 for a follower. `why` is a static text. */
typedef void (*lk_election_cb)(lk_election *election, enum lk_role role, uint64_t term,
                               const char *why, void *data);

/* Stand for election, again and again, until the election is closed. The holder of `lock` leads.
 * The lock must live at least as long as the election. LK_NOMEM. */
LK_CHECK enum lk_status lk_election_open(lk_election **election, lk_lock *lock, lk_election_cb cb,
                                         void *data);
/* The role by the clock at this moment, without a round trip. */
enum lk_role lk_election_role(const lk_election *election);
/* The leader steps down, and stands again behind the waiters. No effect on a follower. */
void lk_election_resign(lk_election *election);
/* Stop standing. Only `cb` (or NULL) runs after this call: later, when the lock has been given
 * back. */
void lk_election_close(lk_election *election, lk_close_cb cb, void *data);

/* ---- Blocking facade */

/* For programs without a loop: a client on a loop thread of its own. You may call each function
 * here from any thread; each blocks, except lk_sync_check() and lk_sync_fence(). */
typedef struct lk_sync lk_sync;
typedef struct lk_held lk_held;

LK_CHECK enum lk_status lk_sync_open(lk_sync **sync, const char *url,
                                     const struct lk_client_options *options);
/* Release every lk_held first. */
void lk_sync_close(lk_sync *sync);
LK_CHECK enum lk_status lk_sync_acquire(lk_sync *sync, const char *name,
                                        const struct lk_lock_options *options, uint32_t wait_ms,
                                        lk_held **held);
enum lk_status lk_sync_release(lk_held *held);
LK_CHECK enum lk_status lk_sync_check(const lk_held *held, uint32_t need_ms);
uint64_t lk_sync_fence(const lk_held *held);

#ifdef __cplusplus
}
#endif

#endif
