local held = redis.call('GET', KEYS[1])
if not held or (ARGV[1] ~= '' and held ~= ARGV[1]) then return {0} end
-- include parts/drop.lua
