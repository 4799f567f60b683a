-- include parts/clock.lua
local holders, waiters = {}, {}
local function add(list, ...)
  for _, each in ipairs({...}) do list[#list + 1] = each end
end
-- A text of another program is shown as the owner.
local held = redis.call('GET', KEYS[1])
if held then
  local owner, fence, label = string.match(held, '^(%x+):(%d+):(.*)$')
  add(holders, owner or held, redis.call('PTTL', KEYS[1]), fence or '0', '0', label or '')
end
for _, owner in ipairs(redis.call('ZRANGEBYSCORE', KEYS[4], now + 1, '+inf')) do
  local fence, permits, label = string.match(redis.call('HGET', KEYS[5], owner) or '0:1:', '^(%d+):(%d+):(.*)$')
  add(holders, owner, redis.call('ZSCORE', KEYS[4], owner) - now, fence, permits, label)
end
for _, owner in ipairs(redis.call('ZRANGE', KEYS[3], 0, -1)) do
  local alive, permits, label = string.match(redis.call('HGET', KEYS[5], owner) or '', '^(%d+):%d+:%d+:(%d+):%d+:%d+%+%d+:%x+:(.*)$')
  if alive and tonumber(alive) >= now then add(waiters, owner, alive - now, '0', permits, label) end
end
return {holders, waiters}
