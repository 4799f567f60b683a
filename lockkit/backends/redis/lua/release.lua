local held = redis.call('GET', KEYS[1])
local is_ours = held and string.sub(held, 1, 40) == ARGV[1]
if is_ours then redis.call('DEL', KEYS[1]) end
if redis.call('EXISTS', KEYS[3], KEYS[4]) == 0 then return {is_ours and 1 or 0} end
-- include parts/clock.lua
-- include parts/mint.lua
-- include parts/line.lua
-- The owner shares the lock, or only waits. A waiter leaves the line; it may have been in the way of others.
if not is_ours then
  purge()
  is_ours = drop(ARGV[1])
  leave(ARGV[1])
  tidy()
end
-- include parts/hand_over.lua
