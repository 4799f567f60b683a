if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return {0} end
-- include parts/drop.lua
