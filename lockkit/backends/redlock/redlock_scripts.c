/* The Lua scripts and their digests. */
#include "redlock_scripts.h"

const struct redlock_script redlock_scripts[] = {
    /* The vote is given when it is free or the owner's already; but an older ballot of the owner's,
     * which was long on its way, is not put in the place of a newer. The counter of fencing tokens
     * has no TTL, so that it outlives the vote. Lua's own conversion of a large number would turn
     * to 1e+15, hence the formats; its numbers count exactly up to 2^53. */
    [REDLOCK_VOTES] =
        {.text =
             "local held = redis.call('GET', KEYS[1])\n"
             "if held then\n"
             "  local owner, ballot = string.match(held, '^(%x+):(%d+):')\n"
             "  if owner ~= ARGV[1] or tonumber(ballot) > tonumber(ARGV[2]) then\n"
             "    return {0, redis.call('PTTL', KEYS[1])}\n"
             "  end\n"
             "end\n"
             "local last = tonumber(redis.call('GET', KEYS[2]) or 0)\n"
             "local fence = tonumber(ARGV[4])\n"
             "if last and ARGV[5] == 'mint' then fence = math.max(last + 1, fence) end\n"
             "if not last or fence > 9007199254740991 then\n"
             "  return redis.error_reply('ERR the fencing counter is no number, or too large')\n"
             "end\n"
             "redis.call('SET', KEYS[2], string.format('%.0f', math.max(last, fence)))\n"
             "redis.call('SET', KEYS[1],\n"
             "  string.format('%s:%s:%.0f:%s', ARGV[1], ARGV[2], fence, ARGV[6]), 'PX', ARGV[3])\n"
             "return {1, fence}\n",
         .sha1 = "ce5f7d04edba8a736cf673233a2fd968873c30f3"},
    /* Extends what is still ours; never creates. */
    [REDLOCK_RENEWS] = {.text = "local held = redis.call('GET', KEYS[1])\n"
                                "if not held then return {0, 1} end\n"
                                "if string.sub(held, 1, 40) ~= ARGV[1] then return {0, 0} end\n"
                                "redis.call('PEXPIRE', KEYS[1], ARGV[3])\n"
                                "return {1, tonumber(string.match(held, '^%x+:%d+:(%d+):'))}\n",
                        .sha1 = "5af73adcd917bf9e51ad9bfdb206ae96c4922397"},
    /* Of this owner, or of any when that is empty; of this ballot, or any. The message is the
     * owner's token. A channel that may not be published to must not hide that it was given back.
     */
    [REDLOCK_RELEASES] = {.text =
                              "local held = redis.call('GET', KEYS[1])\n"
                              "if not held then return {0} end\n"
                              "local owner = string.sub(held, 1, 40)\n"
                              "if ARGV[1] ~= '' and owner ~= ARGV[1] then return {0} end\n"
                              "if ARGV[2] ~= '' and string.match(held, '^%x+:(%d+):') ~= ARGV[2] "
                              "then return {0} end\n"
                              "redis.call('DEL', KEYS[1])\n"
                              "if ARGV[7] ~= '' then redis.pcall('PUBLISH', ARGV[7], owner) end\n"
                              "return {1}\n",
                          .sha1 = "6354b4e3146e3a013eae53fe247307485d3e1695"},
    [REDLOCK_INSPECTS] = {.text = "local held = redis.call('GET', KEYS[1])\n"
                                  "if not held then return {0} end\n"
                                  "return {1, held, redis.call('PTTL', KEYS[1])}\n",
                          .sha1 = "a1ee240977ad26d8f4e525f4374780db57b45bdb"},
};
