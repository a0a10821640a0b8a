-- Sliding log: admits at most its limit in any interval of length `window`, and denies a call only if admitting
-- it would exceed that.
--
-- Three numbers: the usage when the row was written, the time of the oldest entry that counts (or an earlier
-- time), and the number of the newest entry. The entries are in a sorted set beside the row: score = time,
-- member = number:weight, or only the number if the weight is 1. A call is one entry, whatever it costs. Later
-- entries have higher numbers. The key of the first log of a row is the key of the row and !log1, and so on.
--
-- Sums. What many entries weigh must be known without reading them. If all weigh 1, they are counted (ZCOUNT). What
-- an entry weighs beyond 1 is also in a second set, key!log1+, as powers of two. Each is a member of its own: a letter
-- for the power, the time and the number of the entry, and all have the score 0. So Redis can count how often a power
-- occurs between two times (ZLEXCOUNT), and at most 21 such counts give the weight of all entries between them. Logs of
-- earlier versions lack sums: of their entries a call reads at most MOST_READ, and what it has not read still counts.
--
-- Entries before the oldest no longer count. They are removed a few at a time, so that no call has to pay for
-- all. The row always counts at least what is in the log: entries are written after the row and removed before
-- it (`write_entries`, `remove_entries`). An error in between leaves a row that counts too much, never too
-- little.

local sliding_log = {letter = 'l', code = 4, width = 3, format = 'I7I7I7', bytes = 21, parameters = 1}
local move_entries, unlink_logs, remove_entries, write_entries, write_plain_entries
do

local FEW = 8 -- entries that may leave the window in a call that goes the plain way
local MOST_READ = 1000 -- entries without sums that a call reads
local FIRST_POWER = 97 -- the letter of 2^0: a
local FOREVER = EXACT

-- Arguments: limit, window.
function sliding_log.limit(quota, window)
  return {
    kind = sliding_log, quota = quota, scale = 1, most = quota, debt = 0, window = window,
    horizon = window, shape = {window},
  }
end

local function sums_of(log)
  return log .. '+'
end

-- The number and the weight of an entry. An entry that is not ours weighs 1.
local function number_and_weight(name)
  local number, weight = name:match('^(%d+):?(%d*)$')
  return tonumber(number) or 0, tonumber(weight) or 1
end

-- A number as a text that sorts like it.
local function sortable(number)
  return format('%016.0f', max(0, number))
end

-- Runs a command on the sums of a log. Returns nil if they may be on another node: a call without a large cost does not
-- name their key. A value of another type is not ours and is replaced.
local function on_sums(command, log, ...)
  local result = try(command, sums_of(log), ...)
  if type(result) == 'table' and result.err then
    return not is_away(result) and on_set(command, sums_of(log), ...) or nil
  end
  return result
end

