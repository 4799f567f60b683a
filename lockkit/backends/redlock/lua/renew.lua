-- Extends a vote that the owner still has, and never creates one.
local held = redis.call('GET', KEYS[1])
if not held then return {0, 1} end
if string.sub(held, 1, 40) ~= ARGV[1] then return {0, 0} end
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return {1, tonumber(string.match(held, '^%x+:%d+:(%d+):'))}
