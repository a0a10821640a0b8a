-- Sluice: judges one plan of the commonest kind, as quick.lua judges several.
--
-- KEYS   the account.
-- ARGV   now, tag, full, asked   see quick.lua
-- Reply  {now, what the bucket lacks, as quick.lua says it}
--
-- Nearly all of what a short script costs is its beginning: so no functions, and no tables.

local key, tag, full, asked = KEYS[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local call, sub = redis.call, string.sub
local since = now - EPOCH

local value = call('MGET', key)[1]
local lacks
if not value then
  lacks = call('EXISTS', key) == 0 and 0 -- else it is of another type
elseif sub(value, -4) == tag and string.byte(value) <= 57 then
  lacks = sub(value, 1, -5) - since
  if lacks < 0 then
    lacks = 0
  end
end

if not lacks or lacks > full or since < 0 or since + full >= LATEST then
  return {now, SLOW}
elseif lacks + asked > full then
  return {now, -1 - lacks}
end

local ends = since + lacks + asked
local stays = ends + SLACK
if lacks > 0 and asked <= stays % GRAIN then
  call('INCRBY', key, ARGV[4] .. '0000') -- the TTL that it has is long enough
else
  local format = string.format
  local millis = (stays - stays % GRAIN + GRAIN + EPOCH - (is_test and now or 0)) / 1000
  call('SET', key, format('%.0f', ends) .. tag, is_test and 'PX' or 'PXAT', format('%.0f', millis))
end
return {now, lacks + asked}