-- Writes the sums of an entry that weighs `after` instead of `before`; 0 is no entry.
local function sum_up(log, time, number, before, after)
  local name, added, removed, power = sortable(time) .. sortable(number), {}, {}, FIRST_POWER
  before, after = max(0, before - 1), max(0, after - 1)
  while before > 0 or after > 0 do
    local had, has = before % 2, after % 2
    if has > had then
      added[#added + 1], added[#added + 2] = '0', string.char(power) .. name
    elseif had > has then
      removed[#removed + 1] = string.char(power) .. name
    end
    before, after, power = (before - had) / 2, (after - has) / 2, power + 1
  end
  if added[1] then
    on_set('ZADD', sums_of(log), unpack(added))
  end
  if removed[1] then
    on_sums('ZREM', log, unpack(removed))
  end
end

local function add_entry(log, time, number, weight)
  local score = text(time)
  local name = number == time and score or text(number)
  if weight ~= 1 then
    name = name .. ':' .. text(weight)
    sum_up(log, time, number, 0, weight)
  end
  on_set('ZADD', log, score, name)
end

-- Removes the n oldest entries, which are given with their times.
local function remove_oldest(log, n, entries)
  for i = 1, 2 * n, 2 do
    local number, weight = number_and_weight(entries[i])
    if weight > 1 then
      sum_up(log, tonumber(entries[i + 1]), number, weight, 0)
    end
  end
  on_set('ZREMRANGEBYRANK', log, 0, n - 1)
end

-- Sets a TTL that is too short. The key may be new, or new again after it was lost.
local function outlive(key, millis)
  if (unless_away('PTTL', key) or millis) < millis - 1000 then
    call('PEXPIRE', key, text(millis))
  end
end

-- What is left of the usage if only a few entries have left the window: the usage, the time of the oldest entry that
-- counts, how many have left, and these.
local function after_few(log, used, oldest, cutoff)
  local some = on_set('ZRANGE', log, 0, FEW - 1, 'WITHSCORES')
  if tonumber(some[2]) ~= oldest then
    return
  end
  for i = 1, #some, 2 do
    local time = tonumber(some[i + 1])
    if time > cutoff then
      return used, time, (i - 1) / 2, some
    end
    local _, weight = number_and_weight(some[i])
    used = used - weight
  end
  if used == 0 and #some < 2 * FEW then
    return 0, now, #some / 2, some
  end
end

-- `log` is the key of the entries. The last two results are how many have left the window, and these. A log whose row
-- is missing may have entries all the same; then its row was never written.
function sliding_log.take(limit, amount, ceiling, written, used, oldest, number, log)
  local left, entries = 0, nil
  if used == 0 then
    if written == 0 and call('EXISTS', log) == 1 then
      return
    end
    oldest = now
  elseif oldest <= now - limit.window then
    used, oldest, left, entries = after_few(log, used, oldest, now - limit.window)
    if not used then
      return
    end
  end
  used = used + amount
  if used <= ceiling then
    number = max(number + 1, now)
    return limit.window, number, used, oldest, number, left, entries
  end
end

-- Writes what calls on the plain way have changed, after the row, whose key now ends at another time if it `has_moved`:
-- n entries have left, the first ones of these.
function write_plain_entries(log, lives, has_moved, n, entries, added, adds)
  local is_heavy, millis = has_moved, ceil_div(lives * 1000000 - now, 1000)
  for i = 1, added, 2 do
    add_entry(log, now, adds[i], adds[i + 1])
    is_heavy = is_heavy or adds[i + 1] > 1
  end
  if n > 0 then
    remove_oldest(log, n, entries)
  end
  outlive(log, millis)
  if is_heavy then
    outlive(sums_of(log), millis)
  end
end

if is_whole then -- the rest is for the general way

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
local function each_entry(row, at, from, till, visit)
  local last, of_last, skipped = nil, 0, 0
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

local function newest_entry(row, at)
  local newest = on_entries('ZRANGE', row, at, -1, -1, 'WITHSCORES')
  return newest[1], tonumber(newest[2])
end

local function count_between(row, at, from, till)
  return on_entries('ZCOUNT', row, at, text(from), text(till))
end

-- The highest power among the sums, or nil without sums: letters sort last.
local function highest_power(row, at)
  local last = on_sums('ZRANGE', log_of(row, at), -1, -1)
  return last and last[1] and byte(last[1])
end

-- What the entries between two times weigh beyond 1 each, by their sums.
local function excess(row, at, highest, from, till)
  local log, found, value = log_of(row, at), 0, 1
  for power = FIRST_POWER, highest or 0 do
    local letter = string.char(power)
    local first, last = '[' .. letter .. sortable(from), '(' .. letter .. sortable(till + 1)
    found = found + value * (on_sums('ZLEXCOUNT', log, first, last) or 0)
    value = 2 * value
  end
  return found
end

-- Recounts the log into a row that does not include it: if a row is lost or not ours, its log is still valid. A large
-- log without sums counts as used up, since its entries may weigh anything.
function sliding_log.recount(limit, row, at)
  local from = now - limit.window + 1
  local count = count_between(row, at, from, FOREVER)
  if count > MOST_READ then
    local first = on_entries('ZRANGEBYSCORE', row, at, text(from), '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
    local highest = highest_power(row, at)
    row[at] = highest and count + excess(row, at, highest, from, FOREVER) or max(count, limit.most)
    row[at + 1], row[at + 2] = tonumber(first[2]), number_and_weight((newest_entry(row, at)))
  elseif count > 0 then
    each_entry(row, at, text(from), '+inf', function(number, weight, time)
      if row[at] == 0 then
        row[at + 1] = time
      end
      row[at], row[at + 2] = row[at] + weight, max(row[at + 2], number)
    end)
  end
end

-- What has left the window since the row was written, and the time until which that is known.
local function left_until(row, at, cutoff)
  local from = row[at + 1]
  local left, stay = count_between(row, at, from, cutoff), count_between(row, at, cutoff + 1, FOREVER)
  if stay == 0 then
    return row[at], cutoff
  elseif left + stay ~= row[at] then
    local highest = highest_power(row, at)
    left = left + excess(row, at, highest, from, cutoff)
    if left + stay + excess(row, at, highest, cutoff + 1, FOREVER) ~= row[at] then -- there are no sums
      local read, last = 0, nil
      left = 0
      each_entry(row, at, text(from), text(cutoff), function(_, weight, time)
        row.was_slow = row.was_slow or read >= AT_ONCE
        if read >= MOST_READ and time ~= last then
          cutoff = last
          return true
        end
        left, read, last = left + weight, read + 1, time
      end)
    end
  end
  return min(left, row[at]), cutoff
end

local function gone(limit, row, at, now)
  local cutoff = now - limit.window
  if row[at] == 0 or row[at + 1] > cutoff then
    return 0, row[at + 1] - 1
  end
  row.gone = row.gone or {}
  local known = row.gone[at]
  if not known or known.now ~= now then
    local sum, till = left_until(row, at, cutoff)
    known = {now = now, sum = sum, till = till}
    row.gone[at] = known
  end
  return known.sum, known.till
end

local function forget_gone(row, at)
  if row.gone then
    row.gone[at] = nil
  end
end

function sliding_log.used(limit, row, at, now)
  return row[at] - gone(limit, row, at, now)
end

function sliding_log.advance(limit, row, at, now, used)
  local cutoff = now - limit.window
  if row[at] > 0 and row[at + 1] <= cutoff then
    local _, till = gone(limit, row, at, now)
    local first = on_entries('ZRANGEBYSCORE', row, at, '(' .. text(till), '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
    row[at], row[at + 1] = first[2] and used or 0, tonumber(first[2] or now)
    row.trims = true
    forget_gone(row, at)
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
    log = log_of(row, at), name = name, number = number, time = time, weight = weight, rest = max(0, weight - less),
  }
end

-- When the entries from a time on, which weigh `used`, have an amount: the time of the entry with which they reach it,
-- and what those of earlier times weigh. Without sums the time may be too early. If the entries have less, nil, and
-- what they have.
local function reached(row, at, from, used, amount)
  local count, before, till = count_between(row, at, from, FOREVER), 0, FOREVER
  if count == used then -- all weigh 1
    local rank = on_entries('ZCOUNT', row, at, '-inf', '(' .. text(from)) + amount - 1
    local time = tonumber(on_entries('ZRANGE', row, at, rank, rank, 'WITHSCORES')[2])
    return time, count_between(row, at, from, time - 1)
  end
  local highest = highest_power(row, at)
  if count + excess(row, at, highest, from, FOREVER) == used then
    local _, newest = newest_entry(row, at)
    till = newest
    while from < till and count > AT_ONCE do
      local middle = div(from + till, 2)
      local some = count_between(row, at, from, middle)
      local weight = some + excess(row, at, highest, from, middle)
      if before + weight >= amount then
        till, count = middle, some
      else
        from, before, count = middle + 1, before + weight, count - some
      end
    end
    if from == till then
      return till, before
    end
  end
  local read, sum, last = 0, before, nil
  each_entry(row, at, text(from), text(till), function(_, weight, time)
    if time ~= last then
      before, last = sum, time
    end
    sum, read = sum + weight, read + 1
    return sum >= amount or read >= MOST_READ
  end)
  if sum >= amount or read >= MOST_READ then
    return last, before
  end
  return nil, sum
end

-- Entries before the first that stays are skipped by moving the oldest time; those of the same time are removed.
-- Without sums, less may be dropped than it should.
function sliding_log.drop(limit, row, at, amount)
  local time, before = reached(row, at, row[at + 1], row[at], amount)
  local has_lost = not time
  if has_lost then
    local _, newest = newest_entry(row, at)
    time, before = newest or row[at + 1], 0
  end
  local left = amount - before
  each_entry(row, at, text(time), text(time), function(number, weight, _, name)
    lighten(row, at, name, number, time, weight, left)
    left = left - min(left, weight)
    return left == 0
  end)
  row[at], row[at + 1], row.trims = row[at] - amount + (has_lost and 0 or left), time, true
end

-- If the log has fewer entries than the row counts, some were lost: the row is corrected.
function sliding_log.opens_after(limit, row, at, now, amount)
  if row.exhausts then
    return limit.window
  end
  local sum, till = gone(limit, row, at, now)
  local used = row[at] - sum
  local time, found = reached(row, at, till + 1, used, amount)
  if time then
    return max(1, time + limit.window - now)
  end
  if may_mend then
    change(row)
    row[at] = row[at] - used + found
    forget_gone(row, at)
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
  local _, newest = newest_entry(row, at)
  return max(0, (newest or 0) + limit.window - now)
end

-- An entry that a record has partly displaced weighs less than it did.
function sliding_log.give_back(limit, row, at, now, amount, mark, number, cost)
  if mark <= now - limit.window or mark < row[at + 1] then
    return
  end
  local name, weight = name_of(number, cost), cost
  if not on_entries('ZSCORE', row, at, name) then
    name = nil
    each_entry(row, at, text(mark), text(mark), function(its_number, its_weight, _, its_name)
      if its_number == number then
        name, weight = its_name, its_weight
      end
      return name
    end)
  end
  if name then
    local less = min(amount, weight)
    lighten(row, at, name, number, mark, weight, less)
    row[at] = max(0, row[at] - less)
    forget_gone(row, at)
  end
end

-- Entries keep their time, so another window simply sees more or fewer of them.
function sliding_log.convert(limit, row, at, from, old, old_at, now)
  row[at], row[at + 1], row[at + 2] = old[old_at], old[old_at + 1], old[old_at + 2]
  row.logs = row.logs or {}
  row.logs[at] = log_of(old, old_at)
end

-- Renames entries and sums, if there are any. Returns whether there are.
function move_entries(from, to)
  if call('EXISTS', from) == 0 then
    return false
  end
  call('RENAME', from, to)
  if on_sums('EXISTS', from) == 1 then
    call('RENAME', sums_of(from), sums_of(to))
  else
    on_sums('UNLINK', to)
  end
  return true
end

function unlink_logs(row)
  local form = row[FORM]
  for i, limit in ipairs(form.limits) do
    if limit.kind == sliding_log then
      local log = log_of(row, form.at[i])
      call('UNLINK', log)
      on_sums('UNLINK', log)
    end
  end
end

-- Removes what no longer counts, before the row is written. Replacements are added first: a set that is empty
-- for a moment loses its TTL, and cannot be written again while its slot moves.
function remove_entries(row)
  local drops = row.drops
  row.drops = nil
  for _, drop in ipairs(drops) do
    if drop.rest > 0 then
      on_set('ZADD', drop.log, text(drop.time), name_of(drop.number, drop.rest))
    end
    if drop.weight > 1 then
      row.lightened = true -- its sums may be new
      sum_up(drop.log, drop.time, drop.number, drop.weight, drop.rest)
    end
    on_set('ZREM', drop.log, drop.name)
  end
end

-- Writes new entries, after the row. Logs expire with their row, whose TTL may have changed.
function write_entries(row, has_moved)
  local adds, millis, heavy = row.adds, ceil_div(row[LIVES] * 1000000 - now, 1000), {}
  row.adds = nil
  for i = 1, adds and #adds or 0, 4 do
    add_entry(log_of(row, adds[i]), adds[i + 1], adds[i + 2], adds[i + 3])
    heavy[adds[i]] = heavy[adds[i]] or adds[i + 3] > 1
  end
  for i, limit in ipairs(row[FORM].limits) do
    if limit.kind == sliding_log and (adds or has_moved or row.trims or row.lightened) then
      local at = row[FORM].at[i]
      local log = log_of(row, at)
      if row.trims then
        local before = on_set('ZCOUNT', log, '-inf', '(' .. text(row[at + 1]))
        if before > 0 then
          local n = min(before, AT_ONCE)
          remove_oldest(log, n, on_set('ZRANGE', log, 0, n - 1, 'WITHSCORES'))
        end
      end
      outlive(log, millis)
      if has_moved or heavy[at] or row.lightened then
        outlive(sums_of(log), millis)
      end
    end
  end
  row.trims, row.lightened = nil, nil
end

end
end
