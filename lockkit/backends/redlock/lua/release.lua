-- Deletes the vote of this owner ("": of any) and of this ballot ("": of any). The message is the owner's token.
local held = redis.call('GET', KEYS[1])
if not held then return {0} end
local owner = string.sub(held, 1, 40)
if ARGV[1] ~= '' and owner ~= ARGV[1] then return {0} end
if ARGV[2] ~= '' and string.match(held, '^%x+:(%d+):') ~= ARGV[2] then return {0} end
redis.call('DEL', KEYS[1])
-- The vote is free, even if the server denies the message.
if ARGV[7] ~= '' then redis.pcall('PUBLISH', ARGV[7], owner) end
return {1}
