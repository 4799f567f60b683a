-- Milliseconds; and keys that are to live for so long at least.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function keep(ms, ...)
  for _, key in ipairs({...}) do
    if redis.call('PTTL', key) < tonumber(ms) then redis.call('PEXPIRE', key, ms) end
  end
end
