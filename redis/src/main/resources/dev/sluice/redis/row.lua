-- Row: the state of one account, a string under its key.
--
--   the length of the shape, one byte, or 255 and then two bytes
--   shape      what the numbers mean (MessagePack): for each limit the code of its kind and its parameters
--   lives      5 bytes, seconds since the epoch: when the key's TTL ends
--   written    7 bytes, microseconds since the epoch: all that follows is as of that time
--   numbers    of each limit, in the order of the rule: see the kinds
--   totals     of sliding windows
--   the rest   only if there is or was a lock, a reservation or forgotten usage, 7 bytes each:
--              when the lock began and ends, its position in the row of locks, and for how long after its end it
--              still counts towards the next; the cost of open reservations, and until when they are open; when
--              usage was last forgotten; the total refunded to calls that other takes followed, on which the
--              marks of those takes depend
-- Whole numbers are little-endian. Other keys of an account: key!log1 and so on (sliding_log.lua), key!lock
-- (locks.lua), key!done (calls.lua). Every key has a TTL.
--
-- In Lua a row is an array: the place of its key, its form, its terms (or false), the string it was read from (or
-- false), whether it has changed, when the whole quota is available again (or false if that is not known). From
-- SHAPE on it holds what is in the string. What few rows have is in named fields.

local REST = '<I7I7I7I7I7I7I7I7'
local REST_BYTES = 56

-- An empty row.
local function empty(place, form, moment)
  local row = {place, form, false, false, false, false, form.prefix, 0, moment}
  for i = NUMBERS, form.last do
    row[i] = 0
  end
  return row
end

-- Reads the totals of sliding windows, which follow the numbers.
local function read_tail(row)
  local raw, form, totals = row[RAW], row[FORM], {}
  row.totals = totals
  if not raw then
    return row
  end
  local place = form.bytes + 1
  for i = 1, form.has_totals and #form.limits or 0 do
    local limit, at = form.limits[i], form.at[i]
    if limit.kind == sliding_window then
      local length = row[at + 2] * limit.bytes
      totals[at], place = sub(raw, place, place + length - 1), place + length
    end
  end
  return row
end

-- The size of the totals of all sliding windows in bytes.
local function totals_bytes(row)
  local form, bytes = row[FORM], 0
  for i = 1, form.has_totals and #form.limits or 0 do
    if form.limits[i].kind == sliding_window then
      bytes = bytes + row[form.at[i] + 2] * form.limits[i].bytes
    end
  end
  return bytes
end

-- The totals of a sliding window, read from the row on demand.
function totals_of(row, at)
  return (row.totals or read_tail(row).totals)[at] or ''
end

function set_totals(row, at, totals)
  if not row.totals then
    read_tail(row)
  end
  row.totals[at] = totals
end

-- Decodes a string of a form into a row; nil if it does not have that form.
local function decode(place, raw, form, terms)
  local bytes, last = form.bytes, form.last
  if #raw < bytes then
    return nil
  end
  local row = {place, form, terms or false, raw, false, false, read_packed(form.format, raw)}
  if row[SHAPE] ~= form.prefix then
    return nil
  end
  for i = WRITTEN, last do
    if row[i] > EXACT then
      return nil
    end
  end
  local behind = #raw - bytes
  if form.has_totals then
    behind = behind - totals_bytes(row)
  end
  if behind == 0 then
    return row
  elseif behind ~= REST_BYTES then
    return nil
  end
  local from, till, nth, memory, open, open_until, forgotten, given = read_packed(REST, raw, #raw - REST_BYTES + 1)
  if max(from, till, nth, memory, open, open_until, forgotten, given) > EXACT then
    return nil
  end
  row.odd = true
  row.lock = till > 0 and {from = from, till = till, nth = nth, memory = memory} or nil
  row.open, row.open_until = open_until > 0 and open or nil, open_until > 0 and open_until or nil
  row.forgotten, row.given = forgotten > 0 and forgotten or nil, given > 0 and given or nil
  return row
end
