-- Sluice: judges one plan of the commonest kind, as quick.lua judges several.
--
-- KEYS   the account.
-- ARGV   tag, full   see quick.lua
--        more        what the plan takes in microseconds, and four zeros: what its value grows by
--        now         microseconds to use as the clock; left out for Redis' own
-- Reply  "seconds,microseconds,value": the clock, and what was there before: nothing, a short form, or
--        "slow" if the account needs the whole script, and nothing was done to it
-- Fails, with nothing done, at a value that is of another type or no whole number, so not ours: that
-- needs the whole script, too.
--
-- Nearly all of what a short script costs is its beginning and its end: so no functions, no tables, no
-- argument that is not needed, and a reply of texts that are there already. And it runs while all is
-- cold: every command and every function of Lua's that it does without is code not to be fetched.

local argv, call = ARGV, redis.call
local key, tag, full, more, test = KEYS[1], argv[1], argv[2] + 0, argv[3], argv[4]
local time = not test and call('TIME')
local since = (time and time[1] * 1000000 + time[2] or test + 0) - EPOCH

local value = call('GET', key)
local was, lacks, asked = value or '', 0, more / 10000
if value then
  if string.sub(value, -4) == tag then
    local full_at = value / 10000 + 0.5 - tag / 10000
    full_at = full_at - full_at % 1
    if full_at > since then
      lacks = full_at - since
    end
  else
    lacks = EXACT -- of another rate, or not ours
  end
end

if lacks > full or since < 1000000 or since + full >= LATEST then
  was = 'slow'
else
  local fits = lacks + asked <= full
  local full_at = since + lacks + asked
  local spare = (full_at + SLACK) % GRAIN
  local stays = lacks + asked + SLACK - spare + GRAIN
  if fits and lacks > 0 then
    call('INCRBY', key, more)
    if asked > spare then
      call('PEXPIRE', key, string.format('%d000', stays / 1000000 + 1))
    end
  elseif value and not string.find(value, '^[1-9]%d*$') then
    was = 'slow' -- not ours
  elseif fits then
    call('SET', key, string.format('%d%06d%s', full_at / 1000000, full_at % 1000000, tag),
      'PX', string.format('%d000', stays / 1000000 + 1))
  end
end
return (time and time[1] or '0') .. ',' .. (time and time[2] or test) .. ',' .. was
