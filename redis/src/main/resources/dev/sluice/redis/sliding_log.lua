-- Sliding log: in any interval of length `window` it admits at most its limit, and it denies a call only
-- if admitting it would break that.
--
-- Three numbers: what was used when the row was written, the time of the oldest entry (or earlier), and
-- the number of the newest. Beside the row the entries, a sorted set: score = when, member = number:weight,
-- or the number alone if it weighs 1. A call is one entry, whatever it costs. Later entries have higher
-- numbers. The first log of a row lies under its key with !log1 behind it, and so on.

local sliding_log = {letter = 'l', code = 4, width = 3, format = 'I7I7I7', bytes = 21, parameters = 1}
local AT_ONCE = 200 -- entries that are read in one go

-- limit, window
function sliding_log.limit(quota, window)
  return {
    kind = sliding_log, quota = quota, scale = 1, most = quota, debt = 0, window = window,
    horizon = window, shape = {window},
  }
end

function sliding_log.of_shape(window)
  return sliding_log.limit(0, window)
end

-- The key of the entries. A row that was converted still finds them where they were.
local function log_of(limit, row, at)
  return row.logs and row.logs[at] or row.key .. limit.suffix
end

local function name_of(number, weight)
  return weight == 1 and text(number) or text(number) .. ':' .. text(weight)
end

-- The number and the weight of an entry. What is not ours weighs 1.
local function entry(name)
  local number, weight = name:match('^(%d+):?(%d*)$')
  return tonumber(number) or 0, tonumber(weight) or 1
end

-- Sees to it that what is in the log is counted in the row, of which it is no part: a row that was lost
-- or is not ours does not forget its log.
function sliding_log.recount(limit, row, at)
  local entries = on_set('ZRANGE', log_of(limit, row, at), 0, -1, 'WITHSCORES')
  for i = 1, #entries, 2 do
    local number, weight = entry(entries[i])
    row[at], row[at + 2] = row[at] + weight, max(row[at + 2], number)
  end
  row[at + 1] = tonumber(entries[2] or 0)
end

-- What has left the window since the row was written.
local function gone(limit, row, at, now)
  if row[at] == 0 or row[at + 1] > now - limit.window then
    return 0
  end
  local known = row.gone
  if known and known.at == at and known.now == now then
    return known.sum
  end
  local sum = 0
  for _, name in ipairs(on_set('ZRANGEBYSCORE', log_of(limit, row, at), '-inf', text(now - limit.window))) do
    local _, weight = entry(name)
    sum = sum + weight
  end
  row.gone = {at = at, now = now, sum = min(sum, row[at])}
  return row.gone.sum
end

function sliding_log.used(limit, row, at, now)
  return row[at] - gone(limit, row, at, now)
end

-- What has left is removed once something was added: a set that is empty for a moment would lose its TTL, and
-- while its slot moves to another node, it could not be written any more.
function sliding_log.advance(limit, row, at, now, used)
  if row[at] > 0 and row[at + 1] <= now - limit.window then
    local cutoff = text(now - limit.window)
    local first = on_set('ZRANGEBYSCORE', log_of(limit, row, at), '(' .. cutoff, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
    row[at], row.gone = first[2] and used or 0, nil
    row[at + 1] = tonumber(first[2] or 0)
    row.trims = row.trims or {}
    row.trims[at] = cutoff
  end
end

function sliding_log.add(limit, row, at, now, amount)
  if row[at] == 0 then
    row[at + 1] = now
  end
  row[at] = row[at] + amount
  row[at + 2] = max(row[at + 2] + 1, now)
  on_set('ZADD', log_of(limit, row, at), text(now), name_of(row[at + 2], amount))
  if row.trims and row.trims[at] then
    on_set('ZREMRANGEBYSCORE', log_of(limit, row, at), '-inf', row.trims[at])
    row.trims[at] = nil
  end
  row.newest = now
  return row[at + 2]
end

-- A set that is empty for a moment would lose its TTL: what takes an entry's place is added first.
function sliding_log.drop(limit, row, at, amount)
  local left = amount
  while left > 0 do
    local first = on_set('ZRANGE', log_of(limit, row, at), 0, 0, 'WITHSCORES')
    if not first[1] then
      break
    end
    local number, weight = entry(first[1])
    if weight > left then
      on_set('ZADD', log_of(limit, row, at), first[2], name_of(number, weight - left))
    end
    on_set('ZREM', log_of(limit, row, at), first[1])
    left = left - min(left, weight)
  end
  row[at] = row[at] - amount
end

-- If every entry weighs 1, the one that makes room is found by its rank.
function sliding_log.opens_after(limit, row, at, now, amount)
  if row.exhausts then
    return limit.window
  end
  local after, skipped, back = '(' .. text(now - limit.window), 0, 0
  local counting = on_set('ZCOUNT', log_of(limit, row, at), after, '+inf')
  if counting == sliding_log.used(limit, row, at, now) then
    skipped, back = amount - 1, amount - 1
  end
  while true do
    local some = on_set('ZRANGEBYSCORE', log_of(limit, row, at), after, '+inf', 'WITHSCORES',
      'LIMIT', skipped, back == amount - 1 and 1 or AT_ONCE)
    for i = 1, #some, 2 do
      local _, weight = entry(some[i])
      back = back + weight
      if back >= amount or i == #some - 1 and #some < 2 * AT_ONCE then
        return some[i + 1] + limit.window - now
      end
    end
    if #some == 0 then
      return limit.window
    end
    skipped = skipped + AT_ONCE
  end
end

function sliding_log.reset_after(limit, row, at, now, used)
  if row[at] == 0 or row.exhausts then
    return row[at] == 0 and 0 or limit.window
  end
  local newest = row.newest == now and now
    or tonumber(on_set('ZRANGE', log_of(limit, row, at), -1, -1, 'WITHSCORES')[2] or 0)
  return max(0, newest + limit.window - now)
end

-- An entry that a record has pushed out in part weighs less than it did.
function sliding_log.give_back(limit, row, at, now, amount, mark, number, cost)
  local log, name, weight = log_of(limit, row, at), name_of(number, cost), cost
  if mark <= now - limit.window then
    return
  end
  if not on_set('ZSCORE', log, name) then
    name = nil
    for _, each in ipairs(on_set('ZRANGEBYSCORE', log, text(mark), text(mark))) do
      local its_number, its_weight = entry(each)
      if its_number == number then
        name, weight = each, its_weight
      end
    end
  end
  if name then
    local less = min(amount, weight)
    if less < weight then
      on_set('ZADD', log, text(mark), name_of(number, weight - less))
    end
    on_set('ZREM', log, name)
    row[at], row.newest, row.gone = max(0, row[at] - less), nil, nil
  end
end

-- The entries know their time: another window looks at more of them, or at fewer.
function sliding_log.convert(limit, row, at, from, old, old_at, now)
  row[at], row[at + 1], row[at + 2] = old[old_at], old[old_at + 1], old[old_at + 2]
  row.logs = row.logs or {}
  row.logs[at] = log_of(from, old, old_at)
end
