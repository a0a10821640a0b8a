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
-- most is calls, of Redis and of Lua's library, and texts. So the commonest account, neither full nor too
-- empty, is judged as a text, which compares as its number does if it is as long; Redis adds to it, knows
-- whether it is all digits, and replies with a number, of which a double keeps enough. The others are read.

local call, find, sub, format = redis.call, string.find, string.sub, string.format
local DIGITS = '^[1-9]%d*$'
local keys, since = KEYS, now - EPOCH
local replies, at = {now}, 0

-- Puts a group's replies behind those to the `before` keys, and in `at` how far it is. Fails if Redis
-- does: where that is because a value is not ours, this account and those behind it are as they were.
local function judge(values, before, count, tag, full, asked, all, more)
  local rounding = 0.5 - tag / 10000 -- of a number that ends in the tag, divided by 10000
  local low, high = format('%.0f9999', since), format('%.0f9999', since + full - all)
  local width, most = #low, full
  if all > full then
    high = '' -- nobody has room for all
  elseif #high > width then
    high = string.rep('9', width)
  end
  -- No short form beyond LATEST, nor in the first second, which would be written with a leading 0.
  if since < 1000000 or since + full >= LATEST then
    high, most = '', -1
  end
  for i = 1, count do
    at = i
    local value, key = values[i], keys[before + i]
    local lacks, taken, full_at = 0, all, nil
    if value and value > low and value <= high and #value == width and sub(value, -4) == tag then
      full_at = call('INCRBY', key, more) / 10000 + rounding
      full_at = full_at - full_at % 1
      lacks = full_at - all - since
    else
      if value then
        lacks = EXACT -- of another rate, or not ours
        if sub(value, -4) == tag and find(value, DIGITS) then
          lacks = value / 10000 + rounding - since
          lacks = lacks > 1 and lacks - lacks % 1 or 0
        end
      end
      if lacks > most then
        lacks = SLOW
      else
        if lacks + all > full then
          taken = full - lacks - (full - lacks) % asked
        end
        if taken > 0 and lacks > 0 then
          call('INCRBY', key, format('%.0f0000', taken))
          full_at = since + lacks + taken
        elseif taken > 0 then
          local first = since + taken
          local stays = taken + SLACK - (first + SLACK) % GRAIN + GRAIN
          if not call('SET', key, format('%d%06d%s', first / 1000000, first % 1000000, tag),
            'PX', format('%d000', stays / 1000000 + 1), value and 'XX' or 'NX') then
            lacks = SLOW -- MGET found nothing, but there is something of another type
          end
        end
      end
    end
    if full_at then
      local spare = (full_at + SLACK) % GRAIN -- how much of this could have come without a later end
      if taken > spare then
        call('PEXPIRE', key, format('%d000', (full_at - since + SLACK - spare + GRAIN) / 1000000 + 1))
      end
    end
    replies[before + i + 1] = lacks
  end
end

local before = 0
for g = 2, #ARGV, 5 do
  local tag, full, asked, all = ARGV[g], ARGV[g + 1] + 0, ARGV[g + 2] + 0, ARGV[g + 3] + 0
  local count = ARGV[g + 4] + 0
  local values = call('MGET', unpack(keys, before + 1, before + count))
  local done, fault = pcall(judge, values, before, count, tag, full, asked, all, ARGV[g + 3] .. '0000')
  if not done then
    if not values[at] or find(values[at], DIGITS) then
      error(fault, 0)
    end
    for i = at, count do
      replies[before + i + 1] = SLOW
    end
  end
  before = before + count
end
return replies
