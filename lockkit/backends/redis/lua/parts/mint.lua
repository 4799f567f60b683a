-- Mints a fencing token, only for a new grant, and before it: if the counter cannot rise, it returns nil and nothing is granted.
--
-- The token is the greatest of three: the server's clock in microseconds, one above the last token, one above the client's
-- highest. That is a hybrid clock (Kulkarni et al. 2014, Logical Physical Clocks). A counter may be lost, or lag on a promoted
-- replica. The next token is still above all earlier ones, because nobody locks a name a million times a second. If the clock
-- was set back as well, the token is above all that this client knows. Lua counts exactly up to 2^53. It prints a large number
-- as 1e+15, hence the formats. The `more` tokens above it belong to the holder, too, for hand-overs.
local is_broken = false
local function mint(above, more)
  local last = tonumber(redis.call('GET', KEYS[2]) or 0)
  local fence = last and math.max(last, time[1] * 1000000 + time[2] - 1, tonumber(above)) + 1
  is_broken = not fence or fence + more > 9007199254740991
  if is_broken then return nil end
  redis.call('SET', KEYS[2], string.format('%.0f', fence + more))
  return fence
end
local function broken()
  return redis.error_reply('ERR the fencing counter is no number, or too large')
end
