/* One acquisition, from the call of lk_acquire() until nothing of it is left at the server.
 *
 * Request and lease are one object with one owner token and one allocation, so that nothing can
 * run out of memory between a grant and the moment it is given back.
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
 * When the next waiter goes on with what a lease has begun, the lease goes to ENDED, and the waiter
 * moves as if it had begun that itself.
 *
 * RELEASING repeats the release until it is confirmed or the clean-up time has passed. ABANDONED
 * lasts until the TTL is long enough, or, without one or in a session, until the time has passed,
 * and is released then. After ENDED the memory goes as soon as the callback has run and no command
 * is under way. */
#ifndef LOCKKIT_LEASE_H
#define LOCKKIT_LEASE_H

#include "client.h"

#include <stdatomic.h>

/* The local waiters of one name, first come first served: only the head attempts at the server.
 *
 * While no attempt of the head is under way, one of these brings the next: an event (the lock may
 * have become free), the poll timer (jittered, and never later than the end of the present holder's
 * TTL), or, for a head that has not attempted yet, the next turn of the loop. Each event costs one
 * attempt, however many wait. While one of us holds who may hand over, a new head does not ask: it
 * is likely to be handed the lock, and is in time when that one gives back. A waiter of a fair lock
 * has a queue of its own, and so its own place in the server's line. */
enum queue_reason { QUEUE_FRESH, QUEUE_POLL, QUEUE_EVENT };

/* What a queue is found by; first, so that a search needs no whole `struct lk_queue`. */
struct queue_key {
    const char *text; /* the name, or the owner token of the only waiter */
    bool is_own;
};

struct lk_queue {
    struct queue_key key;
    const char *name;
    struct lk_client *client;
    unsigned refs; /* locks, leases, inspections, and an attempt that is due */
    TAILQ_HEAD(, lk_lease) waiters;
    bool is_trying; /* an attempt for the head is under way, be it of one that has left */
    uv_timer_t poll;
    bool is_due, is_woken; /* on client->attempts; an event came during an attempt */
    bool is_given_back;    /* one of us gave it back during an attempt */
    bool is_in_line;       /* the head's last answer said so: it is told when it is its turn */
    bool is_ours;          /* one of us holds it who may hand it over */
    /* Of the name: others were seen to keep it from then on, by client_now_ns(); 0: not seen. */
    int64_t kept_since_ns;
    int64_t changed_ns; /* of the name: the last change that was seen; 0: none */
    struct client_task task;
    enum queue_reason reason; /* of the attempt that is due */
    char text[];              /* the name; and the owner */
};

enum lease_phase {
    LEASE_QUEUED,
    LEASE_TRYING,
    LEASE_ORPHANED, /* the caller has gone while an attempt was under way */
    LEASE_HELD,
    LEASE_ABANDONED, /* the caller has gone, and the lock stays taken for a while */
    LEASE_RELEASING,
    LEASE_ENDED,
};

/* The options of the lock, with defaults filled in: a lease may outlive its lk_lock. */
struct lk_policy {
    uint32_t asked_ms, ttl_ms;             /* the TTL as asked for; as granted */
    uint32_t asked_suspect_ms, suspect_ms; /* the latter less than the TTL as granted */
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
    TAILQ_ENTRY(lk_lease) place; /* in the queue while QUEUED or TRYING */
    bool is_try;                 /* attempts once, at once */
    struct lk_policy policy;
    enum lease_phase phase;
    char owner[OWNER_SIZE];
    /* By phase: the end of the wait; the next of renewal, SUSPECT and LOST; the next extension, or
     * the end of being abandoned; the next release. */
    uv_timer_t timer;
    struct lk_command command; /* acquire, and later release */
    struct lk_command renewal; /* and what extends an abandoned lease */
    unsigned in_flight;        /* of these two */
    int64_t sent_ns;           /* from when it counts: of the attempt, or the last renewal */
    int64_t renewal_sent_ns;   /* of the one under way */
    int64_t joined_ns;
    int64_t until_ns;     /* the end of the wait, or VALIDITY_FOREVER */
    unsigned round_trips; /* of the attempts until the outcome */
    int64_t kept_ns;  /* before the outcome: others kept the lock for so long of the wait, or -1 */
    bool is_doubtful; /* an attempt was not answered: it may take effect, even later */
    bool is_lost_early; /* the backend says so, of what the attempt under way gets */
    bool is_in_line;    /* at the server, which is to be told if it gives up */

