-- Milliseconds. The keys of the line, of the sharers and of their details expire together, so that none outlives another.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function keep(ms)
  ms = math.max(tonumber(ms), redis.call('PTTL', KEYS[5]))
  for i = 3, 5 do redis.call('PEXPIRE', KEYS[i], ms) end
end
-- Extends a shared lease that its owner still has. PEXPIRE comes first: Redis never denies it memory, nor then the ZADD.
local function extend(owner, ms)
  local ends = redis.call('ZSCORE', KEYS[4], owner)
  if not ends or tonumber(ends) <= now then return false end
  keep(ms)
  redis.call('ZADD', KEYS[4], now + ms, owner)
  return true
end
