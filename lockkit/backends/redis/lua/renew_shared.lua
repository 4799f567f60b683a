local ends = redis.call('ZSCORE', KEYS[4], ARGV[1])
if not ends or tonumber(ends) <= now then return {0} end
redis.call('ZADD', KEYS[4], now + ARGV[3], ARGV[1])
keep(ARGV[3])
return {1}
