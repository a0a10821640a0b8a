-- Sliding window: admits at most its limit in any interval of length `window`.
--
-- Three numbers: the usage when the row was written, how much of it is in the newest part, and how many closed
-- parts there are before it. Parts are consecutive and one precision long. A part counts in full while any moment
-- of it is within the window, so usage becomes available again up to one precision late. A call in the same part as
-- the call before touches only the numbers.
--
-- Behind the numbers of the row is a total for each closed part: what was counted until its end, modulo 2^32 or 2^53.
-- The difference of two totals is what was counted between them, so no call has to add up parts, however many have
-- left the window. The last total and the usage in closed parts say at which total counting begins; what was
-- counted before does not count any more. So the oldest usage is dropped by lowering the usage.

local sliding_window = {letter = 's', code = 3, width = 3, format = 'I7I7I2', bytes = 16, parameters = 3}
do

local AT_A_TIME = 100 -- totals that are read or written by one call of struct

-- Arguments: limit, window, precision. A total has 32 bits if that is enough for the limit, else 56.
function sliding_window.limit(quota, window, precision, bits)
  bits = bits or (quota < 2147483648 and 32 or 56)
  local bytes = bits / 8
  return {
    kind = sliding_window, quota = quota, scale = 1, most = quota, debt = 0,
    window = window, precision = precision, bytes = bytes, total = '<I' .. bytes,
    modulus = bytes == 4 and 4294967296 or EXACT + 1, is_even = window % precision == 0,
    horizon = window + precision, shape = {window, precision, bits},
  }
end

-- The part that contains a time, which may be before the epoch.
local function part(limit, moment)
  if moment < 0 then
    return -ceil_div(-moment, limit.precision)
  end
  return div(moment, limit.precision)
end

-- When a part leaves the window.
local function leaves_at(limit, which)
  return (which + 1) * limit.precision - 1 + limit.window
end

-- Whether no part can have closed or left the window since some time. If the window is a whole number of parts, a
-- part leaves in the last microsecond of another.
local function is_unmoved(limit, written, now)
  return limit.is_even and rest(written, limit.precision) + now - written < limit.precision - 1
end

-- How many closed parts have left the window, plus one if the newest has left, too.
local function parts_gone(limit, written, closed, now)
  if now == written then
    return 0
  end
  local oldest = part(limit, now - limit.window + 1)
  return max(0, min(closed + 1, oldest - part(limit, written) + closed))
end

-- The i-th of the totals that begin at a place in a string.
local function total(limit, totals, from, i)
  return (read_packed(limit.total, totals, from + (i - 1) * limit.bytes))
end

-- How much of the usage is in the n oldest parts.
local function in_oldest(limit, used, newest, closed, totals, from, n)
  if n == 0 then
    return 0
  elseif n > closed then
    return used
  end
  local in_closed = used - newest
  if n == closed then
    return in_closed
  end
  local later = (total(limit, totals, from, closed) - total(limit, totals, from, n)) % limit.modulus
  return max(0, in_closed - later)
end

-- The numbers some time later, and the totals, if they change.
local function moved(limit, written, used, newest, closed, totals, from, now)
  if is_unmoved(limit, written, now) then
    return used, newest, closed
  end
  local left, new = parts_gone(limit, written, closed, now), part(limit, now) - part(limit, written)
  if left == 0 and new == 0 then
    return used, newest, closed
  end
  used = used - in_oldest(limit, used, newest, closed, totals, from, left)
  if used == 0 then
    return 0, 0, 0, ''
  end
  local kept = sub(totals, from + left * limit.bytes, from + closed * limit.bytes - 1)
  if new > 0 then
    local last = closed > 0 and total(limit, totals, from, closed) or 0
    kept, newest = kept .. rep(pack(limit.total, (last - limit.modulus + newest) % limit.modulus), new), 0
  end
  return used, newest, closed - left + new, kept
end

function sliding_window.take(limit, amount, ceiling, written, used, newest, closed, totals, from)
  local changed
  used, newest, closed, changed = moved(limit, written, used, newest, closed, totals, from, now)
  used = used + amount
  if used <= ceiling then
    return leaves_at(limit, part(limit, now)) - now, 0, used, newest + amount, closed, changed
  end
end

if is_whole then -- the rest is for the general way

function sliding_window.of_shape(window, precision, bits)
  return (bits == 32 or bits == 56) and sliding_window.limit(0, window, precision, bits)
end

-- The least n for which the n oldest parts have at least an amount.
local function parts_with(limit, used, newest, closed, totals, from, amount)
  local low, high = 0, closed + 1
  while low < high do
    local middle = div(low + high, 2)
    if in_oldest(limit, used, newest, closed, totals, from, middle) >= amount then
      high = middle
    else
      low = middle + 1
    end
  end
  return low
end

-- The numbers and the totals of a row.
local function all_of(row, at)
  return row[at], row[at + 1], row[at + 2], totals_of(row, at), 1
end

function sliding_window.used(limit, row, at, now)
  if is_unmoved(limit, row[WRITTEN], now) then
    return row[at]
  end
  local used, newest, closed, totals, from = all_of(row, at)
  return used - in_oldest(limit, used, newest, closed, totals, from, parts_gone(limit, row[WRITTEN], closed, now))
