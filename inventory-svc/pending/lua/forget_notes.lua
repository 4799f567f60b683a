-- Number of notes, the notes, and orders. The ledger has all orders of the notes: deletes the notes. Forgets the orders behind
-- them. It must work in a full Redis, so it adds nothing.
local notes = tonumber(ARGV[1])
if notes > 0 then redis.call('xdel', KEYS[1] .. ':notes', unpack(ARGV, 2, 1 + notes)) end
if #ARGV > 1 + notes then redis.call('hdel', KEYS[1] .. ':orders', unpack(ARGV, 2 + notes)) end
return 0
