/* The local waiters of one name, first come first served: only the head attempts at the server.
 *
 * While no attempt of the head is under way, one of these brings the next: an event (the lock may
 * have become free), the poll timer (jittered, and never later than the end of the present holder's
 * TTL), or, for a head that has not attempted yet, the next turn of the loop. Each event costs one
 * attempt, however many wait.
 *
 * Who gave the lock back knows it first, so that a client with many waiters would win again and
 * again. After ROW_MOST grants in a row, if the server says that others listen, it therefore stands
 * back for a moment, unless its head cannot wait so long. That costs a moment of an idle lock when
 * the others were not waiting after all; then the next row may be twice as long, up to ROW_LIMIT.
 * (A bound on the local hand-overs, as in lock cohorting: Dice, Marathe and Shavit, PPoPP 2012.) */
#ifndef LOCKKIT_QUEUE_H
#define LOCKKIT_QUEUE_H

#include "client.h"

enum queue_reason { QUEUE_FRESH, QUEUE_POLL, QUEUE_EVENT };

/* One who waits: a member of its owner, who fills it in before queue_join(). */
struct queue_waiter {
    bool is_try;       /* attempts once, at once */
    uint32_t poll_ms;  /* the longest time between two attempts */
    uint64_t until_ms; /* when it gives up, by uv_now(); UINT64_MAX: never */
    /* It is the head and should ask the server now. What comes of it is told later, not inside the
     * call: queue_granted(), queue_refused(), or queue_leave(). */
    void (*attempt)(void *data);
    void *data;
    TAILQ_ENTRY(queue_waiter) entry;
};

struct lk_queue {
    const char *name; /* the key; first, so that a search needs no whole `struct lk_queue` */
    struct lk_client *client;
    unsigned refs; /* locks, leases, inspections, and an attempt that is due */
    TAILQ_HEAD(, queue_waiter) waiters;
    unsigned length;
    bool is_trying; /* an attempt of the head is under way */
    uv_timer_t poll;
    struct lk_watch *watch; /* NULL until the first contention */
    bool is_due, is_woken;  /* on client->attempts; an event came during an attempt */
    struct client_task task;
    char last_owner[OWNER_SIZE];  /* who of us gave it back last, or is about to */
    uint64_t last_fence;          /* of our last grant */
    uint64_t seen_fence;          /* the highest known of, be it by a resource */
    unsigned in_row, in_row_most; /* our grants with nobody else's between */
    uint64_t stand_back_until_ms; /* by uv_now() */
    enum queue_reason reason;     /* of the attempt that is due */
    TAILQ_ENTRY(lk_queue) entry;
    char name_copy[];
};

/* Find or make the queue of `name`, with one reference more. NULL without memory. */
struct lk_queue *queue_ref(struct lk_client *client, const char *name);
/* With the last reference it goes, or stays for a while as one of client->idle_queues. */
void queue_unref(struct lk_queue *queue);
void queue_discard(struct lk_queue *queue); /* one of client->idle_queues */

void queue_join(struct lk_queue *queue, struct queue_waiter *waiter);
/* It has given up, in any place. */
void queue_leave(struct lk_queue *queue, struct queue_waiter *waiter);
/* The head has got the lock, with this fencing token, and leaves. `before` is the token of the
 * grant before it, 0 when that is not known. */
void queue_granted(struct lk_queue *queue, struct queue_waiter *waiter, uint64_t fence,
                   uint64_t before);
/* There is, or was, such a token. */
void queue_saw_fence(struct lk_queue *queue, uint64_t fence);

/* The head has been refused: it waits for an event, for its `poll_ms` at most, and no longer than
 * `remaining_ms` (negative: unknown). */
void queue_refused(struct lk_queue *queue, int64_t remaining_ms);

/* One of us has given the lock back, or may have, and `heard_by` watchers were told. */
void queue_given_back(struct lk_queue *queue, unsigned heard_by);

#endif
