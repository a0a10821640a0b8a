-- Whole numbers in Lua's doubles, exact below 2^53.
--
-- a / b may round up to the next whole number when a is large, so floor(a / b) can be one too many.
-- fmod is exact, and a number less its remainder divides without loss.

local fmod, format, floor = math.fmod, string.format, math.floor
local max, min = math.max, math.min
local LARGEST = 4503599627370496 -- 2^52
local NEVER = -1

local function div(a, b)
  return (a - fmod(a, b)) / b
end

local function ceil_div(a, b)
  local rest = fmod(a, b)
  return (a - rest) / b + (rest > 0 and 1 or 0)
end

-- All digits: tostring would keep 14 of them.
local function text(number)
  return format('%.0f', number)
end
