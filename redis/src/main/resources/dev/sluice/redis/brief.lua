-- What the quick and the plain script share.

local call, byte, sub, format = redis.call, string.byte, string.sub, string.format
-- %d is several times as fast as %.0f, where Lua's whole numbers are long enough for it.
local digits = format('%d', 4503599627370496) == '4503599627370496' and '%d' or '%.0f'
local since = now - EPOCH

-- The values of some keys, and whether one that seems to be missing is of another type: MGET finds
-- nothing there, and the whole script replaces it.
local function find(first, last)
  local values = call('MGET', unpack(KEYS, first, last))
  local missing = {}
  for i = 1, #values do
    if not values[i] then
      missing[#missing + 1] = KEYS[first + i - 1]
    end
  end
  return values, #missing > 0 and call('EXISTS', unpack(missing)) > 0
end

-- Writes a value that must be remembered until some microseconds after EPOCH.
local function write(key, value, ends)
  local stays = ends + SLACK
  local millis = (stays - stays % GRAIN + GRAIN + EPOCH - (is_test and now or 0)) / 1000
  call('SET', key, value, is_test and 'PX' or 'PXAT', format(digits, millis))
end
