/* Hand-overs are kept until their owners ask, or until they are over. A malformed reply leaves the
 * outcome unknown. */
#include "redis_answer.h"

#include "clock.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define DRIFT_PART 100                 /* like the core's */
#define LATE_PART  10                  /* of the TTL: after that, asking is worth its round trip */
#define EXACT_MOST (UINT64_C(1) << 53) /* exact integers of Lua's numbers */
#define FIELDS     5                   /* for each holder and waiter that INSPECT finds */

/* ---- Hand-overs */

struct redis_handover {
    char owner[OWNER_SIZE];
    uint64_t fence;
    uint32_t ttl_ms;
    uint64_t at_ms;   /* by the server's clock */
    int64_t began_ms; /* by the client's clock, or earlier */
    TAILQ_ENTRY(redis_handover) entry;
};

int64_t redis_handovers_now_ms(void) {
    return clock_ns(CLOCK_BOOTTIME) / 1000000;
}

static void redis_handover_drop(struct redis_handovers *handovers,
                                struct redis_handover *handover) {
    TAILQ_REMOVE(&handovers->list, handover, entry);
    free(handover);
}

/* Keep a copy, if its TTL runs at this moment by the client's clock. */
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

/* Wake the owner. Without memory its hand-over is lost, and it asks. */
static void redis_handovers_hear(struct redis_handovers *handovers, const char *news) {
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

/* A subscription that has just begun is an event, too: it may have missed news. */
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

/* ---- Answers */

static const char *redis_answer_text_at(const redisReply *reply, size_t index) {
    const char *text = redis_reply_text(reply, index);

    return text != NULL ? text : "";
}

/* The last element, if it is a list, is news for other owners of this client. */
static void take_news(struct redis_handovers *handovers, const redisReply *reply) {
    const redisReply *news = reply->type == REDIS_REPLY_ARRAY && reply->elements > 0
                                 ? reply->element[reply->elements - 1]
                                 : NULL;

    for (size_t i = 0; news != NULL && news->type == REDIS_REPLY_ARRAY && i < news->elements; i++)
        redis_handovers_hear(handovers, redis_answer_text_at(news, i));
}

static void redis_answer_take_grant(struct redis_handovers *handovers, struct lk_command *command,
                                    int64_t sent_ms, const redisReply *reply) {
    const int64_t outcome = redis_reply_integer(reply, 0), fence = redis_reply_integer(reply, 1);

    if (outcome == 1 && fence > 0) {
        command->status = LK_OK;
        command->fence = (uint64_t)fence;
        return;
    }
    command->status = outcome == 0 ? LK_BUSY : LK_UNKNOWN;
    if (outcome != 0)
        return;
    command->remaining_ms = redis_reply_integer(reply, 1);
    command->is_queued = redis_reply_integer(reply, 2) == 1;
    if (!command->is_queued)
        return;
    if (redis_reply_integer(reply, 3) > 0) {
        handovers->server_ms = redis_reply_integer(reply, 3);
        handovers->sent_ms = sent_ms;
    }
    /* Without memory for a subscription only the poll goes on, and the next wait tries again. */
    if (!handovers->is_subscribed)
        handovers->is_subscribed = redis_subscribe(handovers->redis, &handovers->subscription) == 0;
}

/* -1: `reply` has no such list. */
static ssize_t redis_answer_count_of(const redisReply *reply, size_t index) {
    const redisReply *list =
        reply->type == REDIS_REPLY_ARRAY && index < reply->elements ? reply->element[index] : NULL;

    if (list == NULL || list->type != REDIS_REPLY_ARRAY || list->elements % FIELDS != 0)
        return -1;
    for (size_t i = 0; i < list->elements; i++)
        if (list->element[i]->type != (i % FIELDS == 1 ? REDIS_REPLY_INTEGER : REDIS_REPLY_STRING))
            return -1;
    return (ssize_t)(list->elements / FIELDS);
}

static void take_list(struct lk_holder *to, const redisReply *list, size_t count) {
    for (size_t i = 0; i < count; i++) {
        unsigned long permits = strtoul(redis_answer_text_at(list, i * FIELDS + 3), NULL, 10);

        to[i] = (struct lk_holder){
            .owner = redis_answer_text_at(list, i * FIELDS),
            .remaining_ms = redis_reply_integer(list, i * FIELDS + 1),
            .fence = strtoull(redis_answer_text_at(list, i * FIELDS + 2), NULL, 10),
            .label = redis_answer_text_at(list, i * FIELDS + 4),
            .mode = permits > 0 ? LK_SHARED : LK_EXCLUSIVE,
            .permits = permits > 0 ? (uint32_t)permits : 1};
    }
}

static void take_inspection(struct lk_command *command, const redisReply *reply,
                            struct lk_holder **found) {
    const ssize_t lists[] = {redis_answer_count_of(reply, 0), redis_answer_count_of(reply, 1)};
    const size_t holders = (size_t)lists[0], waiters = (size_t)lists[1];

    command->status = lists[0] < 0 || lists[1] < 0 ? LK_UNKNOWN : LK_OK;
    if (command->status != LK_OK || holders + waiters == 0)
        return;
    *found = calloc(holders + waiters, sizeof **found);
    if (*found == NULL) {
        command->status = LK_NOMEM;
        return;
    }
    if (holders > 0)
        take_list(*found, reply->element[0], holders);
    if (waiters > 0)
        take_list(*found + holders, reply->element[1], waiters);
    command->holders = *found;
    command->holder_count = holders;
    command->waiters = *found + holders;
    command->waiter_count = waiters;
}

void redis_answer_take(struct redis_handovers *handovers, struct lk_command *command,
                       int64_t sent_ms, const redisReply *reply, size_t index,
                       struct lk_holder **found) {
    const int64_t outcome = redis_reply_integer(reply, index);

    switch (command->verb) {
    case LK_ACQUIRE:
        redis_answer_take_grant(handovers, command, sent_ms, reply);
        break;
    case LK_RENEW:
    case LK_RELEASE:
    case LK_BREAK:
        command->status = outcome == 1 ? LK_OK : outcome == 0 ? LK_LOST : LK_UNKNOWN;
        break;
    case LK_INSPECT:
        take_inspection(command, reply, found);
        return;
    }
    take_news(handovers, reply);
}
