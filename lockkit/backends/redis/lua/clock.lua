-- Milliseconds. The line, those who share and what is known of them live for the same time, so that none outlives another.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function keep(ms)
  ms = math.max(tonumber(ms), redis.call('PTTL', KEYS[5]))
  for i = 3, 5 do redis.call('PEXPIRE', KEYS[i], ms) end
end
