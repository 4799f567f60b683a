local held = redis.call('GET', KEYS[1])
-- include parts/show.lua
