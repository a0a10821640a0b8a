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

-- The state of a call: its keys, the clock, whether it may write, a missing calendar window, and how many
-- values under our keys Sluice did not write.
local keys, now, may_write, lacking_round, foreign
local may_mend -- whether to correct a row whose log has lost entries; not for a peek

-- Whether a command failed because the key has another type.
local function is_foreign(reply)
  return type(reply) == 'table' and reply.err and reply.err:find('WRONGTYPE', 1, true)
end

-- The string under a key. A value of another type is not ours: it counts as missing and is replaced.
local function get(key)
  local value = try('GET', key)
  if type(value) ~= 'table' then
    return value or nil
  end
  if not is_foreign(value) then
    return call('GET', key) -- raises the error: no permission, or the slot is moving
  end
  foreign = foreign + 1
  if may_write then
    call('DEL', key)
  end
  return nil
end

-- Runs a command on a sorted set. A value of another type is not ours and is replaced.
local function on_set(command, key, ...)
  local reply = try(command, key, ...)
  if type(reply) ~= 'table' or not reply.err then
    return reply
  elseif is_foreign(reply) and may_write then
    foreign = foreign + 1
    call('DEL', key)
  end
  return call(command, key, ...)
end

-- Runs a command, but returns nil if one of its keys may be on another node. Any other error is raised.
local function unless_away(...)
  local reply = try(...)
  local fault = type(reply) == 'table' and reply.err
  if not fault then
    return reply
  elseif fault:find('non local key', 1, true) then
    return nil
  end
  return call(...)
end
