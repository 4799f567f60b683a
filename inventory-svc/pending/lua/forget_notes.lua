-- "<order> <order> .../<order> ...": none of them is pending any more. Orders after the "/" are forgotten.
local orders, pending = KEYS[1] .. ':orders', KEYS[1] .. ':pending'
local written, gone = ARGV[1]:match('^(.*)/(.*)$')
for id in written:gmatch('%S+') do redis.call('zrem', pending, id) end
for id in gone:gmatch('%S+') do
  redis.call('zrem', pending, id)
  redis.call('hdel', orders, id)
end
return 0
