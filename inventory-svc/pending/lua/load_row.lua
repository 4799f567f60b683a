-- The token, the row that was loaded last, and the next row: its number, first unit and units. 0 units: there is none.
-- Does nothing to another data set, or if its last row is another one by now.
local is = redis.call('hmget', KEYS[1], 'data_set', 'last')
if is[1] ~= ARGV[1] or is[2] ~= ARGV[2] then return 0 end
if ARGV[5] == '0' then return redis.call('hset', KEYS[1], 'over', 1) end
redis.call('hset', KEYS[1], 'last', ARGV[3])
return redis.call('rpush', KEYS[1] .. ':segments', ARGV[3] .. ' ' .. ARGV[4] .. ' ' .. ARGV[5])
