-- Gives the vote if it is free, or if the owner has it already. A ballot that arrives late never replaces a newer one of the same
-- owner. The counter of fencing tokens has no TTL, so that it outlives the vote. Lua counts exactly up to 2^53. It prints a large
-- number as 1e+15, hence the formats.
local held = redis.call('GET', KEYS[1])
if held then
  local owner, ballot = string.match(held, '^(%x+):(%d+):')
  if owner ~= ARGV[1] or tonumber(ballot) > tonumber(ARGV[2]) then
    return {0, redis.call('PTTL', KEYS[1])}
  end
end
local last = tonumber(redis.call('GET', KEYS[2]) or 0)
local fence = tonumber(ARGV[4])
if last and ARGV[5] == 'mint' then fence = math.max(last + 1, fence) end
if not last or fence > 9007199254740991 then
  return redis.error_reply('ERR the fencing counter is no number, or too large')
end
redis.call('SET', KEYS[2], string.format('%.0f', math.max(last, fence)))
redis.call('SET', KEYS[1],
  string.format('%s:%s:%.0f:%s', ARGV[1], ARGV[2], fence, ARGV[6]), 'PX', ARGV[3])
return {1, fence}
