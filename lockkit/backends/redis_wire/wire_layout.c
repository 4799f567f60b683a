/* The two layouts: scripts (lua/), tokens and channels. */
#include "wire_layout.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const struct redis_script redis_wire_string_acquire, redis_wire_string_renew,
    redis_wire_string_release, redis_wire_string_inspect, redis_wire_string_break;
extern const struct redis_script redis_wire_redisson_acquire, redis_wire_redisson_renew,
    redis_wire_redisson_release, redis_wire_redisson_inspect, redis_wire_redisson_break;

static const char *same(const char *owner, char field[WIRE_FIELD_SIZE]) {
    (void)field;
    return owner;
}

static void same_back(const char *field, char owner[OWNER_SIZE]) {
    (void)snprintf(owner, OWNER_SIZE, "%s", field);
}

/* Only lockkit publishes there. */
static void own_channel(const char *name, char channel[WIRE_CHANNEL_SIZE]) {
    (void)snprintf(channel, WIRE_CHANNEL_SIZE, "lk:{%s}:wire", name);
}

const struct wire_layout wire_string = {
    .scheme = "redis+string:",
    .scripts = {[LK_ACQUIRE] = &redis_wire_string_acquire,
                [LK_RENEW] = &redis_wire_string_renew,
                [LK_RELEASE] = &redis_wire_string_release,
                [LK_INSPECT] = &redis_wire_string_inspect,
                [LK_BREAK] = &redis_wire_string_break},
    .field_of = same,
    .owner_of = same_back,
    .channel_of = own_channel,
};

/* The first 32 digits make a UUID, the other 8 the number of a thread. */
static const char *thread_of(const char *owner, char field[WIRE_FIELD_SIZE]) {
    if (strlen(owner) != OWNER_SIZE - 1 || strspn(owner, "0123456789abcdef") != OWNER_SIZE - 1)
        return owner;
    (void)snprintf(field, WIRE_FIELD_SIZE, "%.8s-%.4s-%.4s-%.4s-%.12s:%" PRIu32, owner, owner + 8,
                   owner + 12, owner + 16, owner + 20, (uint32_t)strtoul(owner + 32, NULL, 16));
    return field;
}

/* Undo thread_of(). */
static void owner_of_thread(const char *field, char owner[OWNER_SIZE]) {
    size_t length = 0;

    for (; *field && *field != ':' && length < OWNER_SIZE - 9; field++)
        if (*field != '-')
            owner[length++] = *field;
    (void)snprintf(owner + length, OWNER_SIZE - length, "%08" PRIx32,
                   *field == ':' ? (uint32_t)strtoul(field + 1, NULL, 10) : 0);
}

/* Redisson takes a brace in a name for a hash tag. */
static void redisson_channel(const char *name, char channel[WIRE_CHANNEL_SIZE]) {
    (void)snprintf(channel, WIRE_CHANNEL_SIZE,
                   strchr(name, '{') != NULL ? "redisson_lock__channel:%s"
                                             : "redisson_lock__channel:{%s}",
                   name);
}

const struct wire_layout wire_redisson = {
    .scheme = "redis+redisson:",
    .scripts = {[LK_ACQUIRE] = &redis_wire_redisson_acquire,
                [LK_RENEW] = &redis_wire_redisson_renew,
                [LK_RELEASE] = &redis_wire_redisson_release,
                [LK_INSPECT] = &redis_wire_redisson_inspect,
                [LK_BREAK] = &redis_wire_redisson_break},
    .field_of = thread_of,
    .owner_of = owner_of_thread,
    .channel_of = redisson_channel,
};
