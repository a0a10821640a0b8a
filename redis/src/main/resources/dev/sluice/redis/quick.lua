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
-- Much of what a short script costs is its beginning: so one function only, and few tables. Of the rest,
-- most is calls, of Redis and of Lua's library, and texts: so a value is read as one number, its tag
-- with it, of which a double keeps enough; and whether it is all digits is asked unless all plans are
-- added to it: then Redis knows.

local call, try, type = redis.call, redis.pcall, type
local find, sub, format = string.find, string.sub, string.format

-- Puts what its bucket lacks in the place of each value: EXACT for one of another rate or not ours.
-- Fails at a text that ends in the tag and is no number: `tonumber` would not, but reads every text twice.
local function read(values, count, tag, since, roomy)
  local rounding = 0.5 - tag / 10000 -- of a number that ends in the tag, divided by 10000
  for i = 1, count do
    local value = values[i]
    if value then
      local lacks = EXACT
      if sub(value, -4) == tag then
        local full_at = value / 10000 + rounding
        full_at = full_at - full_at % 1
        local is_added_to = full_at > since and full_at <= roomy
        if is_added_to or find(value, '^[1-9]%d*$') then
          lacks = full_at > since and full_at - since or 0
        end
      end
      values[i] = lacks
    end
  end
end

local keys, since = KEYS, now - EPOCH
local replies
local first = 1
for g = 2, #ARGV, 5 do
  local tag, full, asked, all = ARGV[g], ARGV[g + 1] + 0, ARGV[g + 2] + 0, ARGV[g + 3] + 0
  local count, more = ARGV[g + 4] + 0, ARGV[g + 3] .. '0000'
  local last, most = first + count - 1, full
  local values = call('MGET', unpack(keys, first, last))
  -- No short form beyond LATEST, nor in the first second, which would be written with a leading 0.
  if since < 1000000 or since + full >= LATEST
    or not pcall(read, values, count, tag, since, since + full - all) then
    values, most = {}, -1
  end
  local value = values[1]
  replies = replies or values -- the first values make room for the replies, one place further
  replies[1] = now
  for i = first, last do
    local following, lacks = values[i - first + 2], value or 0
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
        if type(try('INCRBY', keys[i], adding)) ~= 'number' then
          if find(call('MGET', keys[i])[1], '^[1-9]%d*$') then
            call('INCRBY', keys[i], adding) -- fails again, and says why
          end
          lacks = SLOW -- not ours
        elseif taken > spare then
          call('PEXPIRE', keys[i], format('%d000', stays / 1000000 + 1))
        end
      elseif taken > 0 then
        if not call('SET', keys[i], format('%d%06d%s', full_at / 1000000, full_at % 1000000, tag),
          'PX', format('%d000', stays / 1000000 + 1), value and 'XX' or 'NX') then
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
