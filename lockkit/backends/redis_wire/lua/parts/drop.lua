redis.call('DEL', KEYS[1])
-- The lock is free, even if the server denies the message.
redis.pcall('PUBLISH', ARGV[4], '0')
return {1}
