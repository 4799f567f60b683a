local held = redis.call('HKEYS', KEYS[1])[1]
-- include parts/show.lua
