local held = redis.call('GET', KEYS[1])
if held == ARGV[1] then
  -- The reply to its grant was lost: it keeps the token.
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return {1, tonumber(redis.call('HGET', KEYS[2], 'fence') or 0)}
end
if held then return {0, redis.call('PTTL', KEYS[1])} end
-- include parts/mint.lua
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return {1, fence}
