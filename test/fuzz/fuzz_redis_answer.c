/* Replies of a Redis server to the lock scripts: hiredis parses the bytes, and we read its
 * reply. */
#include "cluster_slot.h"
#include "fuzz.h"
#include "redis_answer.h"
#include "wire_layout.h"

static void push(void *data, enum lk_push what, const char *name, const char *owner,
                 const char *why) {
    (void)data;
    (void)what;
    (void)name;
    (void)why;
    if (owner && strlen(owner) == SIZE_MAX)
        abort();
}

static void read_owner(const char *field) {
    const struct wire_layout *const layouts[] = {&wire_string, &wire_redisson};
    char owner[OWNER_SIZE], back[WIRE_FIELD_SIZE];

    for (size_t i = 0; i < 2; i++) {
        layouts[i]->owner_of(field, owner);
        if (strlen(owner) == OWNER_SIZE - 1)
            (void)layouts[i]->field_of(owner, back);
    }
}

static void take(const redisReply *reply, enum lk_verb verb) {
    static const struct lk_backend_config config = {.push = push};
    struct redis_handovers handovers;
    struct lk_command command = {.verb = verb, .name = "x", .owner = "y"};
    struct lk_holder *found = NULL;
    struct cluster_redirection redirection;

    if (reply->type == REDIS_REPLY_ERROR)
        (void)cluster_redirection_parse(&redirection, reply->str);
    if (!redis_handovers_init(&handovers, &config))
        abort();
    handovers.is_subscribed = true;
    redis_answer_take(&handovers, &command, redis_handovers_now_ms(), reply, 0, &found);
    for (size_t i = 0; i < command.holder_count; i++)
        read_owner(command.holders[i].owner);
    for (size_t i = 0; i < command.waiter_count; i++)
        read_owner(command.waiters[i].label);
    free(found);
    redis_handovers_forget(&handovers);
}

/* hiredis allocates as many elements as an array announces, even gigabytes. Skip such arrays. */
static bool announces_many(const uint8_t *data, size_t size) {
    size_t digits = 0;

    for (size_t i = 0; i < size && digits < 4; i++)
        digits = data[i] >= '0' && data[i] <= '9' ? digits + 1 : 0;
    return digits >= 4 && memchr(data, '*', size) && size > 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    redisReader *reader;
    void *reply = NULL;

    if (announces_many(data, size))
        return 0;
    reader = redisReaderCreate();
    (void)redisReaderFeed(reader, (const char *)data, size);
    while (redisReaderGetReply(reader, &reply) == REDIS_OK && reply) {
        for (int verb = LK_ACQUIRE; verb <= LK_BREAK; verb++)
            take(reply, (enum lk_verb)verb);
        freeReplyObject(reply);
    }
    redisReaderFree(reader);
    return 0;
}
