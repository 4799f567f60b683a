-- First what costs least: it is ours already, or nobody has it nor waits. Idempotent for its own token: after a lost reply, and
-- after a hand-over, it finds its grant.
local held = redis.call('GET', KEYS[1])
if held and string.sub(held, 1, 40) == ARGV[1] then
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
  return {1, tonumber(string.match(held, '^%x+:(%d+):'))}
end
if held and ARGV[5] == '0' then return {0, redis.call('PTTL', KEYS[1]), 0} end
