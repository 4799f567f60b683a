-- Answers {units for sale, notes that are pending}.
local left = tonumber(redis.call('hget', KEYS[1], 'left') or 0)
for _, segment in ipairs(redis.call('lrange', KEYS[1] .. ':segments', 0, -1)) do
  left = left + segment:match('(%d+)$')
end
return {left, redis.call('zcard', KEYS[1] .. ':pending')}
