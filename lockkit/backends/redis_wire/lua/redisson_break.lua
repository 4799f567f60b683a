if redis.call('EXISTS', KEYS[1]) == 0 then return {0} end
if ARGV[1] ~= '' and redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return {0} end
-- include parts/drop.lua
