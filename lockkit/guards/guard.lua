-- A write to Redis that refuses a late holder: it sets the value, unless the resource has seen a higher fencing token.
--   EVAL <this> 2 {stock:42} {stock:42}:fence TOKEN VALUE
-- Returns 1: written; 0: refused. Both keys are in one slot of a cluster. Tokens are compared as text: Lua counts up to 2^53.
local token, value = ARGV[1], ARGV[2]
local seen = redis.call('get', KEYS[2]) or '0'
if not string.match(token, '^[1-9]%d*$') then
    return redis.error_reply('ERR the fencing token is no number above 0')
end
if #token < #seen or #token == #seen and token < seen then
    return 0
end
redis.call('set', KEYS[2], token)
redis.call('set', KEYS[1], value)
return 1
