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
local SLACK_MILLIS = 60000
local SLOW = -9007199254740991

local now = tonumber(ARGV[1])
if now == 0 then
  local time = redis.call('TIME')
  now = tonumber(time[1]) * 1000000 + tonumber(time[2])
end

local replies, lacking, tags, order = {now}, {}, {}, {}
local first = 1
for g = 2, #ARGV, 4 do
  local tag, full, asked, count = ARGV[g], tonumber(ARGV[g + 1]), tonumber(ARGV[g + 2]), ARGV[g + 3]
  local last = first + count - 1
  local values = redis.call('MGET', unpack(KEYS, first, last))
  for i = first, last do
    local key = KEYS[i]
    local lacks = lacking[key]
    if lacks then
      lacks = tags[key] == tag and lacks
    else
      local value = values[i - first + 1]
      if not value then
        lacks = 0
      elseif value:sub(-4) == tag and value:byte() <= 57 then
        lacks = value:sub(1, -5) + EPOCH - now
        if lacks < 0 then
          lacks = 0
        end
      end
    end
    if not lacks or lacks > full then
      replies[i + 1] = SLOW
    elseif lacks + asked > full then
      replies[i + 1] = -1 - lacks
    else
      if not lacking[key] then
        order[#order + 1] = key
        tags[key] = tag
      end
      lacking[key] = lacks + asked
      replies[i + 1] = lacks + asked
    end
  end
  first = last + 1
end

for i = 1, #order do
  local key = order[i]
  local lacks = lacking[key]
  local millis = lacks / 1000 + SLACK_MILLIS
  redis.call('SET', key, string.format('%.0f', now + lacks - EPOCH) .. tags[key],
    'PX', string.format('%.0f', millis - millis % 1 + 1))
end
return replies
