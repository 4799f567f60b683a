/* One acquisition, from the call of lk_acquire() until nothing of it is left at the server.
 *
 * Request and lease are one object with one owner token and one allocation. So the client cannot
 * run out of memory between a grant and its release.
 *
 *            head of      granted                lk_release
 *            the queue    and valid              (or client closes)
 *    QUEUED ──────────► TRYING ──────────► HELD ──────────► RELEASING ──► ENDED
 *      │ ▲                │ │ │              │  lk_abandon     ▲           ▲ ▲
 *      │ └─ refused, ─────┘ │ │              └──► ABANDONED ───┼───────────┘ │
 *      │    unanswered      │ │ no answer to LK_TRY            │             │
 *      │                    │ └────────────────────────────────┤             │
 *      │          wait over,│                                  │             │
 *      │          cancelled ▼          granted, no answer      │             │
 *      │                ORPHANED ──────────────────────────────┤             │
 *      │                    └─ refused, not sent ──────────────┼─────────────┤
 *      │ wait over or cancelled: unanswered once, or in line   │             │
 *      └───────────────────────────────────────────────────────┘             │
 *      └────────────────────────  neither ───────────────────────────────────┘
 *
 * When the next waiter takes over what a lease has begun at the server, the lease goes to ENDED,
 * and the waiter moves as if it had begun that itself.
 *
 * RELEASING repeats the release until the server confirms it or the clean-up time has passed.
 * ABANDONED lasts until the TTL is long enough. Without a TTL, or in a session, it lasts until the
 * hold time has passed, and the lease is then released. After ENDED the memory is freed as soon as
 * the callback has run and no command is under way. */
#ifndef LOCKKIT_LEASE_H
#define LOCKKIT_LEASE_H

#include "client.h"

#include <stdatomic.h>

/* The local waiters of one name, first come first served: only the head attempts at the server.
 *
 * While no attempt of the head is under way, one of these starts the next: an event (the lock may
 * have become free), the poll timer (jittered, and never later than the end of the present holder's
 * TTL), or, for a head that has not attempted yet, the next turn of the loop. Each event costs one
 * attempt, however many wait. While a lease of this client holds the lock and may hand it over, a
 * new head does not ask: it probably inherits the lock, and else asks in time when that lease is
 * given back. A waiter of a fair lock has a queue of its own, and so its own place in the server's
 * line. */
enum queue_reason { QUEUE_FRESH, QUEUE_POLL, QUEUE_EVENT };

/* The search key of a queue. It comes first, so that a search needs no whole `struct lk_queue`. */
struct queue_key {
    const char *text; /* the name; for the queue of one waiter, its owner token */
    bool is_own;
};

struct lk_queue {
    struct queue_key key;
    const char *name;
    /* The queue of the name, which keeps its news; the queue of one waiter has a reference to it. */
    struct lk_queue *named;
    LIST_HEAD(, lk_queue) own; /* of the queue of a name: the queues of one waiter of that name */
    LIST_HEAD(, lk_lease) leases; /* of the queue of a name: all of that name */
    LIST_ENTRY(lk_queue) own_entry;
    struct lk_client *client;
    unsigned refs; /* locks, leases, inspections, and a due attempt */
    TAILQ_HEAD(, lk_lease) waiters;
    bool is_trying; /* an attempt for the head is under way, perhaps by a waiter that has left */
    uv_timer_t poll;
    bool is_due, is_woken; /* on client->attempts; an event came during an attempt */
    bool is_given_back;    /* this client gave it back during an attempt */
    bool is_in_line; /* by the head's last answer: the server will tell it when it is its turn */
    bool is_ours;    /* a lease of this client holds it, and may hand it over */
    /* For the queue of a name: others kept the lock from this moment on, by client_now_ns(); 0: not
     * seen. */
    int64_t kept_since_ns;
    /* For the queue of a name: when the client last saw that it is kept, or changes hands; 0: never */
    int64_t known_ns;
    unsigned held[2]; /* for the queue of a name: this client's leases, not LOST, by enum lk_mode */
    /* For the queue of a name: a resource has seen this token, so each grant needs a greater one. */
    uint64_t seen_fence;
    struct client_task task;
    enum queue_reason reason; /* of the due attempt */
    char text[];              /* the name, and the owner if it has one */
};

