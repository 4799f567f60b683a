/* lockkit: distributed locks for C programs on libuv, and, through a blocking facade, for any C
 * program.
 *
 * Four kinds of object:
 *   lk_client    a backend, opened by URL (README.md lists them, each with its guarantees)
 *   lk_lock      a name in it, and a policy; cheap, but keep it while you use the name often
 *   lk_lease     one acquisition, which is the ownership: owner token, fencing token, validity
 *   lk_request   one acquire under way, which can be cancelled
 *
 * Everything runs on the caller's loop and thread; there are no hidden threads outside the
 * blocking facade.
 *
 * What it promises (README.md has the reasons, and the known failures that each one answers):
 *   1. Ownership belongs to the lease, with a 160-bit random owner token per acquisition; not to
 *      a thread. Only leases that are handed over (`handover`) have that of the first.
 *   2. Validity counts from before the request was sent, on a clock that goes on during suspend,
 *      minus drift (1 % of the TTL + 2 ms), and is checked again after the last reply.
 *   3. A lease goes HELD -> SUSPECT -> LOST by a local timer, whatever the network does: its
 *      holder is told before anyone else can own the lock.
 *   4. A fencing token is minted in the same atomic step as the grant, only on a new grant, in
 *      storage that outlives the lock.
 *   5. A missing reply is UNKNOWN, never "no": the owner token is kept until the server confirms,
 *      and what may have been granted is given back, with a deadline of its own.
 *   6. Renewal extends only what is still owned; it never re-creates. Release cancels renewal
 *      first.
 *   7. Waiting is an event plus a bounded, jittered poll. Never only a poll.
 *
 * What it does not promise: that a holder which was paused knows it in time. A lease that was valid
 * when you looked may have ended when your write arrives: pass the fencing token to the resource
 * and let the resource refuse an older one.
 *
 * Callbacks: on LK_OK from a function that starts something, its callback runs exactly once, later,
 * on the loop, never inside the call; on any other value nothing started and it never runs. Strings
 * are copied. Durations are milliseconds. Not thread-safe: one client, one loop, one thread. */
#ifndef LOCKKIT_H
#define LOCKKIT_H

#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of this header; lk_version() is that of the library, which may be newer. Before 1.0.0 each minor
 * version may change what it likes; from then on only a major one. */
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
    X(TIMEOUT, "not acquired within the wait")                                                     \
    X(CANCELED, "cancelled by the caller")                                                         \
    X(LOST, "the lease had ended before the release was confirmed")                                \
    X(UNKNOWN, "the server did not answer; the lock may be held in this name until its TTL ends")  \
    X(UNAVAILABLE, "the server could not be reached, or did not let us in; nothing was acquired")  \
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

/* What a backend can do and what its fencing tokens are worth (lk_client_caps). */
enum lk_caps {
    LK_CAP_TTL = 1 << 0,           /* a dead holder's lock frees itself after its TTL */
    LK_CAP_FAIR = 1 << 1,          /* can serve all waiters in the order they came (is_fair) */
    LK_CAP_EVENTS = 1 << 2,        /* a waiter is woken by an event, not only by a poll */
    LK_CAP_FENCE_LINEAR = 1 << 3,  /* fencing tokens never repeat nor fall, whatever fails */
    LK_CAP_FENCE_BEST = 1 << 4,    /* they may, if keys are lost and a clock is set back */
    LK_CAP_CROSS_PROCESS = 1 << 5, /* excludes holders in other processes */
    LK_CAP_SHARED = 1 << 6,        /* LK_SHARED */
    LK_CAP_PERMITS = 1 << 7,       /* `limit` and `permits`: a semaphore */
    LK_CAP_BREAK = 1 << 8,         /* lk_break() */
    LK_CAP_WAITERS = 1 << 9,       /* lk_inspect() lists those who wait, too */
    /* A lease lasts as long as a session of the client with the server, which may grant another TTL
     * than was asked for; leases of one session end together. */
    LK_CAP_SESSION = 1 << 10,
    LK_CAP_HANDOVER = 1 << 11 /* `handover` */
};

/* Told what a person who runs the program should know: a server that cannot be reached or refuses,
 * in its own words, one that may lose locks, and when that is over. `message` is for people;
 * `pairs` is key=value pairs of it in logfmt. Without it lockkit writes nothing anywhere. For the
 * whole process; set it before the first client is opened: it may run in any thread that uses
 * lockkit. */
