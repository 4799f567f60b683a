-- Gives the data set a random token if it has none. Answers "<last row> <token>".
redis.call('hsetnx', KEYS[1], 'data_set', ARGV[1])
redis.call('hsetnx', KEYS[1], 'last', -1)
return redis.call('hget', KEYS[1], 'last') .. ' ' .. redis.call('hget', KEYS[1], 'data_set')
