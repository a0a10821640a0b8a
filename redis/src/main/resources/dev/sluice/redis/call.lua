-- One call of the library: its arguments, what it has read, and its reply.
--
-- KEYS   every account once, and the keys of calls with an id, in any order. In a Cluster, all other keys
--        that are touched follow. A place is an index into KEYS.
-- ARGV   mode       w, or r if the call must not write; then only denials are final
--        now        microseconds to use as the clock; 0, except in tests, for the clock of Redis
--        the rest   operations, each a letter and its arguments: see plain.lua and operations.lua
-- Reply  whole numbers of 7 bytes, little-endian: the clock, how many values under our keys were not
--        ours and were replaced; then the result of each operation

local AT_ONCE = 200 -- things that are read, written or removed at once
local MOST_KEYS_READ = 4000 -- Lua passes at most some thousand arguments to a function
local STALE = true -- in place of a value that was not read, or was written since

-- Verdicts. From LACKS_ROUND on nothing was done, because …
local DENIED, ALLOWED = 0, 1
local PLAINLY = 2 -- allowed, all was taken, and nothing is locked
local LACKS_ROUND = 3 -- the calendar windows around the time that follows are missing
local ID_REUSED = 4 -- the id was used for another question
local MAY_NOT_WRITE = 5 -- the call has to write, but may not
local NOT_PLAIN = 6 -- a short script decides only what is plain

local keys, words, cursor -- the arguments, and where to read on
local now, may_write
local values -- the values of the keys when the call began, or STALE
local rows = {} -- the rows that the general way has read, by the place of their key
local lacking_round -- a moment whose calendar window is missing
local foreign -- how many values under our keys Sluice did not write
local remembered_calls = {} -- by key, what must be remembered of calls with an id: see calls.lua
local may_mend -- whether to correct a row whose log has lost entries; not for a peek
local out, filled = {}, 0 -- the reply, and how many numbers it has; the next call uses the table again
local operations = {} -- by their letters
local judge, write_all -- the general way, and what ends a call; a short script has neither

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

-- Whether a command failed because one of its keys may be on another node.
local function is_away(reply)
  return type(reply) == 'table' and reply.err and reply.err:find('non local key', 1, true)
end

-- Runs a command, but returns nil if one of its keys may be on another node. Any other error is raised.
local function unless_away(...)
  local reply = try(...)
  if is_away(reply) then
    return nil
  end
  return type(reply) == 'table' and reply.err and call(...) or reply
end

-- The value of the only key. One that is no string counts as missing, as for MGET.
local function only_value(key)
  local value = try('GET', key)
  if type(value) == 'table' then
    return not is_foreign(value) and call('GET', key) -- raises the error
  end
  return value
end

-- The string under the key of a place.
local function value_of(place)
  local value = values[place]
  if value == STALE then
    return get(keys[place])
  end
  return value
end

-- Begins a call.
local function begin(given_keys, given_words)
  keys, words, cursor, values = given_keys, given_words, 3, nil
  filled, foreign, lacking_round, may_write, may_mend = 2, 0, nil, words[1] == 'w', false
  if next(rows) or next(remembered_calls) then
    rows, remembered_calls = {}, {}
  end
  if words[2] == '0' then
    local time = call('TIME')
    now = time[1] * 1000000 + time[2]
  else
    now = tonumber(words[2])
  end
  if #keys == 1 then
    values = {only_value(keys[1])}
  elseif #keys <= MOST_KEYS_READ then
    values = call('MGET', unpack(keys)) -- returns nothing for values that are no strings
  else
    values = {}
    for place = 1, #keys do
      values[place] = STALE
    end
  end
end

local function word()
  cursor = cursor + 1
  return words[cursor - 1]
end

local function next_number()
  return tonumber(word())
end

-- The i-th place in a text: two characters each, the lower seven bits first. In an empty text places are in order.
local function place_in(encoded, i)
  if encoded == '' then
    return i
  end
  local low, high = byte(encoded, 2 * i - 1, 2 * i)
  return low + high * 128
end

-- How many places there are in a text.
local function count_in(encoded)
  return encoded == '' and #keys or #encoded / 2
end

local function next_places()
  local encoded, found = word(), {}
  for i = 1, count_in(encoded) do
    found[i] = place_in(encoded, i)
  end
  return found
end

local function reply(...)
  for i = 1, select('#', ...) do
    out[filled + i] = (select(i, ...))
  end
  filled = filled + select('#', ...)
end

-- The TTL of a key exceeds what it must remember by SLACK, and by up to a GRAIN more.
local SLACK, GRAIN = 60000000, 300000000

-- When a key ends that must remember something until a time, in seconds; and its TTL in milliseconds.
local function life(last)
  local lives = last + SLACK
  lives = lives - rest(lives, GRAIN) + GRAIN
  return lives / 1000000, ceil_div(lives - now, 1000)
end

local formats = {} -- of that many numbers

-- The reply as one string.
local function packed()
  out[1], out[2] = now, foreign
  local parts = {}
  for i = 1, filled, AT_ONCE do
    local n = min(filled - i + 1, AT_ONCE)
    formats[n] = formats[n] or '<' .. rep('I7', n)
    local part = pack(formats[n], unpack(out, i, i + n - 1))
    if n == filled then
      return part
    end
    parts[#parts + 1] = part
  end
  return table.concat(parts)
end
