-- Sluice: judges plans of the commonest kind, one charge on one token bucket in its short form.
--
-- KEYS   the accounts, group by group.
-- ARGV   now        microseconds to use as the clock, or 0 for Redis' own (the rule outside tests)
--        groups     each: tag, full, asked, count. A group is `count` plans of the same cost under the
--                   same terms: the tag of its rate (see bucket.lua), what an empty bucket lacks and
--                   what the cost takes, in microseconds. It takes the next `count` keys.
-- Reply  {now, then for each key what its bucket lacks: after an allowed plan; -1 less that for a
--        denied one; or SLOW if the account needs the whole script, and nothing was done to it}

-- By the place of a key in KEYS: what its bucket lacked and lacks, and the tag. A key that comes
-- again is judged by what its first place holds, and written once.
local replies, place, before, after, tags, written = {now}, {}, {}, {}, {}, {}
local first = 1
for g = 2, #ARGV, 4 do
  local tag, full, asked = ARGV[g], tonumber(ARGV[g + 1]), tonumber(ARGV[g + 2])
  local last = first + ARGV[g + 3] - 1
  local has_short_form = since >= 0 and since + full < LATEST
  local values, is_foreign = find(first, last)
  for i = first, last do
    local at = place[KEYS[i]]
    local lacks
    if at then
      lacks = tags[at] == tag and after[at]
    else
      local value = values[i - first + 1]
      if not value then
        lacks = not is_foreign and 0
      elseif sub(value, -4) == tag and byte(value) <= 57 then
        lacks = sub(value, 1, -5) - since
        if lacks < 0 then
          lacks = 0
        end
      end
    end
    if not lacks or lacks > full or not has_short_form then
      replies[i + 1] = SLOW
    elseif lacks + asked > full then
      replies[i + 1] = -1 - lacks
    else
      if not at then
        at = i
        place[KEYS[i]], before[i], tags[i] = i, lacks, tag
        written[#written + 1] = i
      end
      after[at] = lacks + asked
      replies[i + 1] = lacks + asked
    end
  end
  first = last + 1
end

local more = digits .. '0000'
for w = 1, #written do
  local i = written[w]
  local lacked, lacks = before[i], after[i]
  if lacked > 0 and lacks - lacked <= (since + lacks + SLACK) % GRAIN then
    call('INCRBY', KEYS[i], format(more, lacks - lacked)) -- the TTL that it has is long enough
  else
    write(KEYS[i], format(digits, since + lacks) .. tags[i], since + lacks)
  end
end
return replies
