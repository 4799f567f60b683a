/* The Lua scripts and their digests. */
#include "redis_scripts.h"

const struct redis_script redis_scripts[] = {
    /* {1, fence, the grant's before}, or {0, remaining ms}. Idempotent for its own token: after a
     * lost reply it finds its grant again, as {1, fence}. A fencing token is minted only with a new
     * grant, and before it, so that a counter that cannot rise grants nothing.
     *
     * A token is the server's clock in microseconds, or one above the last, or one above what the
     * client has seen, whichever is most: a hybrid clock (Kulkarni et al. 2014, Logical Physical
     * Clocks). So a counter that was lost, or that lags on a replica which was promoted, is above
     * all that was given before, as nobody locks a name a million times a second; and when the
     * clock was set back as well, it is above what this client knows of. Lua's own conversion of a
     * large number would turn to 1e+15, hence the formats; its numbers count exactly up to 2^53. */
    [LK_ACQUIRE] =
        {.text =
             "local held = redis.call('GET', KEYS[1])\n"
             "if held and string.sub(held, 1, 40) == ARGV[1] then\n"
             "  redis.call('PEXPIRE', KEYS[1], ARGV[2])\n"
             "  return {1, tonumber(string.match(held, '^%x+:(%d+):'))}\n"
             "end\n"
             "if held then return {0, redis.call('PTTL', KEYS[1])} end\n"
             "local last = tonumber(redis.call('GET', KEYS[2]) or 0)\n"
             "local now = redis.call('TIME')\n"
             "local fence = last and math.max(last, now[1] * 1000000 + now[2] - 1, "
             "tonumber(ARGV[5])) + 1\n"
             "if not fence or fence > 9007199254740991 then\n"
             "  return redis.error_reply('ERR the fencing counter is no number, or too large')\n"
             "end\n"
             "redis.call('SET', KEYS[2], string.format('%.0f', fence))\n"
             "redis.call('SET', KEYS[1],\n"
             "  string.format('%s:%.0f:%s', ARGV[1], fence, ARGV[3]), 'PX', ARGV[2])\n"
             "return {1, fence, last}\n",
         .sha1 = "c529cc49a34c7b82eb8e48d6ae4dfe1e340d46a7"},
    /* Extends what is still ours; never creates. */
    [LK_RENEW] = {.text = "local held = redis.call('GET', KEYS[1])\n"
                          "if not held or string.sub(held, 1, 40) ~= ARGV[1] then return {0} end\n"
                          "redis.call('PEXPIRE', KEYS[1], ARGV[2])\n"
                          "return {1}\n",
                  .sha1 = "c16ffc1b4993dadf17350b927c66b542af3b5c56"},
    /* {1, how many heard it}, or {0}. The message is the token, so that its owner knows it. A
     * channel that may not be published to must not hide that the lock was given back. */
    [LK_RELEASE] = {.text =
                        "local held = redis.call('GET', KEYS[1])\n"
                        "if not held or string.sub(held, 1, 40) ~= ARGV[1] then return {0} end\n"
                        "redis.call('DEL', KEYS[1])\n"
                        "local heard = redis.pcall('PUBLISH', ARGV[4], ARGV[1])\n"
                        "return {1, type(heard) == 'number' and heard or 0}\n",
                    .sha1 = "52ee51893fbddf94a4e6b8887682676867fa1d0a"},
    /* {1}, or {1, value, remaining ms}. */
    [LK_INSPECT] = {.text = "local held = redis.call('GET', KEYS[1])\n"
                            "if not held then return {1} end\n"
                            "return {1, held, redis.call('PTTL', KEYS[1])}\n",
                    .sha1 = "190646fd523545c997cd98a1c6646f4b96169fab"},
};
