/* A Redis command in a fiber: wait for the reply, and take it as text. */
#include "redis.h"

#include "fiber.h"

#include <stdio.h>

struct waiter {
    struct fiber_event done;
    char *text;
    size_t size;
    bool is_nil;
};

static void copy_text(struct waiter *waiter, const redisReply *reply) {
    if (reply->type == REDIS_REPLY_INTEGER)
        (void)snprintf(waiter->text, waiter->size, "%lld", reply->integer);
    else if (reply->str)
        (void)snprintf(waiter->text, waiter->size, "%s", reply->str);
    waiter->is_nil = reply->type == REDIS_REPLY_NIL;
}

static void on_awaited(struct redis_call *call, const redisReply *reply) {
    struct waiter *waiter = call->internal.waiter;

    if (reply)
        copy_text(waiter, reply);
    fiber_event_set(&waiter->done);
}

enum redis_status redis_call_await(struct redis *redis, struct redis_call *call, char *text,
                                   size_t size, bool *is_nil) {
    struct waiter waiter = {.done = FIBER_EVENT_INIT, .text = text, .size = size};

    if (size > 0)
        text[0] = '\0';
    call->internal.waiter = &waiter;
    redis_call_start(redis, call, on_awaited);
    fiber_event_wait(&waiter.done);
    if (is_nil)
        *is_nil = waiter.is_nil;
    return call->status;
}
