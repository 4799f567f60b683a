if not held and not ARGV[8] and redis.call('EXISTS', KEYS[3], KEYS[4]) == 0 then
  local fence = mint(ARGV[4], ARGV[7])
  if not fence then return broken() end
  redis.call('SET', KEYS[1], string.format('%s:%.0f:%s', ARGV[1], fence, ARGV[6]), 'PX', ARGV[3])
  return {1, fence}
end
