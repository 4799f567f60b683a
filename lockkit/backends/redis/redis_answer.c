/* Reads the replies of the scripts. Any other reply leaves the outcome unknown. */
#include "redis_answer.h"

#include <stdlib.h>

#define FIELDS 5 /* of each holder and waiter that INSPECT finds */

static const char *redis_answer_text_at(const redisReply *reply, size_t index) {
    const char *text = redis_reply_text(reply, index);

    return text != NULL ? text : "";
}

/* The last element, if it is a list: of news for others of ours. */
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
    redis_handovers_clock(handovers, sent_ms, redis_reply_integer(reply, 3));
    redis_handovers_listen(handovers);
}

/* -1: there is no such list. */
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
