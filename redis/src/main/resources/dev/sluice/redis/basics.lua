-- Whole numbers in Lua's doubles, exact below 2^53.
--
-- a / b may round up to the next whole number when a is large. Then a % b, which Lua computes by it, is
-- negative, but right by a multiple of b. A number less its remainder divides without loss.

local EXACT = 9007199254740991 -- up to here, every whole number is a double
local NEVER = EXACT

-- What Lua and Redis offer is not there yet while a library loads, so it is looked up in the first call.
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

-- All digits: tostring would keep 14 of them.
local function text(number)
  return format('%.0f', number)
end

-- What a call knows: its keys, the clock, whether it may write, a calendar round that it lacks, and how many
-- values under our keys were not ours.
local keys, now, may_write, lacking_round, foreign
local may_mend -- whether a row that counts entries which were lost is put right: not where somebody only looks

-- Whether a command failed because another type of value lies under the key.
local function is_foreign(reply)
  return type(reply) == 'table' and reply.err and reply.err:find('WRONGTYPE', 1, true)
end

-- The string under a key. A value of another type is not ours: it counts as none and is replaced.
local function get(key)
  local value = try('GET', key)
  if type(value) ~= 'table' then
    return value or nil
  end
  if not is_foreign(value) then
    return call('GET', key) -- no right to, or the slot is on its way: raises that error
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

-- Runs a command, but gives nil if a key of it may be on another node. Any other error is raised.
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
