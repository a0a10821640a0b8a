-- Sliding log: admits at most its limit in any interval of length `window`, and denies a call only if admitting
-- it would exceed that.
--
-- Three numbers: the usage when the row was written, the time of the oldest entry that counts (or an earlier
-- time), and the number of the newest entry. The entries are in a sorted set beside the row: score = time,
-- member = number:weight, or only the number if the weight is 1. A call is one entry, whatever it costs. Later
-- entries have higher numbers. The key of the first log of a row is the key of the row and !log1, and so on.
--
-- Entries before the oldest no longer count. They are removed a few at a time, so that no call has to pay for
-- all. The row always counts at least what is in the log: entries are written after the row and removed before
-- it (`write_entries`, `remove_entries`). An error in between leaves a row that counts too much, never too
-- little.

local sliding_log = {letter = 'l', code = 4, width = 3, format = 'I7I7I7', bytes = 21, parameters = 1}

-- Arguments: limit, window.
function sliding_log.limit(quota, window)
  return {
    kind = sliding_log, quota = quota, scale = 1, most = quota, debt = 0, window = window,
    horizon = window, shape = {window},
  }
end

function sliding_log.of_shape(window)
  return sliding_log.limit(0, window)
end

-- The key of the entries. A row that was converted still finds them under the old key.
local function log_of(row, at)
  return row.logs and row.logs[at] or keys[row[PLACE]] .. row[FORM].suffixes[at]
end

local function name_of(number, weight)
  return weight == 1 and text(number) or text(number) .. ':' .. text(weight)
end

-- The number and the weight of an entry. An entry that is not ours weighs 1.
local function number_and_weight(name)
  local number, weight = name:match('^(%d+):?(%d*)$')
  return tonumber(number) or 0, tonumber(weight) or 1
end

-- Runs a command on the entries, after writing what this call has changed so far.
local function on_entries(command, row, at, ...)
  if (row.adds or row.drops) and not row.is_flushed then
    flush(row)
    row[CHANGED] = true -- the row may be in the middle of a change
  end
  return on_set(command, log_of(row, at), ...)
end

-- Calls a function with number, weight, time and name of each entry between two scores, oldest first, until it
-- returns true. It continues from the time of the last entry, because ranks are slow to find.
local function each_entry(row, at, from, till, skipped, visit)
  local last, of_last = nil, 0
  repeat
    local some = on_entries('ZRANGEBYSCORE', row, at, from, till, 'WITHSCORES', 'LIMIT', skipped, AT_ONCE)
    for i = 1, #some, 2 do
      local number, weight = number_and_weight(some[i])
      if some[i + 1] ~= last then
        last, of_last = some[i + 1], 0
      end
      of_last = of_last + 1
      if visit(number, weight, tonumber(some[i + 1]), some[i]) then
        return
      end
    end
    from, skipped = last, of_last
  until #some < 2 * AT_ONCE
end

-- Recounts the log into a row that does not include it: if a row is lost or not ours, its log is still valid.
function sliding_log.recount(limit, row, at)
  each_entry(row, at, '(' .. text(now - limit.window), '+inf', 0, function(number, weight, time)
    if row[at] == 0 then
      row[at + 1] = time
    end
    row[at], row[at + 2] = row[at] + weight, max(row[at + 2], number)
  end)
end

-- The lower bound, for Redis, of the entries that count at a time.
local function first_counting(limit, row, at, now)
  local cutoff = now - limit.window
  return row[at + 1] > cutoff and text(row[at + 1]) or '(' .. text(cutoff)
end

-- What has left the window since the row was written. If all entries weigh 1, counting them is enough.
local function gone(limit, row, at, now)
  local cutoff = now - limit.window
  if row[at] == 0 or row[at + 1] > cutoff then
    return 0
  end
  local known = row.gone
  if known and known.at == at and known.now == now then
    return known.sum
  end
  local sum = on_entries('ZCOUNT', row, at, text(row[at + 1]), text(cutoff))
  local others = on_entries('ZCOUNT', row, at, '(' .. text(cutoff), '+inf')
  if others == 0 then
    sum = row[at]
  elseif sum + others ~= row[at] then
    row.was_slow, sum = sum > AT_ONCE, 0
    each_entry(row, at, text(row[at + 1]), text(cutoff), 0, function(_, weight)
      sum = sum + weight
    end)
  end
  row.gone = {at = at, now = now, sum = min(sum, row[at])}
  return row.gone.sum
end

function sliding_log.used(limit, row, at, now)
  return row[at] - gone(limit, row, at, now)
end

