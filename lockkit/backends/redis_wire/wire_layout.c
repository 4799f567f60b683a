/* The two layouts: scripts, tokens and channels. */
#include "wire_layout.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The fencing token of a new grant, stored before the grant, so that a counter that cannot rise
 * grants nothing. It is the server's clock in microseconds, or one above the last, or one above
 * what the client has seen, whichever is most. Lua counts exactly up to 2^53. */
#define MINT                                                                                       \
    "local last = tonumber(redis.call('HGET', KEYS[2], 'fence') or 0)\n"                           \
    "local now = redis.call('TIME')\n"                                                             \
    "local fence = last and math.max(last, now[1] * 1000000 + now[2] - 1, tonumber(ARGV[5])) + "   \
    "1\n"                                                                                          \
    "if not fence or fence > 9007199254740991 then\n"                                              \
    "  return redis.error_reply('ERR the fencing counter is no number, or too large')\n"           \
    "end\n"                                                                                        \
    "redis.call('HSET', KEYS[2], 'fence', string.format('%.0f', fence),\n"                         \
    "  'owner', ARGV[1], 'label', ARGV[3])\n"

/* Found again after a lost reply: no new token. */
#define EXTEND_OWN                                                                                 \
    "  redis.call('PEXPIRE', KEYS[1], ARGV[2])\n"                                                  \
    "  return {1, tonumber(redis.call('HGET', KEYS[2], 'fence') or 0)}\n"                          \
    "end\n"

#define EXTEND                                                                                     \
    "redis.call('PEXPIRE', KEYS[1], ARGV[2])\n"                                                    \
    "return {1}\n"

/* A channel that may not be published to must not hide that the lock was given back. */
#define DROP                                                                                       \
    "redis.call('DEL', KEYS[1])\n"                                                                 \
    "redis.pcall('PUBLISH', ARGV[4], '0')\n"                                                       \
    "return {1}\n"

/* {1}, or {1, who holds, remaining ms, fence, label}; the fence is 0 when it is none of ours. */
#define SHOW                                                                                       \
    "local own = redis.call('HMGET', KEYS[2], 'owner', 'fence', 'label')\n"                        \
    "local is_own = own[1] == held\n"                                                              \
    "return {1, held, redis.call('PTTL', KEYS[1]), is_own and own[2] or '0', is_own and own[3] "   \
    "or ''}\n"

#define UNLESS_STRING_IS_OURS "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return {0} end\n"

#define UNLESS_FIELD_IS_OURS  "if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return {0} end\n"

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
    .scripts =
        {
            [LK_ACQUIRE] = {.text =
                                "local held = redis.call('GET', KEYS[1])\n"
                                "if held == ARGV[1] then\n" EXTEND_OWN
                                "if held then return {0, redis.call('PTTL', KEYS[1])} end\n" MINT
                                "redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])\n"
                                "return {1, fence}\n",
                            .sha1 = "40c917dc623d40bcb08ec5ee7b35864b6bbe50ae"},
            [LK_RENEW] = {.text = UNLESS_STRING_IS_OURS EXTEND,
                          .sha1 = "d716ac6ee1dd5a4c68c292d43d687474cb280b4b"},
            [LK_RELEASE] = {.text = UNLESS_STRING_IS_OURS DROP,
                            .sha1 = "fa0325cac2cea006e6a3f035fc3448394509ea8b"},
            [LK_INSPECT] = {.text = "local held = redis.call('GET', KEYS[1])\n"
                                    "if not held then return {1} end\n" SHOW,
                            .sha1 = "40b918ee92798405832a45c9c931b60502e42231"},
            [LK_BREAK] = {.text = "local held = redis.call('GET', KEYS[1])\n"
                                  "if not held or (ARGV[1] ~= '' and held ~= ARGV[1]) then return "
                                  "{0} end\n" DROP,
                          .sha1 = "f9d6fff347f7e3106e89ed5ae4b5a01c4c0f964d"},
        },
    .field_of = same,
    .owner_of = same_back,
    .channel_of = own_channel,
};

/* The first 32 digits as a UUID, the other 8 as the number of a thread. */
static const char *thread_of(const char *owner, char field[WIRE_FIELD_SIZE]) {
    if (strlen(owner) != OWNER_SIZE - 1 || strspn(owner, "0123456789abcdef") != OWNER_SIZE - 1)
        return owner;
    (void)snprintf(field, WIRE_FIELD_SIZE, "%.8s-%.4s-%.4s-%.4s-%.12s:%" PRIu32, owner, owner + 8,
                   owner + 12, owner + 16, owner + 20, (uint32_t)strtoul(owner + 32, NULL, 16));
    return field;
}

/* Of a field that thread_of() has made. */
static void owner_of_thread(const char *field, char owner[OWNER_SIZE]) {
    size_t length = 0;

    for (; *field && *field != ':' && length < OWNER_SIZE - 9; field++)
        if (*field != '-')
            owner[length++] = *field;
    (void)snprintf(owner + length, OWNER_SIZE - length, "%08" PRIx32,
                   *field == ':' ? (uint32_t)strtoul(field + 1, NULL, 10) : 0);
}

/* A name with a brace is taken to have a hash tag of its own. */
static void redisson_channel(const char *name, char channel[WIRE_CHANNEL_SIZE]) {
    (void)snprintf(channel, WIRE_CHANNEL_SIZE,
                   strchr(name, '{') ? "redisson_lock__channel:%s" : "redisson_lock__channel:{%s}",
                   name);
}

const struct wire_layout wire_redisson = {
    .scheme = "redis+redisson:",
    .scripts =
        {
            /* The first PEXPIRE does nothing, unless it is not allowed: then it is said before
             * there is a lock without a TTL. */
            [LK_ACQUIRE] = {.text =
                                "if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then\n" EXTEND_OWN
                                "if redis.call('EXISTS', KEYS[1]) == 1 then\n"
                                "  return {0, redis.call('PTTL', KEYS[1])}\n"
                                "end\n" MINT "redis.call('PEXPIRE', KEYS[1], ARGV[2])\n"
                                "redis.call('HSET', KEYS[1], ARGV[1], 1)\n"
                                "redis.call('PEXPIRE', KEYS[1], ARGV[2])\n"
                                "return {1, fence}\n",
                            .sha1 = "b8d168667a093669c9f833397b4ca0d365398f62"},
            [LK_RENEW] = {.text = UNLESS_FIELD_IS_OURS EXTEND,
                          .sha1 = "0512b68d50e365ef11410e5df9abfdff797ffeea"},
            [LK_RELEASE] = {.text = UNLESS_FIELD_IS_OURS DROP,
                            .sha1 = "b82d744af009b6843b8c029b3ab5e626fd9d569e"},
            [LK_INSPECT] = {.text = "local held = redis.call('HKEYS', KEYS[1])[1]\n"
                                    "if not held then return {1} end\n" SHOW,
                            .sha1 = "fa152b9d35aa7a0a8def847145483be2602be706"},
            [LK_BREAK] =
                {.text = "if redis.call('EXISTS', KEYS[1]) == 0 then return {0} end\n"
                         "if ARGV[1] ~= '' and redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then\n"
                         "  return {0}\n"
                         "end\n" DROP,
                 .sha1 = "c0dea54bc53f052487712b7b01265919ca6e8d5f"},
        },
    .field_of = thread_of,
    .owner_of = owner_of_thread,
    .channel_of = redisson_channel,
};
