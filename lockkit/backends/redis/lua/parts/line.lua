-- The sharers: a set by the end of their TTLs.
local function drop(owner)
  if redis.call('ZREM', KEYS[4], owner) == 0 then return false end
  local permits = string.match(redis.call('HGET', KEYS[5], owner) or '', '^%d+:(%d+):')
  redis.call('HDEL', KEYS[5], owner)
  redis.call('HINCRBY', KEYS[5], 'used', -(permits or 0))
  return true
end
local function tidy()
  if redis.call('EXISTS', KEYS[4]) == 0 then redis.call('HDEL', KEYS[5], 'used') end
end
-- Drops sharers with a TTL that is over. Not needed while an exclusive holder has the lock: then there are none.
local function purge()
  for _, each in ipairs(redis.call('ZRANGEBYSCORE', KEYS[4], '-inf', now)) do drop(each) end
  tidy()
end

-- The waiters.
local function leave(owner)
  if redis.call('ZREM', KEYS[3], owner) == 1 then redis.call('HDEL', KEYS[5], owner) end
end

local function fits(permits, limit)
  if redis.call('EXISTS', KEYS[1]) == 1 then return false end
  if permits == 0 then return redis.call('EXISTS', KEYS[4]) == 0 end
  return limit == 0 or (redis.call('HGET', KEYS[5], 'used') or 0) + permits <= limit
end

local function grant(owner, permits, ms, above, more, label)
  local fence = mint(above, more)
  if not fence then return nil end
  leave(owner)
  if permits == 0 then
    redis.call('SET', KEYS[1], string.format('%s:%.0f:%s', owner, fence, label), 'PX', ms)
  else
    redis.call('ZADD', KEYS[4], now + ms, owner)
    redis.call('HSET', KEYS[5], owner, string.format('%.0f:%d:%s', fence, permits, label))
    redis.call('HINCRBY', KEYS[5], 'used', permits)
    keep(ms)
  end
  return fence
end
-- The receivers that PUBLISH counts do not help: they include other nodes, and clients that listen to all channels.
local function listens(channel)
  return (redis.pcall('PUBSUB', 'NUMSUB', channel)[2] or 0) > 0
end

-- Grants the lock to the first in line, and to the waiters behind it while there is room. `mine`: the token of `me`, if `me` got
-- the lock. `here`: the news for other owners of this client, which the answer brings. Other clients get a message. If an
-- owner's client does not listen, the owner may be dead, and gets the lock only for a bounded time.
local mine, here = nil, {}
local function hand_over(me)
  while true do
    local owner = redis.call('ZRANGE', KEYS[3], 0, 0)[1]
    if not owner then return end
    local alive, bound, ttl, permits, limit, above, more, client, label = string.match(redis.call('HGET', KEYS[5], owner) or '',
      '^(%d+):(%d+):(%d+):(%d+):(%d+):(%d+)%+(%d+):(%x+):(.*)$')
    permits = tonumber(permits)
    if not alive or tonumber(alive) < now then
      leave(owner)
    elseif not fits(permits, tonumber(limit)) then
      return
    else
      local channel = 'lk:client:' .. client
      local ms = (client == ARGV[2] or listens(channel)) and ttl or bound
      local fence = grant(owner, permits, ms, above, more, label)
      if not fence then return end
      local news = string.format('%s:%.0f:%s:%.0f:%s', owner, fence, ms, now, string.sub(KEYS[1], 5, -2))
      if owner == me then
        mine = fence
      elseif client == ARGV[2] then
        here[#here + 1] = news
      else
        redis.pcall('PUBLISH', channel, news)
      end
      if permits == 0 then return end
    end
  end
end
