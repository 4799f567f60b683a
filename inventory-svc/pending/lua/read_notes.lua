-- Age in ms, and number. Answers {0, note, "<row> <first unit> <units before>", instance, "<order> <order> ...", note ...}: the
-- oldest notes that are at least so old. After the last note of a sold-out product, forgets the orders too, and answers {1}: by then
-- the ledger has all of them, and no order can take a second unit.
local time, notes, former = redis.call('time'), KEYS[1] .. ':notes', KEYS[1] .. ':pending'
local now = time[1] * 1000 + math.floor(time[2] / 1000)
-- A former version wrote a set in place of notes. The removal comes first: a full Redis refuses nothing after it.
for _, order in ipairs(redis.call('zrangebyscore', former, '-inf', now - ARGV[1], 'limit', 0, ARGV[2])) do
  local place, instance = (redis.call('hget', KEYS[1] .. ':orders', order) or ''):match('^(%d+ %d+ %d+) (.*)$')
  redis.call('zrem', former, order)
  if place then redis.call('xadd', notes, '*', 'at', place, 'by', instance, 'orders', order) end
end
if redis.call('hexists', KEYS[1], 'over') == 1 and (redis.call('hget', KEYS[1], 'left') or '0') == '0'
    and redis.call('llen', KEYS[1] .. ':segments') == 0 and redis.call('xlen', notes) == 0
    and redis.call('exists', former) == 0 then
  redis.call('del', KEYS[1] .. ':orders', notes)
  return {1}
end
local answer = {0}
for _, note in ipairs(redis.call('xrange', notes, '-', now - ARGV[1], 'count', ARGV[2])) do
  answer[#answer + 1] = note[1]
  for i = 2, 6, 2 do answer[#answer + 1] = note[2][i] end
end
return answer
