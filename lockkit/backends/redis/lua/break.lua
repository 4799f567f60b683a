-- include parts/clock.lua
-- include parts/mint.lua
-- include parts/line.lua
local held = redis.pcall('GET', KEYS[1])
local owner = type(held) == 'string' and (string.match(held, '^(%x+):%d+:') or held)
local is_ours = (ARGV[1] == '' or owner == ARGV[1]) and redis.call('DEL', KEYS[1]) == 1
purge()
local owners = ARGV[1] == '' and redis.call('ZRANGE', KEYS[4], 0, -1) or {ARGV[1]}
for _, each in ipairs(owners) do is_ours = drop(each) or is_ours end
tidy()
-- include parts/hand_over.lua
