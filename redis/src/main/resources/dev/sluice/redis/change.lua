-- Changing: what happens to a row and to its logs before its numbers change. Every change begins with `change`.

local MOST_LOGS = 32 -- to remove with a missing row; a rule has fewer limits

-- Renames the logs of a row that replaced another one.
local function move_logs(row)
  local form, key, moved = row[FORM], keys[row[PLACE]], {}
  for i, limit in ipairs(form.limits) do
    local at = form.at[i]
    if limit.kind == sliding_log and not row.exhausts and row.logs and row.logs[at] then
      local log = key .. form.suffixes[at]
      if move_entries(row.logs[at], log .. '~') then
        moved[#moved + 1], moved[log] = log, true
      end
    end
  end
  for _, log in ipairs(moved) do
    move_entries(log .. '~', log)
  end
  for i = 1, max(row.old_logs, form.logs) do
    if not moved[key .. '!log' .. i] then
      call('UNLINK', key .. '!log' .. i)
      unless_away('UNLINK', key .. '!log' .. i .. '+')
    end
  end
  row.logs, row.old_logs = nil, nil
  if row.exhausts then
    row.exhausts = nil
    for i, limit in ipairs(form.limits) do
      if limit.kind == sliding_log then
        row[form.at[i]] = 0
        sliding_log.add(limit, row, form.at[i], now, limit.most)
      end
    end
  end
end

local function is_used(row)
  local at = row[FORM].at
  for i = 1, #at do
    if row[at[i]] > 0 then
      return true
    end
  end
  return false
end

-- Prepares a row for a change. Only an odd row has or had a lock, a reservation or forgotten usage, or replaced
-- another.
function change(row)
  row[BACK] = false
  if row[CHANGED] and not row.old_logs then
    return
  end
  row[CHANGED] = true
  if not row.odd then
    return
  end
  row.replaces = nil
  if row.old_logs then
    move_logs(row)
  end
  if row.open_until and row.open_until <= now then
    row.open, row.open_until, row.tail = nil, nil, true
  end
  if (row.forgotten or row.given) and not is_used(row) then
    row.forgotten, row.tail = now, true -- all that was taken before is available again
  end
  if row.is_old then
    advance(row, time_of(row))
  end
end

-- Brings all numbers up to a time, just before the row is written. `used` is the usage of each limit at that
-- time, if known.
function advance(row, moment, used)
  local form = row[FORM]
  local limits, at = form.limits, form.at
  for i = 1, #limits do
    local limit = limits[i]
    limit:advance(row, at[i], moment, used and used[i] or limit:used(row, at[i], moment))
  end
  row[WRITTEN] = moment
  if row.is_old then
    row.is_old = nil
  end
end

-- Removes the logs of a missing row.
local function unlink_lost_logs(row)
  local logs = {}
  for i = 1, MOST_LOGS do
    logs[2 * i - 1] = keys[row[PLACE]] .. '!log' .. i
    logs[2 * i] = logs[2 * i - 1] .. '+'
  end
  unless_away('UNLINK', unpack(logs))
end

-- Forgets the usage. Earlier takes cannot be refunded any more. Open reservations stay open if `keeps_open`.
local function forget_usage(row, keeps_open)
  if row.is_new then
    unlink_lost_logs(row)
    return
  end
  change(row)
  for i = NUMBERS, row[FORM].last do
    row[i] = 0
  end
  row.totals, row.adds, row.drops = {}, nil, nil
  unlink_logs(row)
  if not keeps_open then
    row.open, row.open_until = nil, nil
  end
  row.tail, row.odd = true, true
  row[WRITTEN], row.forgotten = 0, now -- nothing is used, so the time of the account need not stand still
end
