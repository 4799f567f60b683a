-- Answers {units for sale, orders that are noted}. Counts each note behind the first 1000 as one order.
local left, notes = tonumber(redis.call('hget', KEYS[1], 'left') or 0), KEYS[1] .. ':notes'
for _, segment in ipairs(redis.call('lrange', KEYS[1] .. ':segments', 0, -1)) do
  left = left + segment:match('(%d+)$')
end
local noted = redis.call('xlen', notes) + redis.call('zcard', KEYS[1] .. ':pending') -- see read_notes.lua
for _, note in ipairs(redis.call('xrange', notes, '-', '+', 'count', 1000)) do
  noted = noted + math.floor((#note[2][6] + 1) / 37) - 1
end
return {left, noted}
