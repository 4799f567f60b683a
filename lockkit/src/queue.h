/* The local waiters of one name, first come first served: only the head attempts at the server.
 *
 * While no attempt of the head is under way, one of these brings the next: an event (the lock may
 * have become free), the poll timer (jittered, and never later than the end of the present holder's
 * TTL), or, for a head that has not attempted yet, the next turn of the loop. Each event costs one
 * attempt, however many wait. While one of us holds who may hand over, a new head does not ask: it
 * is likely to be handed the lock, and is in time when that one gives back. A waiter of a fair lock
 * has a queue of its own, and so its own place in the server's line. */
#ifndef LOCKKIT_QUEUE_H
#define LOCKKIT_QUEUE_H

#include "client.h"

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
