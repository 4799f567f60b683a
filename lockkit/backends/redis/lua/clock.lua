-- Milliseconds. The line, those who share and what is known of them live for the same time, so that none outlives another.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function keep(ms)
  ms = tonumber(ms)
  for i = 3, 5 do ms = math.max(ms, redis.call('PTTL', KEYS[i])) end
  for i = 3, 5 do redis.call('PEXPIRE', KEYS[i], ms) end
end