enum lk_log_level { LK_LOG_DEBUG, LK_LOG_INFO, LK_LOG_WARN, LK_LOG_ERROR };
typedef void (*lk_log_cb)(enum lk_log_level level, const char *message, const char *pairs,
                          void *data);
void lk_set_log(lk_log_cb cb, void *data);

typedef struct lk_client lk_client;
typedef struct lk_lock lk_lock;
typedef struct lk_lease lk_lease;
typedef struct lk_request lk_request;

/* ---- Client */

/* Zero means the default in brackets. `size` must be sizeof(struct lk_client_options): it lets the
 * struct grow. */
struct lk_client_options {
    size_t size;
    const char *label;   /* who holds, for people: kept beside the lock and in lists ["host:pid"] */
    uint32_t reply_ms;   /* how long to wait for one reply of the server [500] */
    uint32_t cleanup_ms; /* how long to go on giving back what may have been granted [10,000] */
    /* Replaces CLOCK_BOOTTIME, for tests; with the blocking facade, called from any thread. */
    uint64_t (*clock_ns)(void *data); /* [NULL] */
    void *clock_data;
};

/* Open a client. The servers need not be reachable yet. LK_INVALID for a URL that names no backend,
 * LK_UNSUPPORTED for one that this build lacks; then *client is NULL and there is nothing to undo.
 * `options` may be NULL. */
LK_CHECK enum lk_status lk_client_open(lk_client **client, uv_loop_t *loop, const char *url,
                                       const struct lk_client_options *options);

typedef void (*lk_close_cb)(void *data);
/* Close: pending requests end with LK_CANCELED, held leases are given back, as far as cleanup_ms
 * allows; then `cb` runs exactly once with the client freed. Locks and leases of it must not be
 * used from the call on: the client frees them. */
void lk_client_close(lk_client *client, lk_close_cb cb, void *data);

/* LK_CAP_* bits. */
unsigned lk_client_caps(const lk_client *client);

/* Set `size` to sizeof(struct lk_counters) before the call: only so much is filled in. */
struct lk_counters {
    size_t size;
    uint64_t acquired, busy, timed_out, canceled, unknown, unavailable, refused;
    uint64_t released, release_lost; /* release_lost: not ours any more when we released it */
    uint64_t renewed, renew_failed;
    uint64_t suspected, lost;
    uint64_t late_grants;      /* granted after the caller had gone: given back */
    uint64_t polls, wakeups;   /* attempts of waiters by the poll timer, and by an event */
    uint64_t wait_ns, hold_ns; /* summed over acquired, and over released or lost */
    uint64_t handed_over;      /* of released: to another waiter of this client */
};
void lk_client_counters(const lk_client *client, struct lk_counters *counters);

/* ---- Lock */

enum lk_mode {
    LK_EXCLUSIVE, /* alone */
    LK_SHARED     /* beside other LK_SHARED ones, never beside an LK_EXCLUSIVE one */
};

/* Zero means the default in brackets. What the backend cannot do (lk_client_caps) is refused with
 * LK_UNSUPPORTED, never left out. */
struct lk_lock_options {
    size_t size;     /* sizeof(struct lk_lock_options) */
    uint32_t ttl_ms; /* how long a grant lasts without renewal, 10..86,400,000 [10,000]; a backend
                        without LK_CAP_TTL ignores it, one of sessions may grant less or more */
    /* How long before the end of its validity a lease becomes SUSPECT; less than the TTL. */
    uint32_t suspect_ms; /* [ttl / 4] */
    /* The longest time between two attempts of a waiter; each is jittered down to half. */
    uint32_t poll_ms; /* [250] */
    int no_renew;     /* 1: do not renew by itself (renewal runs every ttl / 3) */
    /* 1: first come, first served among the waiters of all processes, each of whom then asks the
     * server. Else that order holds within a client, and clients take turns where the backend has
     * LK_CAP_FAIR: none gets the lock more than twice in a row while another waits. */
    int is_fair;
    enum lk_mode mode; /* [LK_EXCLUSIVE] */
    /* A semaphore, with LK_SHARED: how many permits there are [no limit], and how many of them one
     * grant takes [1]. All users of a name give the same limit. */
    uint32_t limit, permits;
    /* How often in a row, 0..1000, the lock goes straight from one holder to the next waiter of
     * this client, without a round trip, while other clients wait; then it is given back. Only
     * while its validity is fresh, where it has a TTL: less than a third of it after the grant or
     * its last renewal. Only between locks of the same `ttl_ms` and `handover`, LK_EXCLUSIVE and
     * not `is_fair`. Such a release is LK_OK by the clock: the server is not asked. [0, or what the
     * URL says: `handover=`] */
    uint32_t handover;
};

