-- Sluice: judges one plan of the commonest kind, as quick.lua judges several.
--
-- KEYS   the account.
-- ARGV   now, tag, full, asked   see quick.lua
-- Reply  {now, what the bucket lacked before, or SLOW}
--
-- Nearly all of what a short script costs is its beginning: so no functions, and no tables.

local key, tag, full, asked = KEYS[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local call, sub = redis.call, string.sub
local since = now - EPOCH

local value, lacks = call('MGET', key)[1], nil
if not value then
  lacks = 0
elseif sub(value, -4) == tag and string.find(value, '^[1-9]%d') then
  local full_at = tonumber(sub(value, 1, -5))
  if full_at and full_at % 1 == 0 then -- else it is not ours
    lacks = full_at < since and 0 or full_at - since
  end
end

if not lacks or lacks > full or since < 0 or since + full >= LATEST then
  lacks = SLOW
elseif lacks + asked <= full then
  local ends = since + lacks + asked
  local stays = ends + SLACK
  if lacks > 0 and asked <= stays % GRAIN then
    call('INCRBY', key, ARGV[4] .. '0000') -- the TTL that it has is long enough
  else
    local format = string.format
    local millis = (stays - stays % GRAIN + GRAIN + EPOCH - (is_test and now or 0)) / 1000
    if not call('SET', key, format('%.0f', ends) .. tag, is_test and 'PX' or 'PXAT',
      format('%.0f', millis), value and 'XX' or 'NX') then
      lacks = SLOW -- MGET found nothing, but there is something of another type
    end
  end
end
return {now, lacks}