enum lease_phase {
    LEASE_QUEUED,
    LEASE_TRYING,
    LEASE_ORPHANED, /* the caller left while an attempt was under way */
    LEASE_HELD,
    LEASE_ABANDONED, /* the caller left, and the lock stays taken for a while */
    LEASE_RELEASING,
    LEASE_ENDED,
};

/* The options of the lock, with defaults filled in. A lease may outlive its lk_lock. */
struct lk_policy {
    uint32_t asked_ms, ttl_ms; /* the TTL: as asked for, and as granted */
    /* as asked for, and in force: less than the granted TTL */
    uint32_t asked_suspect_ms, suspect_ms;
    uint32_t poll_ms;
    uint32_t permits, limit;
    uint32_t handover; /* how often a grant may be handed over */
    enum lk_mode mode;
    bool has_ttl, is_session, is_renewed, is_fair;
};

struct lk_lock {
    struct lk_queue *queue;
    struct lk_policy policy;
    TAILQ_ENTRY(lk_lock) entry;
};

struct lk_request {
    struct lk_lease *lease;
};

struct lk_lease {
    struct lk_client *client;
    struct lk_queue *queue;
    TAILQ_ENTRY(lk_lease) place; /* in the queue, while QUEUED or TRYING */
    bool is_try;                 /* one attempt, now */
    struct lk_policy policy;
    enum lease_phase phase;
    char owner[OWNER_SIZE];
    /* By phase, the next of: the end of the wait; renewal, SUSPECT or LOST; an extension, or the
     * end of ABANDONED; a release. */
    uv_timer_t timer;
    struct lk_command command; /* acquire, later release */
    struct lk_command renewal; /* also extends an abandoned lease */
    unsigned in_flight;        /* of the two commands */
    int64_t sent_ns;           /* validity counts from here: the attempt, or the last renewal */
    int64_t renewal_sent_ns;   /* of the renewal under way */
    int64_t joined_ns;
    int64_t until_ns;     /* the end of the wait, or VALIDITY_FOREVER */
    unsigned round_trips; /* by the attempts until the outcome */
    int64_t kept_ns;      /* others kept the lock for so long before the outcome; -1: not known */
    bool is_doubtful;     /* an attempt was not answered: it may take effect, even later */
    bool is_lost_early;   /* the backend said LOST before the attempt was answered */
    bool is_in_line;      /* at the server: tell the server when it gives up */

    struct lk_request request;
    lk_acquire_cb on_acquired;
    void *acquire_data;
    enum lk_status last;    /* of the last answered attempt, if the wait ends now; LK_OK: none */
    enum lk_status outcome; /* the status for the callback */
    bool is_outcome_due;    /* from the outcome until the callback has run */
    struct client_task tell_outcome;

    _Atomic int64_t valid_until_ns; /* the blocking facade reads it from other threads */
    _Atomic bool is_suspended;      /* the backend doubts the lease, until its next renewal */
    int64_t renew_at_ns, granted_ns;
    uint64_t fence;
    uint32_t handovers_left; /* the same number of tokens above `fence` is reserved */
    enum lk_state told;
    bool is_unheard; /* `told` is not HELD, and no callback has heard it */
    lk_state_cb on_state;
    void *state_data;

    int64_t hold_until_ns; /* while ABANDONED */

    lk_release_cb on_released;
    void *release_data;
    int64_t cleanup_until_ns;
    uint32_t pause_ms; /* before the next release */
    bool is_answered;  /* the caller knows how the release ended */

    TAILQ_ENTRY(lk_lease) entry;
    LIST_ENTRY(lk_lease) named_entry;
    max_align_t internal[]; /* the backend's memory for the two commands */
};

/* Make a lease with a new owner token, QUEUED but in no queue. */
LK_CHECK enum lk_status lease_new(struct lk_lease **lease, struct lk_lock *lock);

/* Change the phase. Asserts that the picture has that arrow. */
void lease_move(struct lk_lease *lease, enum lease_phase phase);

