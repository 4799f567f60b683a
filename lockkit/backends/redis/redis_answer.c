/* Reads the replies of the scripts, as redis_scripts.h says. Any other reply leaves the outcome
 * unknown. */
#include "redis_answer.h"

#include "redis_grants.h"
#include "redis_messages.h"

#include <stdlib.h>

#define FIELDS 5 /* of each holder and waiter */

static int64_t integer_at(const redisReply *reply, size_t index) {
    if (reply->type != REDIS_REPLY_ARRAY || index >= reply->elements ||
        reply->element[index]->type != REDIS_REPLY_INTEGER)
        return -1;
    return reply->element[index]->integer;
}

static const char *string_at(const redisReply *reply, size_t index) {
    const redisReply *element = index < reply->elements ? reply->element[index] : NULL;

    return element && element->type == REDIS_REPLY_STRING ? element->str : "";
}

/* The last element, if it is a list: of news for others of ours. */
static void take_news(struct redis_server *server, const redisReply *reply) {
    const redisReply *news = reply->type == REDIS_REPLY_ARRAY && reply->elements > 0
                                 ? reply->element[reply->elements - 1]
                                 : NULL;

    for (size_t i = 0; news && news->type == REDIS_REPLY_ARRAY && i < news->elements; i++)
        redis_messages_take(server, string_at(news, i));
}

static void take_grant(struct redis_server *server, struct lk_command *command, int64_t sent_ms,
                       const redisReply *reply) {
    const int64_t outcome = integer_at(reply, 0), fence = integer_at(reply, 1);

    if (outcome == 1 && fence > 0) {
        command->status = LK_OK;
        command->fence = (uint64_t)fence;
        return;
    }
    command->status = outcome == 0 ? LK_BUSY : LK_UNKNOWN;
    if (outcome != 0)
        return;
    command->remaining_ms = integer_at(reply, 1);
    command->is_queued = integer_at(reply, 2) == 1;
    if (!command->is_queued)
        return;
    redis_grants_clock(&server->grants, sent_ms, integer_at(reply, 3));
    redis_messages_listen(server);
}

/* -1: there is no such list. */
static ssize_t count_of(const redisReply *reply, size_t index) {
    const redisReply *list =
        reply->type == REDIS_REPLY_ARRAY && index < reply->elements ? reply->element[index] : NULL;

    if (!list || list->type != REDIS_REPLY_ARRAY || list->elements % FIELDS != 0)
        return -1;
    for (size_t i = 0; i < list->elements; i++)
        if (list->element[i]->type != (i % FIELDS == 1 ? REDIS_REPLY_INTEGER : REDIS_REPLY_STRING))
            return -1;
    return (ssize_t)(list->elements / FIELDS);
}

static void take_list(struct lk_holder *to, const redisReply *list, size_t count) {
    for (size_t i = 0; i < count; i++) {
        unsigned long permits = strtoul(string_at(list, i * FIELDS + 3), NULL, 10);

        to[i] = (struct lk_holder){.owner = string_at(list, i * FIELDS),
                                   .remaining_ms = integer_at(list, i * FIELDS + 1),
                                   .fence = strtoull(string_at(list, i * FIELDS + 2), NULL, 10),
                                   .label = string_at(list, i * FIELDS + 4),
                                   .mode = permits > 0 ? LK_SHARED : LK_EXCLUSIVE,
                                   .permits = permits > 0 ? (uint32_t)permits : 1};
    }
}

static void take_inspection(struct lk_command *command, const redisReply *reply,
                            struct lk_holder **found) {
    const ssize_t lists[] = {count_of(reply, 0), count_of(reply, 1)};
    const size_t holders = (size_t)lists[0], waiters = (size_t)lists[1];

    command->status = lists[0] < 0 || lists[1] < 0 ? LK_UNKNOWN : LK_OK;
    if (command->status != LK_OK || holders + waiters == 0)
        return;
    *found = calloc(holders + waiters, sizeof **found);
    if (!*found) {
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

void redis_answer_take(struct redis_server *server, struct lk_command *command, int64_t sent_ms,
                       const redisReply *reply, size_t index, struct lk_holder **found) {
    const int64_t outcome = integer_at(reply, index);

    switch (command->verb) {
    case LK_ACQUIRE:
        take_grant(server, command, sent_ms, reply);
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
    take_news(server, reply);
}
