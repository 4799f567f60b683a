local held = redis.call('GET', KEYS[1])
if not held then return {0} end
return {1, held, redis.call('PTTL', KEYS[1])}