/* Start `command`, which is one of the lease's own. */
void lease_run(struct lk_lease *lease, struct lk_command *command, enum lk_verb verb,
               uint32_t reply_ms, void (*on_answer)(struct lk_command *command));

/* The answer is here. The callback of lease_run() calls this first. */
void lease_answered(struct lk_lease *lease, struct lk_command *command);

/* Move to ENDED: nothing is left at the server, or nothing that the client gives back. */
void lease_end(struct lk_lease *lease);

/* Free it, if it is ENDED and nothing refers to it. */
void lease_maybe_free(struct lk_lease *lease);

/* The lease was granted. */
void lease_hold(struct lk_lease *lease);
/* The TTL counts from `sent_ns`, and lasts as long as `command` was granted. */
void lease_set_validity(struct lk_lease *lease, const struct lk_command *command, int64_t sent_ns);
/* The backend says that a HELD lease is SUSPECT or LOST. The callback may release it. */
void lease_doubt(struct lk_lease *lease, enum lk_state state, const char *why);
/* Stop timer and renewal, and count the time. */
void lease_stop_holding(struct lk_lease *lease);

/* Give back a HELD lease. */
void lease_release(struct lk_lease *lease);
/* Give back what the lease has, or may have, at the server. The caller does not wait for it. */
void lease_withdraw(struct lk_lease *lease);
/* The client is closing: end the lease in the way of its phase. */
void lease_close(struct lk_lease *lease);

/* ---- queue.c */

/* Find or make the queue of `name`, or of `owner` alone, and add a reference. NULL: out of memory.
 */
struct lk_queue *queue_ref(struct lk_client *client, const char *name, const char *owner);
/* The queue of `name`, or NULL. */
struct lk_queue *queue_named(struct lk_client *client, const char *name);
/* Drop a reference. The queue goes with the last one. */
void queue_unref(struct lk_queue *queue);

/* This client has given the lock back, or may have. A head that stands in line at the server does
 * not ask: the server tells it when the lock is handed to it. */
void queue_given_back(struct lk_queue *queue);
/* A lease of this client that could have handed the lock over has lost it, or was abandoned. */
void queue_not_ours(struct lk_queue *queue);
/* This client has just sent the release of the lock. Where clients take turns the head asks at
 * once, so that its request follows the release on the connection. Then it stands in line before
 * the next holder can give the lock back. Else a faster client could get the lock several times in
 * a row. */
void queue_giving_back(struct lk_queue *queue);
/* The lock `name` may have become free for `owner`; without an owner, for every waiter; without a
 * name, all locks may have become free. */
void queue_wake(struct lk_client *client, const char *name, const char *owner);
/* The wait of `lease`, QUEUED or TRYING, ends with `status`. */
void queue_end_wait(struct lk_lease *lease, enum lk_status status);

/* For handover.c. This client was granted the lock, perhaps too late, or it gives the lock back. */
void queue_saw_change(struct lk_queue *queue);
/* The head waits for an event, at most its `poll_ms`, and `remaining_ms` (negative: unknown). */
void queue_wait_for_event(struct lk_queue *queue, int64_t remaining_ms);
/* `lease` leaves the queue. Returns the new head. Without one there is no reason to poll, or to be
 * woken. */
struct lk_lease *queue_take_out(struct lk_queue *queue, struct lk_lease *lease);
/* Each gets the owner token of the other. No command of either is under way. */
void lease_swap_owners(struct lk_lease *lease, struct lk_lease *other);
/* `lease` leaves its place in the line, or its unanswered attempt, to `next` (or NULL), if `next`
 * can take it over. True: `next` now stands in the server's line. */
bool lease_pass_on(struct lk_lease *lease, struct lk_lease *next);
/* The request of `lease` is over. */
void acquire_let_go(struct lk_lease *lease);
/* Run `tell` in the next turn of the loop; the lease stays until then. Or: tell this status. */
void acquire_tell_soon(struct lk_lease *lease, void (*tell)(void *data));
void acquire_set_outcome(struct lk_lease *lease, enum lk_status status);

#endif
