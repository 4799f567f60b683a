/* The Lua scripts and their digests. */
#include "redlock_scripts.h"

#define NOW                                                                                        \
    "local time = redis.call('TIME')\n"                                                            \
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)\n"                                    \
    "local held = redis.call('GET', KEYS[1])\n"

const struct redlock_script redlock_scripts[] = {
    /* The vote is given when it is free or the owner's already; an older ballot of the owner than
     * that which has it does nothing. The counter of fencing tokens has no TTL, so that it outlives
     * the vote. Lua's own conversion of a large number would turn to 1e+15, hence the formats; its
     * numbers count exactly up to 2^53. */
    [REDLOCK_VOTES] =
        {.text = NOW
         "if held then\n"
         "  local owner, ballot = string.match(held, '^(%x+):(%d+):')\n"
         "  if owner ~= ARGV[1] then return {0, now, redis.call('PTTL', KEYS[1])} end\n"
         "  if tonumber(ballot) > tonumber(ARGV[2]) then return {2, now} end\n"
         "end\n"
         "if now > tonumber(ARGV[5]) then return {2, now} end\n"
         "local last = tonumber(redis.call('GET', KEYS[2]) or 0)\n"
         "local fence = tonumber(ARGV[4])\n"
         "if last and ARGV[6] == 'mint' then fence = math.max(last + 1, fence) end\n"
         "if not last or fence > 9007199254740991 then\n"
         "  return redis.error_reply('ERR the fencing counter is no number, or too large')\n"
         "end\n"
         "redis.call('SET', KEYS[2], string.format('%.0f', math.max(last, fence)))\n"
         "redis.call('SET', KEYS[1],\n"
         "  string.format('%s:%s:%.0f:%s', ARGV[1], ARGV[2], fence, ARGV[7]), 'PX', ARGV[3])\n"
         "return {1, now, fence}\n",
         .sha1 = "676d122a21fd2e1aff4a0bc7ab1c42e41d19c6b9"},
    /* Extends what is still ours; never creates. */
    [REDLOCK_RENEWS] = {.text = NOW
                        "if not held then return {0, now, 1} end\n"
                        "if string.sub(held, 1, 40) ~= ARGV[1] then return {0, now, 0} end\n"
                        "redis.call('PEXPIRE', KEYS[1], ARGV[3])\n"
                        "return {1, now, tonumber(string.match(held, '^%x+:%d+:(%d+):'))}\n",
                        .sha1 = "fd36a9927da41993ed266a98911705a83098033b"},
    /* Of this owner, or of any when that is empty; of this ballot, or any. The message is the
     * owner's token. A channel that may not be published to must not hide that it was given back.
     */
    [REDLOCK_RELEASES] = {.text = NOW
                          "if not held then return {0, now} end\n"
                          "local owner = string.sub(held, 1, 40)\n"
                          "if ARGV[1] ~= '' and owner ~= ARGV[1] then return {0, now} end\n"
                          "if ARGV[2] ~= '' and string.match(held, '^%x+:(%d+):') ~= ARGV[2] then\n"
                          "  return {0, now}\n"
                          "end\n"
                          "redis.call('DEL', KEYS[1])\n"
                          "if ARGV[8] ~= '' then redis.pcall('PUBLISH', ARGV[8], owner) end\n"
                          "return {1, now}\n",
                          .sha1 = "b9a66a197756f31df1bdca4178b18dda751b791f"},
    [REDLOCK_INSPECTS] = {.text = NOW "if not held then return {0, now} end\n"
                                      "return {1, now, held, redis.call('PTTL', KEYS[1])}\n",
                          .sha1 = "659be252f89505045c6c459215b1fa8abf752c39"},
};
