-- The fencing token of a new grant. It is stored before the grant: if the counter cannot rise, nothing is granted. It is the
-- greatest of three: the server's clock in microseconds, one above the last token, one above the client's highest. Lua counts
-- exactly up to 2^53.
local last = tonumber(redis.call('HGET', KEYS[2], 'fence') or 0)
local now = redis.call('TIME')
local fence = last and math.max(last, now[1] * 1000000 + now[2] - 1, tonumber(ARGV[5])) + 1
if not fence or fence > 9007199254740991 then
  return redis.error_reply('ERR the fencing counter is no number, or too large')
end
redis.call('HSET', KEYS[2], 'fence', string.format('%.0f', fence), 'owner', ARGV[1], 'label', ARGV[3])
