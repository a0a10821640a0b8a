-- Sliding window: admits at most its limit in any interval of length `window`.
--
-- Three numbers: the usage when the row was written, how much of it is in the newest part, and how many closed
-- parts there are before it. The counts of the closed parts are behind the numbers of the row. Parts are
-- consecutive and one precision long. A part counts in full while any moment of it is within the window, so
-- usage becomes available again up to one precision late. A call in the same part as the call before touches
-- only the numbers.

local sliding_window = {letter = 's', code = 3, width = 3, format = 'I7I7I2', bytes = 16, parameters = 3}

-- Arguments: limit, window, precision. A count has four bytes if that is enough for the limit.
function sliding_window.limit(quota, window, precision, bytes)
  bytes = bytes or (quota < 2147483648 and 4 or 7)
  return {
    kind = sliding_window, quota = quota, scale = 1, most = quota, debt = 0,
    window = window, precision = precision, bytes = bytes, cell = '<I' .. bytes,
    largest = bytes == 4 and 4294967295 or EXACT, is_even = window % precision == 0,
    horizon = window + precision, shape = {window, precision, bytes},
  }
end

function sliding_window.of_shape(window, precision, bytes)
  return sliding_window.limit(0, window, precision, bytes)
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

-- The first part that has a count in the row.
local function first_part(limit, row, at)
  return part(limit, row[WRITTEN]) - row[at + 2]
end

-- Whether no part can have closed or left the window since the row was written. If the window is a whole number
-- of parts, a part leaves in the last microsecond of another.
local function is_unmoved(limit, row, now)
  local written = row[WRITTEN]
  return limit.is_even and rest(written, limit.precision) + now - written < limit.precision - 1
end

-- How many closed parts have left the window, plus one if the newest has left, too.
local function parts_gone(limit, row, at, now)
  if now == row[WRITTEN] then
    return 0
  end
  local oldest = part(limit, now - limit.window + 1)
  return max(0, min(row[at + 2] + 1, oldest - first_part(limit, row, at)))
end

-- The i-th count, from 0; the last one is that of the newest part.
local function count_of(limit, row, at, i)
  if i == row[at + 2] then
    return row[at + 1]
  end
  return (read_packed(limit.cell, counts_of(row, at), i * limit.bytes + 1))
end

local function set_count(limit, row, at, i, number)
  if i == row[at + 2] then
    row[at + 1] = number
  else
    local counts, bytes = counts_of(row, at), limit.bytes
    set_counts(row, at, sub(counts, 1, i * bytes) .. pack(limit.cell, number) .. sub(counts, (i + 1) * bytes + 1))
  end
end

function sliding_window.used(limit, row, at, now)
  if is_unmoved(limit, row, now) then
    return row[at]
  end
  local left, used = parts_gone(limit, row, at, now), row[at]
  if left > row[at + 2] then
    return 0
  end
  for i = 0, left - 1 do
    used = used - count_of(limit, row, at, i)
  end
  return max(0, used)
end

function sliding_window.advance(limit, row, at, now, used)
  if is_unmoved(limit, row, now) then
    return
  end
  local left, new = parts_gone(limit, row, at, now), part(limit, now) - part(limit, row[WRITTEN])
  if left == 0 and new == 0 then
    return
  end
  row[at] = used
  if used == 0 then
    set_counts(row, at, '') -- first, because reading the counts needs row[at + 2]
    row[at + 1], row[at + 2] = 0, 0
    return
  end
  local counts = sub(counts_of(row, at), left * limit.bytes + 1)
  if new > 0 then
    local closed = min(row[at + 1], limit.largest) -- after a change of rules it may exceed the limit
    counts = counts .. pack(limit.cell, closed) .. rep('\0', (new - 1) * limit.bytes)
    row[at], row[at + 1] = row[at] - row[at + 1] + closed, 0
  end
  row[at + 2] = row[at + 2] - left + new
  set_counts(row, at, counts)
end

function sliding_window.add(limit, row, at, now, amount)
  row[at], row[at + 1] = row[at] + amount, row[at + 1] + amount
  return 0
end

function sliding_window.drop(limit, row, at, amount)
  local left, i = amount, 0
  while left > 0 and i <= row[at + 2] do
    local counted = count_of(limit, row, at, i)
    local less = min(left, counted)
    if less > 0 then
      set_count(limit, row, at, i, counted - less)
    end
    left, i = left - less, i + 1
  end
  row[at] = row[at] - amount
end

function sliding_window.opens_after(limit, row, at, now, amount)
  local i = parts_gone(limit, row, at, now)
  local back = count_of(limit, row, at, i)
  while back < amount and i < row[at + 2] do
    i = i + 1
    back = back + count_of(limit, row, at, i)
  end
  return leaves_at(limit, first_part(limit, row, at) + i) - now
end

function sliding_window.reset_after(limit, row, at, now, used)
  if used == 0 then
    return 0
  end
  if now == row[WRITTEN] and row[at + 1] > 0 then
    return leaves_at(limit, part(limit, now)) - now
  end
  local i, left = row[at + 2], parts_gone(limit, row, at, now)
  while i >= left and count_of(limit, row, at, i) == 0 do
    i = i - 1
  end
  return i < left and 0 or leaves_at(limit, first_part(limit, row, at) + i) - now
end

function sliding_window.give_back(limit, row, at, now, amount, mark)
  local i = part(limit, mark) - first_part(limit, row, at)
  if i >= parts_gone(limit, row, at, now) and i <= row[at + 2] then
    local counted = count_of(limit, row, at, i)
    local less = min(amount, counted)
    set_count(limit, row, at, i, counted - less)
    row[at] = row[at] - less
  end
end

-- Each count moves to the part of its latest possible time, so it leaves the window no earlier.
function sliding_window.convert(limit, row, at, from, old, old_at, now)
  row[WRITTEN] = 0
  for i = parts_gone(from, old, old_at, now), old[old_at + 2] do
    local counted = count_of(from, old, old_at, i)
    local latest = min(old[WRITTEN], (first_part(from, old, old_at) + i + 1) * from.precision - 1)
    if counted > 0 then
      sliding_window.advance(limit, row, at, latest, sliding_window.used(limit, row, at, latest))
      row[WRITTEN] = latest
      sliding_window.add(limit, row, at, latest, counted)
    end
  end
  sliding_window.advance(limit, row, at, now, sliding_window.used(limit, row, at, now))
  row[WRITTEN] = now
end