/* Name a lock: 1..512 bytes, copied. LK_INVALID, LK_UNSUPPORTED, LK_NOMEM. Cheap: no round trip.
 * `options` may be NULL. */
LK_CHECK enum lk_status lk_lock_open(lk_lock **lock, lk_client *client, const char *name,
                                     const struct lk_lock_options *options);
/* Forget the name. Its leases and requests may go on: the lock is freed when the last has ended.
 * NULL is fine. */
void lk_lock_close(lk_lock *lock);
const char *lk_lock_name(const lk_lock *lock);
lk_client *lk_lock_client(const lk_lock *lock);
uv_loop_t *lk_client_loop(const lk_client *client);

/* ---- Acquire and release */

#define LK_TRY     0U /* wait_ms: one attempt, then LK_BUSY */
#define LK_FOREVER UINT32_MAX

/* LK_OK: `lease` is the caller's until it is passed to lk_release() or lk_abandon(). Else it is
 * NULL, and: BUSY (wait_ms was LK_TRY), TIMEOUT, CANCELED, NOMEM; UNAVAILABLE when the last attempt
 * could not be sent; REFUSED when the server would not do it (without memory, a replica, missing
 * rights), and said why, which is in the log; UNKNOWN when it was not answered, or answered after
 * its validity had ended: the next waiter asks again for what it may have got, or it is given back.
 */
typedef void (*lk_acquire_cb)(lk_request *request, enum lk_status status, lk_lease *lease,
                              void *data);

/* Acquire, waiting up to `wait_ms`, in the order of the calls among the waiters of this client.
 * `request` may be NULL; else *request can be cancelled until the callback, which frees it. A wait
 * that ends while an attempt is on its way ends at once. A grant that arrives later goes to the
 * next waiter of this client, if it asks for the same (mode, permits, limit, TTL, hand-over). Else
 * it is given back. LK_NOMEM; LK_UNSUPPORTED when the system gives no random numbers.
 */
LK_CHECK enum lk_status lk_acquire(lk_lock *lock, uint32_t wait_ms, lk_acquire_cb cb, void *data,
                                   lk_request **request);
/* The callback runs soon, with LK_CANCELED, or with its outcome if that came first. */
void lk_cancel(lk_request *request);
/* In the acquire callback: how often this acquisition asked the server, which is what it cost. Once
 * for each attempt, and once more for one that also had to bring the server its script; with an
 * attempt that was not answered before the wait ended, and without the giving back of what that may
 * have got. A waiter that goes on with the attempt of another counts only its own. 0 when it never
 * came to an attempt, or was never sent, and always on the local backend, which has no server. */
unsigned lk_request_round_trips(const lk_request *request);

/* In the acquire callback, unless it is LK_OK: for how much of the wait, up to its end, others kept
 * the lock, as far as this client saw: the server refused it, and it was neither granted to this
 * client nor given back by it since. Short beside the wait: the lock changes hands. -1: not known,
 * as when the server has not answered. */
int64_t lk_request_kept_ns(const lk_request *request);

typedef void (*lk_release_cb)(enum lk_status status, void *data);
/* Give the lock back. Renewal stops first. The lease must not be used after this call. `cb` may be
 * NULL. LK_OK: it was ours until now. LK_LOST: it was not any more: someone else may have held it
 * meanwhile. LK_UNKNOWN: no confirmation came in reply_ms; clean-up goes on by itself, up to
 * cleanup_ms or the TTL, and where no TTL of its own ends the lock, until it is confirmed or the
 * client is closed. */
void lk_release(lk_lease *lease, lk_release_cb cb, void *data);

