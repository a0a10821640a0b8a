-- The one reading of the clock: a test's, or Redis' own.
local time = ARGV[1] == '0' and redis.call('TIME')
local now = time and time[1] * 1000000 + time[2] or ARGV[1] + 0