    struct lk_request request;
    lk_acquire_cb on_acquired;
    void *acquire_data;
    enum lk_status last;    /* what to say when the wait ends */
    enum lk_status outcome; /* what the callback will be told */
    bool is_outcome_due;    /* from the moment it is settled until the callback has run */
    struct client_task tell_outcome;

    _Atomic int64_t valid_until_ns; /* read from other threads by the blocking facade */
    _Atomic bool is_suspended;      /* the backend doubts it, until the next renewal */
    int64_t renew_at_ns, granted_ns;
    uint64_t fence;
    uint32_t handovers_left; /* and so many tokens above `fence` are ours */
    enum lk_state told;
    bool is_unheard; /* `told` is not HELD, and there was no callback to tell */
    lk_state_cb on_state;
    void *state_data;

    int64_t hold_until_ns; /* once ABANDONED */

    lk_release_cb on_released;
    void *release_data;
    int64_t cleanup_until_ns;
    uint32_t pause_ms; /* before the next release */
    bool is_answered;  /* the release has been reported to the caller */

    TAILQ_ENTRY(lk_lease) entry;
    max_align_t internal[]; /* the backend's parts of the two commands */
};

/* A fresh lease with a fresh owner token, QUEUED but in no queue. */
LK_CHECK enum lk_status lease_new(struct lk_lease **lease, struct lk_lock *lock);

/* Change the phase. Aborts on an arrow that is not in the picture. */
void lease_move(struct lk_lease *lease, enum lease_phase phase);

/* Start `command`, one of the lease's own. */
void lease_run(struct lk_lease *lease, struct lk_command *command, enum lk_verb verb,
               uint32_t reply_ms, void (*on_answer)(struct lk_command *command));

/* Its answer is here: the caller of lease_run() says so first. */
void lease_answered(struct lk_lease *lease, struct lk_command *command);

/* Move to ENDED: there is nothing at the server any more, or nothing that we give back. */
void lease_end(struct lk_lease *lease);

/* Free it, if ENDED and nothing refers to it any more. */
void lease_maybe_free(struct lk_lease *lease);

/* It is granted. */
void lease_hold(struct lk_lease *lease);
/* Its TTL counts from `sent_ns`, for as long as `command` was granted. */
void lease_set_validity(struct lk_lease *lease, const struct lk_command *command, int64_t sent_ns);
/* The backend says SUSPECT or LOST, of one that is HELD. The callback may release it. */
void lease_doubt(struct lk_lease *lease, enum lk_state state, const char *why);
/* Stop timer and renewal, and count the time. */
void lease_stop_holding(struct lk_lease *lease);

/* Give back what is HELD. */
void lease_release(struct lk_lease *lease);
/* Give back what it has, or may have, at the server: the caller does not wait for it. */
void lease_withdraw(struct lk_lease *lease);
/* The client is closing: end it in the way of its phase. */
void lease_close(struct lk_lease *lease);

/* ---- queue.c */

/* Find or make the queue of `name`, or of `owner` alone, with one reference more. NULL without
 * memory. */
struct lk_queue *queue_ref(struct lk_client *client, const char *name, const char *owner);
/* With the last reference it goes. */
void queue_unref(struct lk_queue *queue);

/* One of us has given the lock back, or may have. A head that stands in line at the server need not
 * ask again: it is told when the lock was handed over to it. */
void queue_given_back(struct lk_queue *queue);
/* One of us who might have handed it over has lost it, or has left it as it is. */
void queue_not_ours(struct lk_queue *queue);
/* One of us gives the lock back: that command has just been started. Where clients take turns the
 * head asks at once, in the same breath, so that it stands in line before whoever gets the lock can
 * give it back: else one that is quicker could have it several times in a row. */
void queue_giving_back(struct lk_queue *queue);
/* The lock `name` may have become free for `owner`, or, without one, for whoever waits; without a
 * name all locks may have. */
void queue_wake(struct lk_client *client, const char *name, const char *owner);
/* The wait of `lease`, QUEUED or TRYING, ends with `status`. */
void queue_end_wait(struct lk_lease *lease, enum lk_status status);

#endif