function sliding_log.advance(limit, row, at, now, used)
  local cutoff = now - limit.window
  if row[at] > 0 and row[at + 1] <= cutoff then
    local first = on_entries('ZRANGEBYSCORE', row, at, '(' .. text(cutoff), '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
    row[at], row[at + 1] = first[2] and used or 0, tonumber(first[2] or now)
    row.gone, row.trims = nil, true
  end
end

function sliding_log.add(limit, row, at, now, amount)
  if row[at] == 0 then
    row[at + 1] = now
  end
  local number = max(row[at + 2] + 1, now)
  row[at], row[at + 2] = row[at] + amount, number
  local adds = row.adds
  if not adds then
    row.adds = {at, now, number, amount}
  else
    local n = #adds
    adds[n + 1], adds[n + 2], adds[n + 3], adds[n + 4] = at, now, number, amount
  end
  return number
end

-- Removes an entry from the log, or reduces its weight.
local function lighten(row, at, name, number, time, weight, less)
  local drops = row.drops or {}
  row.drops = drops
  drops[#drops + 1] = {
    log = log_of(row, at), name = name, time = time, rest = less < weight and name_of(number, weight - less),
  }
end

-- Entries before the first that stays are skipped by moving the oldest time; those of the same time are
-- removed. If all entries weigh 1, the first that stays is found by its rank.
function sliding_log.drop(limit, row, at, amount)
  local left, from, of_same_time = amount, text(row[at + 1]), {}
  if on_entries('ZCOUNT', row, at, from, '+inf') == row[at] then
    local last = on_entries('ZRANGEBYSCORE', row, at, from, '+inf', 'WITHSCORES', 'LIMIT', amount - 1, 1)
    left = amount - on_entries('ZCOUNT', row, at, from, '(' .. last[2])
    from = last[2]
  end
  each_entry(row, at, from, '+inf', 0, function(number, weight, time, name)
    if time ~= row[at + 1] then
      row[at + 1], of_same_time = time, {}
    end
    if left > 0 then
      of_same_time[#of_same_time + 1] = {name, number, time, weight, min(left, weight)}
      left = left - min(left, weight)
    end
    return left == 0
  end)
  for _, each in ipairs(of_same_time) do
    lighten(row, at, unpack(each))
  end
  row[at], row.trims = row[at] - amount, true
end

-- If all entries weigh 1, the one that makes room is found by its rank. If the log has fewer entries than the
-- row counts, some were lost: the row is corrected.
function sliding_log.opens_after(limit, row, at, now, amount)
  if row.exhausts then
    return limit.window
  end
  local from, skipped, opens_at = first_counting(limit, row, at, now), 0, nil
  local used, back = sliding_log.used(limit, row, at, now), 0
  if on_entries('ZCOUNT', row, at, from, '+inf') == used then
    skipped, back = amount - 1, amount - 1
  end
  each_entry(row, at, from, '+inf', skipped, function(_, weight, time)
    back = back + weight
    opens_at = back >= amount and time
    return opens_at
  end)
  if opens_at then
    return opens_at + limit.window - now
  end
  if may_mend then
    change(row)
    row[at], row.gone = row[at] - used + back, nil
  end
  return 1
end

function sliding_log.reset_after(limit, row, at, now, used)
  if row[at] == 0 or row.exhausts then
    return row[at] == 0 and 0 or limit.window
  end
  if row.adds then
    return limit.window -- the newest entry is from now
  end
  local newest = on_entries('ZRANGE', row, at, -1, -1, 'WITHSCORES')
  return max(0, tonumber(newest[2] or 0) + limit.window - now)
end

-- An entry that a record has partly displaced weighs less than it did.
function sliding_log.give_back(limit, row, at, now, amount, mark, number, cost)
  if mark <= now - limit.window or mark < row[at + 1] then
    return
  end
  local name, weight = name_of(number, cost), cost
  if not on_entries('ZSCORE', row, at, name) then
    name = nil
    each_entry(row, at, text(mark), text(mark), 0, function(its_number, its_weight, _, its_name)
      if its_number == number then
        name, weight = its_name, its_weight
      end
      return name
    end)
  end
  if name then
    local less = min(amount, weight)
    lighten(row, at, name, number, mark, weight, less)
    row[at], row.gone = max(0, row[at] - less), nil
  end
end

-- Entries keep their time, so another window simply sees more or fewer of them.
function sliding_log.convert(limit, row, at, from, old, old_at, now)
  row[at], row[at + 1], row[at + 2] = old[old_at], old[old_at + 1], old[old_at + 2]
  row.logs = row.logs or {}
  row.logs[at] = log_of(old, old_at)
end

-- Removes what no longer counts, before the row is written. Replacements are added first: a set that is empty
-- for a moment loses its TTL, and cannot be written again while its slot moves.
local function remove_entries(row)
  local drops = row.drops
  row.drops = nil
  for _, drop in ipairs(drops) do
    if drop.rest then
      on_set('ZADD', drop.log, text(drop.time), drop.rest)
    end
    on_set('ZREM', drop.log, drop.name)
  end
end

-- Writes new entries, after the row. Logs expire with their row, whose TTL may have changed.
local function write_entries(row, has_moved)
  local adds, millis = row.adds, ceil_div(row[LIVES] * 1000000 - now, 1000)
  row.adds = nil
  for i = 1, adds and #adds or 0, 4 do
    local time = text(adds[i + 1])
    local name = adds[i + 2] == adds[i + 1] and time or text(adds[i + 2])
    if adds[i + 3] ~= 1 then
      name = name .. ':' .. text(adds[i + 3])
    end
    on_set('ZADD', log_of(row, adds[i]), time, name)
  end
  for i, limit in ipairs(row[FORM].limits) do
    if limit.kind == sliding_log and (adds or has_moved or row.trims) then
      local at = row[FORM].at[i]
      local log = log_of(row, at)
      if row.trims then
        local before = on_set('ZCOUNT', log, '-inf', '(' .. text(row[at + 1]))
        if before > 0 then
          on_set('ZREMRANGEBYRANK', log, 0, min(before, AT_ONCE) - 1)
        end
      end
      -- The log may be new, or new again after it was lost.
      if (unless_away('PTTL', log) or millis) < millis - 1000 then
        call('PEXPIRE', log, text(millis))
      end
    end
  end
  row.trims = nil
end
