-- Sluice: judges plans of the commonest kind, one charge on one token bucket in its short form.
--
-- KEYS   the accounts, group by group.
-- ARGV   now        microseconds to use as the clock, or 0 for Redis' own (the rule outside tests)
--        groups     each: tag, full, asked, all, count. A group is `count` accounts under the same
--                   terms, each with as many plans of the same cost: the tag of the rate (see
--                   bucket.lua), then in microseconds what an empty bucket lacks, what one plan takes
--                   and what an account's plans take together. It takes the next `count` keys, no two
--                   of them the same.
-- Reply  {now, then for each key what its bucket lacked before, or SLOW if the account needs the whole
--        script, and nothing was done to it}
--        Of an account's plans, as many are allowed as fit.
--
-- Much of what a short script costs is its beginning: so no functions, and few tables. Of the rest,
-- most is calls, of Redis and of Lua's library, and texts: so a value is read as one number, its tag
-- with it, of which a double keeps enough; and whether it is all digits is asked where it is replaced.
-- Where it is added to, Redis knows.

local call, pcall, type, tonumber = redis.call, redis.pcall, type, tonumber
local find, sub, format = string.find, string.sub, string.format
local since = now - EPOCH

local replies
local first = 1
for g = 2, #ARGV, 5 do
  local tag, full, asked, all = ARGV[g], tonumber(ARGV[g + 1]), tonumber(ARGV[g + 2]), tonumber(ARGV[g + 3])
  local last = first + ARGV[g + 4] - 1
  -- No short form beyond LATEST, nor in the first second, which would be written with a leading 0.
  local most = since >= 1000000 and since + full < LATEST and full or -1
  local rounding = 0.5 - tag / 10000 -- of a number that ends in the tag, divided by 10000
  local more = ARGV[g + 3] .. '0000'
  local values = call('MGET', unpack(KEYS, first, last))
  local value = values[1]
  replies = replies or values -- the first values make room for the replies, one place further
  replies[1] = now
  for i = first, last do
    local following, lacks = values[i - first + 2], 0
    if value then
      local number = sub(value, -4) == tag and tonumber(value)
      if number then
        local full_at = number / 10000 + rounding
        full_at = full_at - full_at % 1
        if full_at > since then
          lacks = full_at - since
        end
      else
        lacks = EXACT -- of another rate, or not ours
      end
    end
    if lacks > most then
      lacks = SLOW
    else
      local taken = all
      if lacks + all > full then
        taken = full - lacks - (full - lacks) % asked
      end
      local full_at = since + lacks + taken
      local spare = (full_at + SLACK) % GRAIN -- how much of this could have come without a later end
      local stays = lacks + taken + SLACK - spare + GRAIN
      if lacks > 0 and taken > 0 then
        local adding = taken == all and more or format('%.0f0000', taken)
        if type(pcall('INCRBY', KEYS[i], adding)) ~= 'number' then
          if find(value, '^[1-9]%d*$') then
            call('INCRBY', KEYS[i], adding) -- fails again, and says why
          end
          lacks = SLOW -- not ours
        elseif taken > spare then
          call('PEXPIRE', KEYS[i], format('%d%03d', stays / 1000000, stays / 1000 % 1000))
        end
      elseif value and not find(value, '^[1-9]%d*$') then
        lacks = SLOW -- not ours
      elseif taken > 0 then
        if not call('SET', KEYS[i], format('%d%06d%s', full_at / 1000000, full_at % 1000000, tag),
          'PX', format('%d%03d', stays / 1000000, stays / 1000 % 1000), value and 'XX' or 'NX') then
          lacks = SLOW -- MGET found nothing, but there is something of another type
        end
      end
    end
    replies[i + 1] = lacks
    value = following
  end
  first = last + 1
end
return replies
