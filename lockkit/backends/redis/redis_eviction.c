/* Reads INFO memory. A lock has a TTL, so a policy that evicts only keys with one evicts locks,
 * too.
 */
#include "redis_eviction.h"

#include "clock.h"
#include "log.h"

#include <stdlib.h>
#include <string.h>

#define ANSWER_MS 2000

/* The text after `name` and a colon, up to the end of the line. */
static const char *field(const char *info, const char *name, int *length) {
    const char *at = strstr(info, name);

    at = at ? at + strlen(name) : "";
    *length = (int)strcspn(at, "\r\n");
    return at;
}

static void on_info(struct redis_call *call, const redisReply *reply) {
    struct redis_eviction *eviction = call->data;
    const char *limit, *policy;
    int length, policy_length;
    bool may_evict;

    eviction->is_asked = false;
    if (!reply || reply->type != REDIS_REPLY_STRING)
        return; /* it is for a look only: a user without the right to INFO has locks all the same */
    limit = field(reply->str, "\nmaxmemory:", &length);
    policy = field(reply->str, "\nmaxmemory_policy:", &policy_length);
    may_evict = strtoull(limit, NULL, 10) > 0 && policy_length > 0 &&
                strncmp(policy, "noeviction", (size_t)policy_length) != 0;
    if (may_evict && !eviction->is_told)
        log_warn("redis may evict locks, and then two hold one",
                 "maxmemory=%.*s maxmemory_policy=%.*s wanted=noeviction", length, limit,
                 policy_length, policy);
    eviction->is_told = may_evict;
}

void redis_eviction_check(struct redis_eviction *eviction, struct redis *redis) {
    if (eviction->is_asked)
        return;
    eviction->is_asked = true;
    eviction->call = (struct redis_call){.argc = 2,
                                         .argv = {"INFO", "memory"},
                                         .deadline_ms = clock_now_ms() + ANSWER_MS,
                                         .data = eviction};
    redis_call_start(redis, &eviction->call, on_info);
}
