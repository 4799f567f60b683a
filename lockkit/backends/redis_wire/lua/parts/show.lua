-- {1}, or {1, holder, remaining ms, fence, label}. The fence is 0 when another library has granted it.
if not held then return {1} end
local own = redis.call('HMGET', KEYS[2], 'owner', 'fence', 'label')
local is_own = own[1] == held
return {1, held, redis.call('PTTL', KEYS[1]), is_own and own[2] or '0', is_own and own[3] or ''}
