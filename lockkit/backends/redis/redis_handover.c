/* Hand-overs are kept until their owners ask, or until they are over. */
#include "redis_handover.h"

#include "clock.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define DRIFT_PART 100 /* as the core expects it */
#define LATE_PART  10  /* of the TTL: later than that, asking is worth its round trip */
#define EXACT_MOST (UINT64_C(1) << 53) /* of Lua's numbers */

struct redis_handover {
    char owner[OWNER_SIZE];
    uint64_t fence;
    uint32_t ttl_ms;
    uint64_t at_ms;   /* by the server's clock */
    int64_t began_ms; /* by ours, or before */
    TAILQ_ENTRY(redis_handover) entry;
};

int64_t redis_handovers_now_ms(void) {
    return clock_ns(CLOCK_BOOTTIME) / 1000000;
}

void redis_handovers_clock(struct redis_handovers *handovers, int64_t sent_ms, int64_t server_ms) {
    if (server_ms <= 0)
        return;
    handovers->server_ms = server_ms;
    handovers->sent_ms = sent_ms;
}

static void redis_handover_drop(struct redis_handovers *handovers,
                                struct redis_handover *handover) {
    TAILQ_REMOVE(&handovers->list, handover, entry);
    free(handover);
}

/* Keep a copy, if its TTL is running by our clock. */
static void redis_handover_keep(struct redis_handovers *handovers,
                                const struct redis_handover *news) {
    const int64_t now_ms = redis_handovers_now_ms();
    const int64_t since_ms = (int64_t)news->at_ms - handovers->server_ms;
    const int64_t began_ms = handovers->sent_ms + since_ms - llabs(since_ms) / DRIFT_PART - 1;
    struct redis_handover *handover;

    while ((handover = TAILQ_FIRST(&handovers->list)) != NULL &&
           handover->began_ms + handover->ttl_ms <= now_ms)
        redis_handover_drop(handovers, handover);
    if (handovers->server_ms == 0 || began_ms > now_ms || began_ms + news->ttl_ms <= now_ms)
        return;
    handover = malloc(sizeof *handover);
    if (handover == NULL)
        return;
    *handover = *news;
    handover->began_ms = began_ms;
    TAILQ_INSERT_TAIL(&handovers->list, handover, entry);
}

void redis_handovers_hear(struct redis_handovers *handovers, const char *news) {
    struct redis_handover handover = {0};
    int name = 0;

    if (sscanf(news, "%40[0-9a-f]:%" SCNu64 ":%" SCNu32 ":%" SCNu64 ":%n", handover.owner,
               &handover.fence, &handover.ttl_ms, &handover.at_ms, &name) < 4 ||
        name == 0 || news[name] == '\0' || handover.fence > EXACT_MOST ||
        handover.at_ms > EXACT_MOST)
        return;
    if (!handovers->is_asked_too)
        redis_handover_keep(handovers, &handover);
    handovers->config->push(handovers->config->data, LK_PUSH_FREE, news + name, handover.owner,
                            NULL);
}

/* A subscription that has just become effective is an event as well: it may have missed news. */
static void redis_handover_on_message(struct redis_subscription *subscription,
                                      const char *message) {
    struct redis_handovers *handovers = subscription->data;

    if (message != NULL) {
        redis_handovers_hear(handovers, message);
        return;
    }
    redis_handovers_forget(handovers);
    handovers->config->push(handovers->config->data, LK_PUSH_FREE, NULL, NULL, NULL);
}

bool redis_handovers_init(struct redis_handovers *handovers,
                          const struct lk_backend_config *config) {
    unsigned char bytes[CLIENT_SIZE / 2];

    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return false;
    *handovers = (struct redis_handovers){.config = config};
    TAILQ_INIT(&handovers->list);
    for (size_t i = 0; i < sizeof bytes; i++)
        (void)snprintf(handovers->client + 2 * i, 3, "%02x", bytes[i]);
    (void)snprintf(handovers->channel, sizeof handovers->channel, "lk:client:%s",
                   handovers->client);
    handovers->subscription = (struct redis_subscription){
        .channel = handovers->channel, .on_message = redis_handover_on_message, .data = handovers};
    return true;
}

void redis_handovers_listen(struct redis_handovers *handovers) {
    if (!handovers->is_subscribed)
        handovers->is_subscribed = redis_subscribe(handovers->redis, &handovers->subscription) == 0;
}

bool redis_handovers_take(struct redis_handovers *handovers, struct lk_command *command) {
    struct redis_handover *handover;
    int64_t late_ms;
    bool is_believed;

    assert(command->owner != NULL);
    TAILQ_FOREACH (handover, &handovers->list, entry)
        if (strcmp(handover->owner, command->owner) == 0)
            break;
    if (handover == NULL)
        return false;
    late_ms = redis_handovers_now_ms() - handover->began_ms;
    is_believed = handover->ttl_ms == command->ttl_ms && late_ms <= command->ttl_ms / LATE_PART &&
                  handover->fence > command->fence_above;
    if (is_believed) {
        command->status = LK_OK;
        command->fence = handover->fence;
        command->granted_ms = command->ttl_ms - (uint32_t)(late_ms + late_ms / DRIFT_PART);
    }
    redis_handover_drop(handovers, handover);
    return is_believed;
}

void redis_handovers_forget(struct redis_handovers *handovers) {
    while (!TAILQ_EMPTY(&handovers->list))
        redis_handover_drop(handovers, TAILQ_FIRST(&handovers->list));
    handovers->server_ms = 0;
}

void redis_handovers_close(struct redis_handovers *handovers) {
    redis_handovers_forget(handovers);
    if (handovers->is_subscribed)
        redis_unsubscribe(handovers->redis, &handovers->subscription);
}
