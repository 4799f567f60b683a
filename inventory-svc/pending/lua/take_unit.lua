-- Order and instance. Answers "sold <row> <first unit> <units before> <1: half of the last row is left>"; "again ..." without
-- the last number, for an order that has its unit; "empty": nothing is loaded; or "over": no row is left to load either.
local orders = KEYS[1] .. ':orders'
local known = redis.call('hget', orders, ARGV[1])
if known then return 'again ' .. known end
local seen = redis.call('hmget', KEYS[1], 'shard', 'first', 'left', 'units', 'over')
local shard, first, left, units = seen[1], seen[2], tonumber(seen[3] or 0), seen[4]
if left == 0 then
  local segment = redis.call('lpop', KEYS[1] .. ':segments')
  if not segment then return seen[5] and 'over' or 'empty' end
  shard, first, units = segment:match('(%d+) (%d+) (%d+)')
  left = tonumber(units)
end
redis.call('hset', KEYS[1], 'shard', shard, 'first', first, 'left', left - 1, 'units', units)
local time = redis.call('time')
redis.call('zadd', KEYS[1] .. ':pending', time[1] * 1000 + math.floor(time[2] / 1000), ARGV[1])
local note = shard .. ' ' .. first .. ' ' .. left
redis.call('hset', orders, ARGV[1], note .. ' ' .. ARGV[2])
local is_last = not seen[5] and redis.call('llen', KEYS[1] .. ':segments') == 0
return 'sold ' .. note .. (is_last and left - 1 == math.floor(units / 2) and ' 1' or ' 0')
