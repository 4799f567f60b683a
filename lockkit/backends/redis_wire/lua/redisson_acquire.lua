if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then
  -- The reply to its grant was lost: it keeps the token.
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return {1, tonumber(redis.call('HGET', KEYS[2], 'fence') or 0)}
end
if redis.call('EXISTS', KEYS[1]) == 1 then return {0, redis.call('PTTL', KEYS[1])} end
-- include parts/mint.lua
-- The first PEXPIRE changes nothing. If the server denies it, the script ends before it makes a lock without a TTL.
redis.call('PEXPIRE', KEYS[1], ARGV[2])
redis.call('HSET', KEYS[1], ARGV[1], 1)
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return {1, fence}
