/* Locks on a majority of N independent Redis servers, in the manner of Redlock
 * (redis.io/docs/latest/develop/use/patterns/distributed-locks).
 *
 * It speaks with the nodes itself, with scripts of its own, instead of through N backends of one
 * server each. Those have a line of waiters, which each server would serve in another order; and a
 * vote is less than a lock: what is granted on one node means nothing before it is counted, is
 * taken back by the attempt that made it, and carries a token that is agreed on between the nodes.
 *
 * A semaphore or a shared lock is not offered: of N counters each of which admits k, a majority
 * admits more than k in total.
 *
 * redlock_node.c says which nodes have a vote, redlock_ballot.c how a command runs and what it
 * leaves, redlock_decide.c and redlock_count.c what the answers mean. */
#include "clock.h"
#include "redlock_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define CLOSE_MS 500 /* for what is still to be given back */

/* What is answered without being sent. */
struct unsent {
    struct redis_call call;
    struct lk_command *command;
    enum lk_status status;
    const char *why;
};

static void on_unsent(struct redis_call *call, const redisReply *reply) {
    struct unsent *unsent = call->data;
    struct lk_command *command = unsent->command;

    (void)reply;
    command->status = unsent->status;
    command->why = unsent->why;
    command->on_answer(command);
}

/* In the next turn of the loop, without memory: a call without arguments ends so. */
static void refuse(struct redlock *redlock, struct lk_command *command, enum lk_status status,
                   const char *why) {
    struct unsent *unsent = command->internal;

    unsent->command = command;
    unsent->status = status;
    unsent->why = why;
    unsent->call.data = unsent;
    redis_call_start(redlock->nodes[0].redis, &unsent->call, on_unsent);
}

static void run(struct lk_backend *backend, struct lk_command *command) {
    struct redlock *redlock = (struct redlock *)backend;
    const struct redlock_url *url = &redlock->url;

    assert(strlen(command->name) <= NAME_MAX_BYTES && !redlock->is_closing);
    command->remaining_ms = -1;
    /* A node would vote before what it forgot has ended. An abandoned lock may be held for longer:
     * it is known to few, and is worth less than the waiting for all. */
    if (command->verb == LK_ACQUIRE && url->quarantine_ms > 0 && command->ttl_ms > url->longest_ms)
        refuse(redlock, command, LK_REFUSED, "the TTL is above the URL's `longest`");
    else if (!redlock_ballot_start(redlock, command))
        refuse(redlock, command, LK_NOMEM, NULL);
}

static void on_timer_closed(uv_handle_t *handle) {
    struct redlock *redlock = handle->data;
    lk_close_cb cb = redlock->on_closed;
    void *data = redlock->data;

    assert(LIST_EMPTY(&redlock->ballots));
    redlock_url_free(&redlock->url);
    free(redlock);
    if (cb)
        cb(data);
}

static void part_closed(void *data) {
    struct redlock *redlock = data;

    if (--redlock->open == 0)
        uv_close((uv_handle_t *)&redlock->timer, on_timer_closed);
}

/* What is under way on a node ends there. */
static void shut(struct redlock *redlock) {
    redlock->is_shut = true;
    redlock->open = redlock->node_count + 1;
    for (unsigned i = 0; i < redlock->node_count; i++)
        redis_close(redlock->nodes[i].redis, part_closed, redlock);
    part_closed(redlock);
}

void redlock_idle(struct redlock *redlock) {
    if (redlock->is_closing && !redlock->is_shut && LIST_EMPTY(&redlock->ballots))
        shut(redlock);
}

static void on_close_too_long(uv_timer_t *timer) {
    shut(timer->data);
}

static void close_redlock(struct lk_backend *backend, lk_close_cb cb, void *data) {
    struct redlock *redlock = (struct redlock *)backend;

    redlock->on_closed = cb;
    redlock->data = data;
    redlock->is_closing = true;
    redlock_unwatch(redlock, true);
    (void)uv_timer_start(&redlock->timer, on_close_too_long, CLOSE_MS, 0);
    redlock_idle(redlock);
}

static enum lk_status open_nodes(struct redlock *redlock) {
    for (unsigned i = 0; i < redlock->url.node_count; i++) {
        struct redlock_node *node = &redlock->nodes[i];
        int error;

        node->redlock = redlock;
        error = redlock_node_open(node, redlock->config.loop, redlock->url.nodes[i]);
        if (error)
            return error == UV_ENOMEM    ? LK_NOMEM
                   : error == UV_ENOTSUP ? LK_UNSUPPORTED
                                         : LK_INVALID;
        redlock->node_count++;
    }
    return LK_OK;
}

static enum lk_status open_redlock(struct lk_backend **backend,
                                   const struct lk_backend_config *config) {
    struct redlock *redlock = calloc(1, sizeof *redlock);
    const int64_t now_ns = clock_now_ns();
    enum lk_status status = LK_NOMEM;

    if (!redlock)
        return LK_NOMEM;
    status = redlock_url_parse(&redlock->url, config->url);
    if (status != LK_OK) {
        free(redlock);
        return status;
    }
    redlock->base.ops = &backend_redlock;
    redlock->config = *config;
    memcpy(redlock->random, &now_ns, sizeof redlock->random);
    LIST_INIT(&redlock->ballots);
    LIST_INIT(&redlock->watches);
    (void)uv_timer_init(config->loop, &redlock->timer);
    redlock->timer.data = redlock;
    status = open_nodes(redlock);
    if (status == LK_OK)
        *backend = &redlock->base;
    else
        shut(redlock); /* those that are open go in the next turns of the loop */
    return status;
}

const struct lk_backend_ops backend_redlock = {
    .scheme = "redlock:",
    .caps = LK_CAP_TTL | LK_CAP_EVENTS | LK_CAP_FENCE_BEST | LK_CAP_CROSS_PROCESS | LK_CAP_BREAK,
    .command_size = sizeof(struct unsent),
    .open = open_redlock,
    .close = close_redlock,
    .run = run,
};
