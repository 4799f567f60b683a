/* News of hand-overs, kept until their owners ask, or until they are over. */
#include "redis_grants.h"

#include "clock.h"

#include <stdlib.h>
#include <string.h>

#define DRIFT_PART 100 /* as the core expects it */
#define LATE_PART  10  /* of the TTL: later than that, asking is worth its round trip */

void redis_grants_init(struct redis_grants *grants) {
    TAILQ_INIT(&grants->list);
}

int64_t redis_grants_now_ms(void) {
    return clock_ns(CLOCK_BOOTTIME) / 1000000;
}

void redis_grants_clock(struct redis_grants *grants, int64_t sent_ms, int64_t server_ms) {
    if (server_ms <= 0)
        return;
    grants->server_ms = server_ms;
    grants->sent_ms = sent_ms;
}

static void drop(struct redis_grants *grants, struct redis_grant *grant) {
    TAILQ_REMOVE(&grants->list, grant, entry);
    free(grant);
}

void redis_grants_put(struct redis_grants *grants, const struct redis_grant *news) {
    const int64_t now_ms = redis_grants_now_ms();
    const int64_t since_ms = (int64_t)news->at_ms - grants->server_ms;
    const int64_t began_ms = grants->sent_ms + since_ms - llabs(since_ms) / DRIFT_PART - 1;
    struct redis_grant *grant;

    while ((grant = TAILQ_FIRST(&grants->list)) && grant->began_ms + grant->ttl_ms <= now_ms)
        drop(grants, grant);
    if (grants->server_ms == 0 || began_ms > now_ms || began_ms + news->ttl_ms <= now_ms)
        return;
    grant = malloc(sizeof *grant);
    if (!grant)
        return;
    *grant = *news;
    grant->began_ms = began_ms;
    TAILQ_INSERT_TAIL(&grants->list, grant, entry);
}

bool redis_grants_take(struct redis_grants *grants, struct lk_command *command) {
    struct redis_grant *grant;
    int64_t late_ms;
    bool is_believed;

    TAILQ_FOREACH (grant, &grants->list, entry)
        if (strcmp(grant->owner, command->owner) == 0)
            break;
    if (!grant)
        return false;
    late_ms = redis_grants_now_ms() - grant->began_ms;
    is_believed = grant->ttl_ms == command->ttl_ms && late_ms <= command->ttl_ms / LATE_PART &&
                  grant->fence > command->fence_above;
    if (is_believed) {
        command->status = LK_OK;
        command->fence = grant->fence;
        command->granted_ms = command->ttl_ms - (uint32_t)(late_ms + late_ms / DRIFT_PART);
    }
    drop(grants, grant);
    return is_believed;
}

void redis_grants_forget(struct redis_grants *grants) {
    while (!TAILQ_EMPTY(&grants->list))
        drop(grants, TAILQ_FIRST(&grants->list));
    grants->server_ms = 0;
}
