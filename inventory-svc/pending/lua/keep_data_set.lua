-- Token. Writes it once more, so that replicas can confirm it. Answers 1; 0 for another data set.
if redis.call('hget', KEYS[1], 'data_set') ~= ARGV[1] then return 0 end
redis.call('hset', KEYS[1], 'data_set', ARGV[1])
return 1