end

function sliding_window.advance(limit, row, at, now)
  if is_unmoved(limit, row[WRITTEN], now) then
    return
  end
  local used, newest, closed, totals, from = all_of(row, at)
  local changed
  row[at], row[at + 1], row[at + 2], changed = moved(limit, row[WRITTEN], used, newest, closed, totals, from, now)
  if changed then
    set_totals(row, at, changed)
  end
end

function sliding_window.add(limit, row, at, now, amount)
  row[at], row[at + 1] = row[at] + amount, row[at + 1] + amount
  return 0
end

-- What does not count any more is also taken out of the totals. So two of them never differ by more than the usage, and
-- they cannot wrap around unseen.
function sliding_window.drop(limit, row, at, amount)
  local used, newest, closed, totals, from = all_of(row, at)
  used = used - amount
  newest = min(newest, used)
  if closed > 0 then
    local last, spent = total(limit, totals, from, closed), closed
    if used > newest then
      spent = parts_with(limit, used, newest, closed, totals, from, 1) - 1
    end
    local start = pack(limit.total, (last - used + newest) % limit.modulus)
    set_totals(row, at, rep(start, spent) .. sub(totals, from + spent * limit.bytes))
  end
  row[at], row[at + 1] = used, newest
end

-- When the n oldest parts have left the window.
local function gone_at(limit, row, at, n)
  return leaves_at(limit, part(limit, row[WRITTEN]) - row[at + 2] + n - 1)
end

function sliding_window.opens_after(limit, row, at, now, amount)
  local gone = row[at] - sliding_window.used(limit, row, at, now)
  local used, newest, closed, totals, from = all_of(row, at)
  local n = parts_with(limit, used, newest, closed, totals, from, gone + amount)
  return gone_at(limit, row, at, n) - now
end

function sliding_window.reset_after(limit, row, at, now, used)
  if used == 0 then
    return 0
  elseif now == row[WRITTEN] and row[at + 1] > 0 then
    return leaves_at(limit, part(limit, now)) - now
  end
  local all, newest, closed, totals, from = all_of(row, at)
  return gone_at(limit, row, at, parts_with(limit, all, newest, closed, totals, from, all)) - now
end

-- Lowers all totals of a row from the n-th on.
local function lower(limit, totals, n, amount)
  local lowered, last = {sub(totals, 1, (n - 1) * limit.bytes)}, #totals / limit.bytes
  for i = n, last, AT_A_TIME do
    local many = min(AT_A_TIME, last - i + 1)
    local these = {read_packed('<' .. rep('I' .. limit.bytes, many), totals, (i - 1) * limit.bytes + 1)}
    for k = 1, many do
      these[k] = (these[k] - amount) % limit.modulus
    end
    lowered[#lowered + 1] = pack('<' .. rep('I' .. limit.bytes, many), unpack(these, 1, many))
  end
  return table.concat(lowered)
end

function sliding_window.give_back(limit, row, at, now, amount, mark)
  local used, newest, closed, totals, from = all_of(row, at)
  local n = part(limit, mark) - part(limit, row[WRITTEN]) + closed -- parts before that of the mark
  if n < parts_gone(limit, row[WRITTEN], closed, now) or n > closed then
    return
  end
  local counted = in_oldest(limit, used, newest, closed, totals, from, n + 1)
    - in_oldest(limit, used, newest, closed, totals, from, n)
  local less = min(amount, counted)
  row[at] = used - less
  if n == closed then
    row[at + 1] = newest - less
  elseif less > 0 then
    set_totals(row, at, lower(limit, totals, n + 1, less))
  end
end

-- Each part moves to the part of its latest possible time, so it leaves the window no earlier. Where totals have less
-- room than before, the newest usage is kept: it is more than the limit by itself, and outlives the rest.
function sliding_window.convert(limit, row, at, from, old, old_at, now)
  local used, newest, closed, totals, place = all_of(old, old_at)
  local gone, first = parts_gone(from, old[WRITTEN], closed, now), part(from, old[WRITTEN]) - closed
  local present, counts, oldest = part(limit, now), {}, part(limit, now - limit.window + 1)
  local room, before = limit.modulus - 1, used
  for n = closed, gone, -1 do
    local older = in_oldest(from, used, newest, closed, totals, place, n)
    local counted = min(before - older, room)
    if counted > 0 then
      local latest = part(limit, min(old[WRITTEN], (first + n + 1) * from.precision - 1))
      if latest >= oldest then
        counts[latest], room = (counts[latest] or 0) + counted, room - counted
      end
    end
    before = older
  end
  local parts, sum, start = {}, 0, next(counts) and present or nil
  for which in pairs(counts) do
    start = min(start, which)
  end
  for which = start or present, present - 1 do
    sum = sum + (counts[which] or 0)
    parts[#parts + 1] = pack(limit.total, sum)
  end
  row[at + 1], row[at + 2] = counts[present] or 0, #parts
  row[at] = sum + row[at + 1]
  set_totals(row, at, table.concat(parts))
end

end
end
