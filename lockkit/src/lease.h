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

#include "queue.h"

#include <stdatomic.h>

/* How long a grant may be believed: pure functions of moments, on the boot-time clock. */
#define NS_PER_MS        1000000
#define VALIDITY_FOREVER INT64_MAX /* on a backend without TTL */
#define VALIDITY_NONE    0         /* the server said that it is not ours: over at any time */

/* The moment up to which a grant that was asked for at `sent_ns` is valid: the TTL from then, minus
 * what the two clocks may drift apart meanwhile, 1 % + 2 ms; VALIDITY_NONE when that is nothing. */
int64_t validity_until(int64_t sent_ns, uint32_t ttl_ms);
enum lk_state validity_state(int64_t until_ns, uint32_t suspect_ms, int64_t now_ns);
/* Milliseconds left, rounded down; 0 when over; INT64_MAX for ever. */
int64_t validity_left_ms(int64_t until_ns, int64_t now_ns);

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

#endif
