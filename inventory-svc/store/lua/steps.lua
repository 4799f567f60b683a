-- Runs a command for each key, as long as each answers yes. ARGV has three texts for each: the command, its value and its TTL.
-- Answers the replies of all that said yes.
local run = {
  ['SET NX'] = function(key, value, ttl)
    if ttl == '0' then return redis.call('set', key, value, 'nx') and '' end
    return redis.call('set', key, value, 'nx', 'px', ttl) and ''
  end,
  ['PEXPIRE'] = function(key, _, ttl) return redis.call('pexpire', key, ttl) == 1 and '' end,
  ['GET'] = function(key) return redis.call('get', key) end,
  ['DEL'] = function(key) return redis.call('del', key) == 1 and '' end,
  ['DEL if own'] = function(key, value) return redis.call('get', key) == value and redis.call('del', key) == 1 and '' end,
  ['GET if own'] = function(key, value) return redis.call('get', key) == value and '' end,
  ['INCR'] = function(key) return tostring(redis.call('incr', key)) end,
}
local replies = {}
for i, key in ipairs(KEYS) do
  local reply = run[ARGV[3 * i - 2]](key, ARGV[3 * i - 1], ARGV[3 * i])
  if not reply then break end
  replies[i] = reply
end
return replies
