-- The cheapest cases come first: the owner holds the lock already, or nobody holds it or waits. An owner that asks again, after a
-- lost reply or a hand-over, finds its grant.
local held = redis.call('GET', KEYS[1])
if held and string.sub(held, 1, 40) == ARGV[1] then
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
  return {1, tonumber(string.match(held, '^%x+:(%d+):'))}
end
if held and ARGV[5] == '0' then return {0, redis.call('PTTL', KEYS[1]), 0} end
-- include parts/clock.lua
-- include parts/mint.lua
if not held and not ARGV[8] and redis.call('EXISTS', KEYS[3], KEYS[4]) == 0 then
  local fence = mint(ARGV[4], ARGV[7])
  if not fence then return broken() end
  redis.call('SET', KEYS[1], string.format('%s:%.0f:%s', ARGV[1], fence, ARGV[6]), 'PX', ARGV[3])
  return {1, fence}
end
-- include parts/line.lua
local owner, ttl, patience = ARGV[1], ARGV[3], tonumber(ARGV[5])
local permits, limit = tonumber(ARGV[8] or 0), tonumber(ARGV[9] or 0)
local waits = redis.call('ZSCORE', KEYS[3], owner)
if not held and permits > 0 and extend(owner, ttl) then
  return {1, tonumber(string.match(redis.call('HGET', KEYS[5], owner), '^%d+'))}
end
-- Redis denies memory only to the first write of a script. So there are two first writes that change nothing. The first needs no
-- memory: an owner in line keeps its place. The second is denied to a new owner, before purge() would let its writes through.
if waits then redis.call('HDEL', KEYS[5], '') else redis.call('ZADD', KEYS[4], 'XX', 0, '') end
if not held then purge() end
if patience > 0 then
  if not waits then
    local last = redis.call('ZREVRANGE', KEYS[3], 0, 0, 'WITHSCORES')[2] or 0
    redis.call('ZADD', KEYS[3], last + 1, owner)
  end
  redis.call('HSET', KEYS[5], owner, string.format('%.0f:%d:%s:%d:%d:%s+%s:%s:%s', now + patience,
    math.min(patience, tonumber(ttl)), ttl, permits, limit, ARGV[4], ARGV[7], ARGV[2], ARGV[6]))
  keep(patience)
end
if held then return {0, redis.call('PTTL', KEYS[1]), 1, now} end
hand_over(owner)
if patience == 0 and redis.call('EXISTS', KEYS[3]) == 0 and fits(permits, limit) then
  mine = grant(owner, permits, ttl, ARGV[4], ARGV[7], ARGV[6])
end
if mine then return {1, mine, here} end
if is_broken then
  leave(owner)
  return broken()
end
local left = redis.call('PTTL', KEYS[1])
if left == -2 then
  local first = redis.call('ZRANGE', KEYS[4], 0, 0, 'WITHSCORES')[2]
  left = first and first - now or -1
end
return {0, left, patience > 0 and 1 or 0, now, here}