/* For a holder whose last write may still take effect: the lock is not given back, and nobody gets
 * it for `hold_ms` more, nor before the TTL of its last renewal has ended. A TTL that ends earlier
 * is extended, by a command that is repeated until the server confirms it; so the only end before
 * `hold_ms` is one that the server does not hear us in time to prevent. On a backend without TTL,
 * or of sessions, the client keeps the lock for `hold_ms`. lk_client_close() waits for that, and
 * for the extension up to cleanup_ms.
 * The lease must not be used after this call. */
void lk_abandon(lk_lease *lease, uint32_t hold_ms);

/* ---- Lease */

enum lk_state {
    LK_HELD,      /* valid, and renewal is on time */
    LK_SUSPECT,   /* still valid, but less than suspect_ms of it is left: begin nothing new */
    LK_LOST_STATE /* the validity has ended, or the server said that it is not ours */
};

enum lk_state lk_lease_state(const lk_lease *lease);
/* The cheap guard before a side effect, no round trip: LK_OK when the lease is valid for `need_ms`
 * more, by the clock as it is now; else LK_LOST. */
LK_CHECK enum lk_status lk_lease_check(const lk_lease *lease, uint32_t need_ms);
/* Milliseconds of validity left; 0 when lost; INT64_MAX on a backend without TTL. */
int64_t lk_lease_remaining_ms(const lk_lease *lease);
/* The fencing token: greater than that of every earlier grant of this name, handed over or not; 0
 * when the backend has none. */
uint64_t lk_lease_fence(const lk_lease *lease);
/* The resource has seen this token: later grants of the name to this client are above it. For
 * backends whose tokens may fall (LK_CAP_FENCE_BEST), so that what refuses lower tokens does not
 * refuse all from then on: tell it each token that is read from the resource under the lease. */
void lk_lease_saw_fence(const lk_lease *lease, uint64_t fence);
/* 40 hex digits, for logs: what the server knows the holder by. */
const char *lk_lease_owner(const lk_lease *lease);

/* Told of each change: HELD -> SUSPECT, SUSPECT -> HELD (a renewal came through), -> LOST_STATE
 * (once, last; straight from HELD when the server says that it is not ours, or when the program was
 * paused past the end). `why` is a static text. Runs on the loop. May release the lease. Set
 * when the lease is not HELD any more, the callback is told so at once, though not inside the call.
 */
typedef void (*lk_state_cb)(lk_lease *lease, enum lk_state state, const char *why, void *data);
void lk_lease_on_state(lk_lease *lease, lk_state_cb cb, void *data);

/* ---- Who holds, who waits */

/* One who holds, or waits. */
struct lk_holder {
    const char *owner; /* owner token, or what another program wrote there */
    const char *label; /* "" when not known */
    /* 0: none, or not known, as for one who waits. Where leases are handed over, of the first, or
     * the greatest of those that are reserved with it. */
    uint64_t fence;
    /* Until its TTL ends; for one who waits, until it is skipped if not heard of. -1: it has none,
     * or it is not known. */
    int64_t remaining_ms;
    enum lk_mode mode;
    uint32_t permits;
};
/* At one moment, by the server; valid until the callback returns. */
struct lk_inspection {
    const struct lk_holder *holders, *waiters; /* the waiters in the order of the line */
    size_t holder_count, waiter_count;         /* no waiters without LK_CAP_WAITERS */
    unsigned waiters_here;                     /* those of this client, whoever of them asks */
};
/* `inspection` is NULL unless `status` is LK_OK. */
typedef void (*lk_inspect_cb)(enum lk_status status, const struct lk_inspection *inspection,
                              void *data);
LK_CHECK enum lk_status lk_inspect(lk_lock *lock, lk_inspect_cb cb, void *data);

/* For people, when a holder is known to be dead or stuck: take the lock from `owner`, or from
 * everyone who holds it when that is NULL. It may still write: only its fencing token stops it
 * then. LK_OK; LK_LOST when nobody such held it; LK_UNSUPPORTED. `cb` may be NULL. */
LK_CHECK enum lk_status lk_break(lk_lock *lock, const char *owner, lk_release_cb cb, void *data);

/* ---- Several locks at once
 *
 * This and the next two are made of the calls above and nothing else. They must have ended before
 * their client is closed. */

