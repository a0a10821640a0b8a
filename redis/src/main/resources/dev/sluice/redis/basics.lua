-- Whole numbers in Lua's doubles, exact below 2^53.
--
-- When a is large, a / b may round up to the next whole number. Lua computes a % b from it, so the result may
-- be negative, but it is right up to a multiple of b. A number minus its remainder divides exactly.

local EXACT = 9007199254740991 -- every whole number up to here is exact in a double
local NEVER = EXACT

-- The functions of Lua and Redis are not available while a library loads, so they are looked up in the first
-- call.
local call, try, pack, read_packed, sub, byte, rep, max, min, format, sha1

local function prepare()
  call, try, pack, read_packed = redis.call, redis.pcall, struct.pack, struct.unpack
  sub, byte, rep, format = string.sub, string.byte, string.rep, string.format
  max, min, sha1 = math.max, math.min, redis.sha1hex
end

-- The remainder of a number that is not negative.
local function rest(a, b)
  local found = a % b
  return found < 0 and found + b or found
end

local function div(a, b)
  local found = a % b
  return (a - (found < 0 and found + b or found)) / b
end

local function ceil_div(a, b)
  local found = a % b
  if found == 0 then
    return a / b
  end
  return (a - (found < 0 and found + b or found)) / b + 1
end

-- A number with all digits; tostring would keep only 14.
local function text(number)
  return format('%.0f', number)
end
