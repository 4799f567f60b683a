-- Also of one that only waits, who leaves the line, and may have been in the way of others.
is_ours = is_ours or drop(ARGV[1])
leave(ARGV[1])
