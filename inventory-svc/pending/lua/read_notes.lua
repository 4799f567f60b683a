-- Age in ms, and number. Answers {0, order, note, order, note ...}: the oldest notes that are pending for at least so long.
-- After the last note of a sold-out product, forgets the orders and answers {1}: by then the ledger has all of them, and no
-- order can take a second unit.
local time, pending = redis.call('time'), KEYS[1] .. ':pending'
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if redis.call('hexists', KEYS[1], 'over') == 1 and (redis.call('hget', KEYS[1], 'left') or '0') == '0'
    and redis.call('llen', KEYS[1] .. ':segments') == 0 and redis.call('zcard', pending) == 0 then
  redis.call('del', KEYS[1] .. ':orders')
  return {1}
end
local answer = {0}
for _, id in ipairs(redis.call('zrangebyscore', pending, '-inf', now - ARGV[1], 'limit', 0, ARGV[2])) do
  local note = redis.call('hget', KEYS[1] .. ':orders', id)
  if note then
    answer[#answer + 1] = id
    answer[#answer + 1] = note
  end
end
return answer