typedef struct lk_set lk_set;
/* LK_OK: all are held, and `set` is the caller's until lk_set_release(). Else none is, `set` is
 * NULL, and `status` is that of the lock that could not be had; LK_LOST when one that it had
 * already ended while it waited for another. */
typedef void (*lk_set_cb)(enum lk_status status, lk_set *set, void *data);

/* Acquire all of `locks`, 1..64, or none, within `wait_ms` together (LK_TRY: each at once). They
 * may be of several clients, on one loop. They are taken one by one in the order of their names,
 * and among equal names in the order given, which must then be the same for everyone: so those who
 * want some of the same locks never wait for each other in a circle. LK_INVALID when a name is
 * there twice on one client; LK_NOMEM. *set (or NULL) can be cancelled until the callback. */
LK_CHECK enum lk_status lk_acquire_all(lk_lock *const *locks, size_t count, uint32_t wait_ms,
                                       lk_set_cb cb, void *data, lk_set **set);
void lk_set_cancel(lk_set *set);
/* The lease of the lock that was `locks[index]`; not to be released by itself. */
lk_lease *lk_set_lease(const lk_set *set, size_t index);
/* LK_OK when all are valid for `need_ms` more. */
LK_CHECK enum lk_status lk_set_check(const lk_set *set, uint32_t need_ms);
/* `cb` (or NULL) is told the worst of the outcomes: LK_OK, LK_LOST, LK_UNKNOWN. */
void lk_set_release(lk_set *set, lk_release_cb cb, void *data);

/* ---- Taking one's own lock again */

/* One owner of a lock, who may acquire it again while he has it; whoever has this object is that
 * owner. Only the first acquisition goes to the server, and only the last release. */
typedef struct lk_reentrant lk_reentrant;

/* The lock must live as long. LK_NOMEM. */
LK_CHECK enum lk_status lk_reentrant_open(lk_reentrant **owner, lk_lock *lock);
/* With nothing acquired or under way. NULL is fine. */
void lk_reentrant_close(lk_reentrant *owner);
/* As lk_acquire(), with `request` NULL in the callback of all but the first. The lease is the same
 * for all; it is not to be released by itself. One that has ended cannot be taken again: LK_LOST,
 * until all have released it. LK_BUSY, and no callback, while the first is still under way. */
LK_CHECK enum lk_status lk_reentrant_acquire(lk_reentrant *owner, uint32_t wait_ms,
                                             lk_acquire_cb cb, void *data);
/* As lk_release(), once for each acquisition; LK_OK at once for all but the last. */
void lk_reentrant_release(lk_reentrant *owner, lk_release_cb cb, void *data);
unsigned lk_reentrant_depth(const lk_reentrant *owner);

/* ---- Leader election */

enum lk_role {
    LK_FOLLOWER, /* somebody else leads, or nobody */
    LK_LEADER,   /* as long as lk_election_role() says so: a deposed leader may not know yet */
    LK_LEADER_IN_DOUBT /* still, but its lease is SUSPECT: begin nothing new */
};
typedef struct lk_election lk_election;
/* Told of each change of the own role. `term` is the fencing token of the leadership, 0 without
 * one; `why` a static text. */
typedef void (*lk_election_cb)(lk_election *election, enum lk_role role, uint64_t term,
                               const char *why, void *data);

/* Stand for election, again and again, until it is closed: the leader is who holds the lock, which
 * must live as long. LK_NOMEM. */
LK_CHECK enum lk_status lk_election_open(lk_election **election, lk_lock *lock, lk_election_cb cb,
                                         void *data);
/* By the clock as it is now, no round trip. */
enum lk_role lk_election_role(const lk_election *election);
/* The leader steps down, and stands again behind those who wait. Nothing for a follower. */
void lk_election_resign(lk_election *election);
/* Stand no more. No callback but `cb` (or NULL), later, when the lock has been given back. */
void lk_election_close(lk_election *election, lk_close_cb cb, void *data);

/* ---- Blocking facade */

/* For programs without a loop: a client on a loop thread of its own. Every function here may be
 * called from any thread, and blocks. */
typedef struct lk_sync lk_sync;
typedef struct lk_held lk_held;

LK_CHECK enum lk_status lk_sync_open(lk_sync **sync, const char *url,
                                     const struct lk_client_options *options);
/* Every lk_held must have been released. */
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
