-- Sluice: judges plans of the commonest kind, one charge on one token bucket in its short form.
--
-- KEYS   the accounts, group by group.
-- ARGV   now        microseconds to use as the clock, or 0 for Redis' own (the rule outside tests)
--        groups     each: tag, full, asked, count. A group is `count` plans of the same cost under the
--                   same terms: the tag of its rate (see bucket.lua), what an empty bucket lacks and
--                   what the cost takes, in microseconds. It takes the next `count` keys.
-- Reply  {now, then for each key what its bucket lacks: after an allowed plan; -1 less that for a
--        denied one; or SLOW if the account needs the whole script, and nothing was done to it}

local EPOCH = 1767225600000000 -- 2026-01-01T00:00:00Z
local LATEST = 900000000000000
local SLACK, GRAIN = 60000000, 300000000 -- of a TTL: see account.lua
local SLOW = -9007199254740991

local call, byte, sub, format = redis.call, string.byte, string.sub, string.format
-- %d is several times as fast as %.0f, where Lua's whole numbers are long enough for it.
local digits = format('%d', 4503599627370496) == '4503599627370496' and '%d' or '%.0f'

local now, expires, from = tonumber(ARGV[1]), 'PX', tonumber(ARGV[1])
if now == 0 then
  local time = call('TIME')
  now, expires = time[1] * 1000000 + time[2], 'PXAT'
end
local since = now - EPOCH

-- By the place of a key in KEYS: what its bucket lacked and lacks, and the tag. A key that comes
-- again is judged by what its first place holds, and written once.
local replies, place, before, after, tags, written = {now}, {}, {}, {}, {}, {}
local first = 1
for g = 2, #ARGV, 4 do
  local tag, full, asked = ARGV[g], tonumber(ARGV[g + 1]), tonumber(ARGV[g + 2])
  local last = first + ARGV[g + 3] - 1
  local has_short_form = since >= 0 and since + full < LATEST
  local values = call('MGET', unpack(KEYS, first, last))
  local missing = {}
  for i = 1, #values do
    if not values[i] then
      missing[#missing + 1] = KEYS[first + i - 1]
    end
  end
  -- MGET finds nothing where a value is of another type: the whole script replaces it.
  local is_foreign = #missing > 0 and call('EXISTS', unpack(missing)) > 0
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
  local stays = since + lacks + SLACK
  local over = stays % GRAIN
  if lacked > 0 and lacks - lacked <= over then
    call('INCRBY', KEYS[i], format(more, lacks - lacked)) -- the TTL that it has is long enough
  else
    call('SET', KEYS[i], format(digits, since + lacks) .. tags[i],
      expires, format(digits, (stays - over + GRAIN + EPOCH - from) / 1000))
  end
end
return replies
