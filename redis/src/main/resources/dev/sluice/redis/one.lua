-- Sluice: judges one plan of the commonest kind, as quick.lua judges several.
--
-- KEYS   the account.
-- ARGV   tag, full   see quick.lua
--        more        what the plan takes in microseconds, and four zeros: what its value grows by
--        now         microseconds to use as the clock; left out for Redis' own
-- Reply  "seconds,microseconds,value": the clock, and what was there before: nothing, a short form, or
--        "slow" if the account needs the whole script, and nothing was done to it
--
-- Nearly all of what a short script costs is its beginning and its end: so no functions, no tables, no
-- argument that is not needed, and a reply of texts that are there already.

local key, tag, full, more, test = KEYS[1], ARGV[1], ARGV[2] + 0, ARGV[3], ARGV[4]
local call, asked = redis.call, more / 10000
local time = not test and call('TIME')
local since = (time and time[1] * 1000000 + time[2] or test + 0) - EPOCH

local value, lacks = call('MGET', key)[1], 0
local was = value or ''
if value then
  local number = string.sub(value, -4) == tag and tonumber(value)
  if number then
    local full_at = number / 10000 + 0.5 - tag / 10000
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
    if type(redis.pcall('INCRBY', key, more)) ~= 'number' then
      if string.find(value, '^[1-9]%d*$') then
        call('INCRBY', key, more) -- fails again, and says why
      end
      was = 'slow' -- not ours
    elseif asked > spare then
      call('PEXPIRE', key, string.format('%d000', stays / 1000000 + 1))
    end
  elseif value and not string.find(value, '^[1-9]%d*$') then
    was = 'slow' -- not ours
  elseif fits then
    local format = string.format
    if not call('SET', key, format('%d%06d%s', full_at / 1000000, full_at % 1000000, tag),
      'PX', format('%d000', stays / 1000000 + 1), value and 'XX' or 'NX') then
      was = 'slow' -- MGET found nothing, but there is something of another type
    end
  end
end
return (time and time[1] or '0') .. ',' .. (time and time[2] or test) .. ',' .. was
