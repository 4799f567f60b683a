-- include parts/clock.lua
return {extend(ARGV[1], ARGV[3]) and 1 or 0}
