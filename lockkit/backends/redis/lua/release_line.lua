-- Also of one that only waits, who leaves the line, and may have been in the way of others.
if not is_ours then
  purge()
  is_ours = drop(ARGV[1])
  leave(ARGV[1])
  tidy()
end
