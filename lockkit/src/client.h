/* A client: one backend on one loop, and everything that is under way on it. */
#ifndef LOCKKIT_CLIENT_H
#define LOCKKIT_CLIENT_H

#include "backend.h"

#include <stdlib.h>
#include <sys/queue.h>

#define HANDOVER_MOST 1000

/* How long to trust a grant: pure functions of moments, on the boot-time clock. */
#define NS_PER_MS        1000000
#define VALIDITY_FOREVER INT64_MAX /* on a backend without TTL */
#define VALIDITY_NONE    0         /* the server said that this client does not hold it */

/* The end of validity of a grant that was asked for at `sent_ns`: the TTL from then, minus the
 * drift of the two clocks, 1 % + 2 ms. VALIDITY_NONE when nothing is left. */
int64_t validity_until(int64_t sent_ns, uint32_t ttl_ms);
enum lk_state validity_state(int64_t until_ns, uint32_t suspect_ms, int64_t now_ns);
/* Milliseconds left, rounded down; 0 when over; INT64_MAX for ever. */
int64_t validity_left_ms(int64_t until_ns, int64_t now_ns);

/* Work for the next turn of the loop, and not inside the call that made it due. A member of the
 * part of the client that has the work. The part must stay until `run` has been called, once. */
struct client_task {
    void (*run)(void *data);
    void *data;
    TAILQ_ENTRY(client_task) entry;
};
TAILQ_HEAD(task_list, client_task);

struct lk_client {
    uv_loop_t *loop;
    struct lk_backend *backend;
    unsigned caps;
    uint32_t handover; /* from the URL, for locks that set none */
    char label[LABEL_MAX_BYTES + 1];
    uint32_t reply_ms, cleanup_ms;
    uint64_t (*clock_ns)(void *data);
    void *clock_data;
    int64_t slow_ns, slow_at_ns; /* the slowest recent answer: how long it took, and when it came */
    uint64_t seen_fence; /* the highest known token of any name, granted or seen by a resource */
    struct lk_counters counters;
    unsigned short random[3]; /* state of the jitter, not for tokens */

    uv_idle_t idle; /* runs the tasks */
    /* Queues with a head that should attempt, and acquisitions with a callback that should run. The
     * attempts run first: a callback may take long, and a free lock should not wait for it. Urgent:
     * the head stands in line at the server, or the lock may have become free. */
    struct task_list urgent_attempts, attempts, outcomes;
    /* ACQUIREs without an answer, and how many there may be. More would wait in a queue of the
     * backend or the server, past their reply_ms, and renewals and releases would wait behind them.
     * Answers that take too long make the room narrower; while attempts wait, others widen it. */
    unsigned acquires_out, acquires_room;
    int64_t narrowed_ns;

    void *queues; /* tree of struct lk_queue */
    TAILQ_HEAD(, lk_lock) locks;
    TAILQ_HEAD(, lk_lease) leases;
    /* The number of queues with a reference, plus one until the client is closed. */
    unsigned parts;
    bool is_closing;
    unsigned fork_depth; /* of the process that opened it */
    /* once no part is left: of backend and idle handle, the number still open */
    unsigned tearing_down;
    lk_close_cb on_closed;
    void *close_data;
};

/* This process is a child of the one that opened the client, and must not use it. */
bool client_is_inherited(const struct lk_client *client);

/* Now, on the clock of validity. Any thread may call it. */
int64_t client_now_ns(const struct lk_client *client);

/* A moment `ms` from now. */
int64_t client_moment_ns(const struct lk_client *client, uint32_t ms);

/* Between half and all of `ms`, at least 1. */
uint32_t client_jitter_ms(struct lk_client *client, uint32_t ms);

/* An event that the backend tells (struct lk_backend_config). */
void client_push(void *client, enum lk_push what, const char *name, const char *owner,
                 const char *why);

/* Run `task` in the next turn of the loop, an attempt as soon as there is room. `tasks` is one of
 * the client's lists. */
void client_run_soon(struct lk_client *client, struct task_list *tasks, struct client_task *task,
                     void (*run)(void *data), void *data);

/* An ACQUIRE was started; it was answered. `is_timely` says what the answer tells about the room:
 * there is no queue before the server, or there is one. NULL: nothing. */
void client_acquire_begun(struct lk_client *client);
void client_acquire_answered(struct lk_client *client, int64_t sent_ns, const bool *is_timely);

/* A queue has gone, or the client is closed. The last call tears the client down. */
void client_part_gone(struct lk_client *client);

#endif
