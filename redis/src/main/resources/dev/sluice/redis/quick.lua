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
-- Much of what a short script costs is its beginning: so no functions, and few tables.

local call, find, sub, format = redis.call, string.find, string.sub, string.format
local since = now - EPOCH

local replies = {now}
local first = 1
for g = 2, #ARGV, 5 do
  local tag, full, asked, all = ARGV[g], tonumber(ARGV[g + 1]), tonumber(ARGV[g + 2]), tonumber(ARGV[g + 3])
  local last = first + ARGV[g + 4] - 1
  local has_short_form = since >= 0 and since + full < LATEST
  local more = ARGV[g + 3] .. '0000'
  local values = call('MGET', unpack(KEYS, first, last))
  for i = first, last do
    local value, lacks = values[i - first + 1], nil
    if not value then
      lacks = 0
    elseif sub(value, -4) == tag and find(value, '^[1-9]%d') then
      local full_at = tonumber(sub(value, 1, -5))
      if full_at and full_at % 1 == 0 then -- else it is not ours
        lacks = full_at < since and 0 or full_at - since
      end
    end
    if not lacks or lacks > full or not has_short_form then
      lacks = SLOW
    else
      local taken = all
      if lacks + all > full then
        local room = full - lacks
        taken = room - room % asked
      end
      local stays = since + lacks + taken + SLACK
      if taken == 0 then
        -- denied
      elseif lacks > 0 and taken <= stays % GRAIN then
        -- The TTL that it has is long enough.
        call('INCRBY', KEYS[i], taken == all and more or format('%.0f0000', taken))
      else
        local text = format('%.0f', since + lacks + taken) .. tag
        local millis = (stays - stays % GRAIN + GRAIN + EPOCH - (is_test and now or 0)) / 1000
        if not call('SET', KEYS[i], text, is_test and 'PX' or 'PXAT', format('%.0f', millis),
          value and 'XX' or 'NX') then
          lacks = SLOW -- MGET found nothing, but there is something of another type
        end
      end
    end
    replies[i + 1] = lacks
  end
  first = last + 1
end
return replies
