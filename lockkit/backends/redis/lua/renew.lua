-- Extends the locks that their owner still holds; creates none. A key of another type spoils only its own answer.
local answers = {}
for i, key in ipairs(KEYS) do
  local held = redis.pcall('GET', key)
  local is_ours = type(held) == 'string' and string.sub(held, 1, 40) == ARGV[2 * i - 1]
  if is_ours then redis.call('PEXPIRE', key, ARGV[2 * i]) end
  answers[i] = is_ours and 1 or 0
end
return answers
