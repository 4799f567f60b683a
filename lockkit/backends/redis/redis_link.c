/* Open the connection, and read INFO memory each time it comes up. */
#include "redis_link.h"

#include "clock.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define INFO_MS 2000

enum lk_status redis_link_status(const struct redis_call *call) {
    static const enum lk_status statuses[] = {[REDIS_IS_OK] = LK_OK,
                                              [REDIS_IS_REJECTED] = LK_REFUSED,
                                              [REDIS_IS_NOT_SENT] = LK_UNAVAILABLE,
                                              [REDIS_IS_UNKNOWN] = LK_UNKNOWN};

    return statuses[call->status];
}

void redis_link_tell_refused(struct redis_link *link, const char *why) {
    assert(strlen(why) < sizeof link->info.message);
    answer_tell_refused(&link->refusals, "redis refuses a lock command", why);
}

/* The text after `name` and a colon, up to the end of the line. */
static const char *info_field(const char *info, const char *name, int *length) {
    const char *at = strstr(info, name);

    at = at != NULL ? at + strlen(name) : "";
    *length = (int)strcspn(at, "\r\n");
    return at;
}

/* A lock has a TTL, so a policy that evicts only keys with a TTL evicts locks, too. A user without
 * the right to INFO can still use locks. */
static void redis_link_on_info(struct redis_call *call, const redisReply *reply) {
    struct redis_link *link = call->data;
    const char *limit, *policy;
    int length, policy_length;
    bool may_evict;

    link->is_asked = false;
    if (reply == NULL || reply->type != REDIS_REPLY_STRING)
        return;
    limit = info_field(reply->str, "\nmaxmemory:", &length);
    policy = info_field(reply->str, "\nmaxmemory_policy:", &policy_length);
    may_evict = strtoull(limit, NULL, 10) > 0 && policy_length > 0 &&
                strncmp(policy, "noeviction", (size_t)policy_length) != 0;
    if (may_evict && !link->is_told)
        log_warn("redis may evict a lock, and grant it twice",
                 "maxmemory=%.*s maxmemory_policy=%.*s wanted=noeviction", length, limit,
                 policy_length, policy);
    link->is_told = may_evict;
}

static void on_link_up(void *data) {
    struct redis_link *link = data;

    if (link->on_up != NULL)
        link->on_up(link->data);
    if (link->is_asked)
        return;
    link->is_asked = true;
    link->info = (struct redis_call){.argc = 2,
                                     .argv = {"INFO", "memory"},
                                     .deadline_ms = clock_now_ms() + INFO_MS,
                                     .data = link};
    redis_call_start(link->redis, &link->info, redis_link_on_info);
}

enum lk_status redis_link_open(struct redis_link *link, uv_loop_t *loop, const char *url,
                               void (*on_up)(void *), void *data) {
    const struct redis_options options = {
        .url = url, .name = "lockkit", .on_up = on_link_up, .data = link};

    link->on_up = on_up;
    link->data = data;
    switch (redis_open(&link->redis, loop, &options)) {
    case 0:
        return LK_OK;
    case UV_ENOMEM:
        return LK_NOMEM;
    case UV_ENOTSUP:
        return LK_UNSUPPORTED;
    }
    return LK_INVALID;
}
