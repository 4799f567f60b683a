-- A fencing token, minted only with a new grant, and before it, so that a counter that cannot rise grants nothing: then nil.
--
-- It is the server's clock in microseconds, or one above the last, or one above what the client has seen, whichever is most:
-- a hybrid clock (Kulkarni et al. 2014, Logical Physical Clocks). So a counter that was lost, or that lags on a replica which
-- was promoted, is above all that was given before, as nobody locks a name a million times a second; and when the clock was
-- set back as well, it is above what this client knows of. Lua's numbers count exactly up to 2^53, and its own conversion of a
-- large one would turn to 1e+15, hence the formats. The `more` tokens above it are the holder's, too, to hand over with.
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
