-- Fencing on the side of the resource, in Redis: SET, unless a newer lease has written.
--   EVALSHA ... 2 {stock:42} {stock:42}:fence TOKEN VALUE    1: written, 0: refused
-- Both keys in one slot. Numbers in Lua are exact below 2^53, which tokens of microseconds reach in
-- the year 2255.
local seen = tonumber(redis.call('GET', KEYS[2]) or '0')
if tonumber(ARGV[1]) < seen then
    return 0
end
redis.call('SET', KEYS[2], ARGV[1])
redis.call('SET', KEYS[1], ARGV[2])
return 1
