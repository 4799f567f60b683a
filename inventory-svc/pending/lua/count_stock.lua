-- Answers {units for sale, orders that are noted}.
local left, noted = tonumber(redis.call('hget', KEYS[1], 'left') or 0), 0
for _, segment in ipairs(redis.call('lrange', KEYS[1] .. ':segments', 0, -1)) do
  left = left + segment:match('(%d+)$')
end
for _, note in ipairs(redis.call('xrange', KEYS[1] .. ':notes', '-', '+')) do
  noted = noted + math.floor((#note[2][6] + 1) / 37)
end
return {left, noted}
