-- Order. Answers "<row> <first unit> <units before> <instance>" if it has a unit, which the ledger may have.
-- include parts/find.lua
local found = {}
found[ARGV[1]] = redis.call('hget', KEYS[1] .. ':orders', ARGV[1])
if not found[ARGV[1]] then find({[ARGV[1]] = true}, found) end
return found[ARGV[1]]
