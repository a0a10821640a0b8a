-- Row: the state of one account, a string under its key, and how it changes with time.
--
--   the length of the shape, one byte, or 255 and then two bytes
--   shape      what the numbers mean (MessagePack): for each limit the code of its kind and its parameters
--   lives      5 bytes, seconds since the epoch: when the key's TTL ends
--   written    7 bytes, microseconds since the epoch: all that follows is as of that time
--   numbers    of each limit, in the order of the rule: see the kinds
--   counts     of sliding windows
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
--
-- Time never runs backwards. If the clock shows an earlier time than when a row was written, the time of the
-- account stands still until the clock has caught up. A row from further in the future than its limits remember
-- is replaced by one that is used up now.

local KINDS = { -- by the letter in terms, and by the code in a row
  b = token_bucket, f = fixed_window, s = sliding_window, l = sliding_log,
  token_bucket, fixed_window, sliding_window, sliding_log,
}

-- The TTL of a key exceeds what it must remember by SLACK, and by up to a GRAIN more.
local SLACK, GRAIN = 60000000, 300000000
local REST = '<I7I7I7I7I7I7I7I7'
local REST_BYTES = 56
local MOST_LOGS = 32 -- to remove with a missing row; a rule has fewer limits
local rows -- the rows that this call has read, by the place of their key

-- The form of a row with these limits.
local function form_of(limits)
  local form = {limits = limits, at = {}, last = NUMBERS - 1, format = '', cells = false, logs = 0, suffixes = {}}
  local shape, bytes = {}, 0
  for i, limit in ipairs(limits) do
    local kind = limit.kind
    form.at[i] = form.last + 1
    form.last, bytes = form.last + kind.width, bytes + kind.bytes
    form.format = form.format .. kind.format
    form.cells = form.cells or kind == sliding_window
    shape[#shape + 1] = kind.code
    for _, parameter in ipairs(limit.shape) do
      shape[#shape + 1] = parameter
    end
    if kind == sliding_log then
      form.logs = form.logs + 1
      form.suffixes[form.at[i]] = '!log' .. form.logs
    end
    for name, what in pairs(kind) do
      if type(what) == 'function' then
        limit[name] = what -- copied, so that calling a limit needs no second look-up
      end
    end
  end
  shape = #shape > 0 and cmsgpack.pack(unpack(shape)) or ''
  form.prefix = #shape < 255 and string.char(#shape) .. shape or '\255' .. pack('<I2', #shape) .. shape
  form.from_written, form.before_written = '<I7' .. form.format, text(#form.prefix + 5)
  form.format, form.bytes = '<c' .. #form.prefix .. 'I5I7' .. form.format, #form.prefix + 12 + bytes
  return form
end

-- The form of a row that was written under other terms, or nil if Sluice did not write it.
local function form_in(raw)
  local length, start = byte(raw, 1), 2
  if length == 255 and #raw > 2 then
    length, start = read_packed('<I2', raw, 2), 4
  end
  local numbers = {true}
  if not length or #raw < start + length - 1 then
    return nil
  elseif length > 0 then
    numbers = {pcall(cmsgpack.unpack, sub(raw, start, start + length - 1))}
  end
  local limits, i = {}, 2
  while numbers[1] and i <= #numbers do
    local kind = type(numbers[i]) == 'number' and KINDS[numbers[i]]
    for j = i + 1, i + (kind and kind.parameters or 0) do
      local parameter = numbers[j]
      if type(parameter) ~= 'number' or parameter < 1 and kind ~= fixed_window or parameter > EXACT then
        return nil
      end
    end
    local bytes = kind == sliding_window and numbers[i + 3]
    if not kind or bytes and bytes ~= 4 and bytes ~= 7 then
      return nil
    end
    limits[#limits + 1] = kind.of_shape(numbers[i + 1], numbers[i + 2], numbers[i + 3])
    i = i + 1 + kind.parameters
  end
  local form = numbers[1] and form_of(limits)
  return form and sub(raw, 1, #form.prefix) == form.prefix and form or nil
end

-- An empty row.
local function empty(place, form, moment)
  local row = {place, form, false, false, false, false, form.prefix, 0, moment}
  for i = NUMBERS, form.last do
    row[i] = 0
  end
  return row
end

-- Reads what follows the numbers: the counts of sliding windows, and the rest.
local function read_tail(row)
  local raw, form, counts = row[RAW], row[FORM], {}
  row.counts = counts
  if not raw then
    return row
  end
  local place = form.bytes + 1
  for i = 1, form.cells and #form.limits or 0 do
    local limit, at = form.limits[i], form.at[i]
    if limit.kind == sliding_window then
      local length = row[at + 2] * limit.bytes
      counts[at], place = sub(raw, place, place + length - 1), place + length
    end
  end
  return row
end

-- The size of the counts of all sliding windows in bytes.
local function counts_bytes(row)
  local form, bytes = row[FORM], 0
  for i = 1, form.cells and #form.limits or 0 do
    if form.limits[i].kind == sliding_window then
      bytes = bytes + row[form.at[i] + 2] * form.limits[i].bytes
    end
  end
  return bytes
end

-- The counts of a sliding window, read from the row on demand.
function counts_of(row, at)
  return (row.counts or read_tail(row).counts)[at] or ''
end

function set_counts(row, at, counts)
  if not row.counts then
    read_tail(row)
  end
  row.counts[at] = counts
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
  if form.cells then
    behind = behind - counts_bytes(row)
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

-- Copies what a row keeps besides its numbers, when it replaces another row.
local function take_place(row, old)
  row.lock, row.open, row.open_until, row.forgotten = old.lock, old.open, old.open_until, old.forgotten
  row.given = old.given
  row[LIVES], row.old_logs = old[LIVES], old[FORM].logs
  row[CHANGED], row.is_new, row.odd = old[CHANGED], old.is_new, true
  return row
end

-- For each limit, the index of the limit among others whose usage it takes over: the same limit, else one of
-- the same kind. The second result says which are the same.
local function match(limits, others)
  local found, same, taken = {}, {}, {}
  for i, limit in ipairs(limits) do
    for j, other in ipairs(others) do
      local is_same = not taken[j] and limit.kind == other.kind
      for k = 1, is_same and #limit.shape or 0 do
        is_same = is_same and (limit.shape[k] == other.shape[k] or limit.kind == sliding_window and k == 3)
      end
      if is_same then
        found[i], same[i], taken[j] = j, true, true
        break
      end
    end
  end
  for i, limit in ipairs(limits) do
    for j, other in ipairs(others) do
      if not found[i] and not taken[j] and limit.kind == other.kind then
        found[i], taken[j] = j, true
      end
    end
  end
  return found, same
end

local function recount_logs(row)
  local form = row[FORM]
  for i, limit in ipairs(form.limits) do
    if limit.kind == sliding_log then
      limit:recount(row, form.at[i])
    end
  end
end

local function convert(old, form, moment)
  local row = take_place(empty(old[PLACE], form, moment), old)
  local old_form = old[FORM]
  if #old_form.limits == 0 then -- only a lock that was set by hand without a row
    row.old_logs, row[WRITTEN] = nil, 0
    recount_logs(row)
    return row
  end
  local found = match(form.limits, old_form.limits)
  for i, limit in ipairs(form.limits) do
    if found[i] then
      limit:convert(row, form.at[i], old_form.limits[found[i]], old, old_form.at[found[i]], moment)
    end
  end
  row.is_old = true -- its log may still hold entries outside the window
  return row
end

-- How long a counted call under these terms can affect decisions.
local function horizon(terms)
  local longest = terms.horizon
  for _, limit in ipairs(terms.calendars) do
    local start, finish = round(limit, now)
    longest = max(longest, finish - start)
  end
  return longest
end

local function exhausted(old, form)
  local row = take_place(empty(old[PLACE], form, now), old)
  row.exhausts, row.replaces, row.open, row.open_until, row.forgotten = true, true, nil, nil, now
  if old.lock and old.lock.from > now then
    row.lock = {from = now, till = now + old.lock.till - old.lock.from, nth = old.lock.nth, memory = old.lock.memory}
  end
  for i, limit in ipairs(form.limits) do
    if limit.kind ~= sliding_log then
      limit:add(row, form.at[i], now, limit.most)
    else
      row[form.at[i]], row[form.at[i] + 1] = limit.most, now
    end
  end
  return row
end

-- The row of an account as stored, in its own form; in the given form if possible.
local function load(place, raw, form)
  local row
  if raw then
    row = form and decode(place, raw, form)
    if not row then
      local own = form_in(raw)
      row = own and decode(place, raw, own)
    end
    if not row then
      foreign = foreign + 1
    end
  end
  if not row then
    row = empty(place, form or form_of({}), 0)
    row.is_new = not raw
    recount_logs(row)
  end
  rows[place] = row
  return row
end

-- Converts a row to the current time and to terms. Writes nothing.
local function bring(row, terms)
  local form = terms.form
  if row[WRITTEN] > now and row[WRITTEN] - now > horizon(terms) then
    row = exhausted(row, form)
  elseif row[FORM] ~= form then
    if row[SHAPE] == form.prefix then
      row[FORM] = form
    else
      row = convert(row, form, max(now, row[WRITTEN]))
    end
  end
  row[TERMS] = terms
  rows[row[PLACE]] = row
  return row
end

-- The time of the account: never before the row was written.
local function time_of(row)
  return row[WRITTEN] > now and row[WRITTEN] or now
end

-- Renames the logs of a row that replaced another one.
local function move_logs(row)
  local form, key, moved = row[FORM], keys[row[PLACE]], {}
  for i, limit in ipairs(form.limits) do
    local at = form.at[i]
    if limit.kind == sliding_log and not row.exhausts and row.logs and row.logs[at] then
      if call('EXISTS', row.logs[at]) == 1 then
        local log = key .. form.suffixes[at]
        call('RENAME', row.logs[at], log .. '~')
        moved[#moved + 1], moved[log] = log, true
      end
    end
  end
  for _, log in ipairs(moved) do
    call('RENAME', log .. '~', log)
  end
  for i = 1, max(row.old_logs, form.logs) do
    if not moved[key .. '!log' .. i] then
      call('UNLINK', key .. '!log' .. i)
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

local function unlink_logs(row)
  local form = row[FORM]
  for i, limit in ipairs(form.limits) do
    if limit.kind == sliding_log then
      call('UNLINK', log_of(row, form.at[i]))
    end
  end
end

-- Removes the logs of a missing row.
local function unlink_lost_logs(row)
  local logs = {}
  for i = 1, MOST_LOGS do
    logs[i] = keys[row[PLACE]] .. '!log' .. i
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
  row.counts, row.adds, row.drops = {}, nil, nil
  unlink_logs(row)
  if not keeps_open then
    row.open, row.open_until = nil, nil
  end
  row.tail, row.odd = true, true
  row[WRITTEN], row.forgotten = 0, now -- nothing is used, so the time of the account need not stand still
end

-- The cost of the reservations that are open.
local function open(row)
  return row.open_until and row.open_until > now and row.open or 0
end

local function reserve(row, cost, till)
  local others = open(row)
  row.open, row.open_until = others + cost, others == 0 and till or max(till, row.open_until)
  row.tail, row.odd = true, true
end

-- Closes a reservation, unless it has ended.
local function close(row, cost, till)
  if till > now and row.open_until then
    row.open, row.tail = max(0, open(row) - cost), true
  end
end

-- Whether a cost would fit every limit if all open reservations were refunded.
local function fits_without_open(row, cost)
  local time, held, form = time_of(row), open(row), row[FORM]
  for i, limit in ipairs(form.limits) do
    local used = limit:used(row, form.at[i], time)
    if not fits(limit, used - min(used, held * limit.scale), cost) then
      return false
    end
  end
  return true
end

local function lock_left(row)
  local lock = row.lock
  if not lock or lock.till <= now then
    return 0
  end
  return min(lock.till - now, lock.till - lock.from)
end

-- Whether a row can no longer affect any decision. Usage of calendar windows always may.
local function is_spent(row)
  local form, time, lock = row[FORM], time_of(row), row.lock
  if lock and now <= lock.till + lock.memory or time > now or open(row) > 0 then
    return false
  end
  for i, limit in ipairs(form.limits) do
    if (limit.lacks_rounds and row[form.at[i]] or limit:used(row, form.at[i], time)) > 0 then
      return false
    end
  end
  return true
end

-- When the whole quota is available again and the lock is forgotten.
local function ends(row)
  local last = row[BACK]
  if not last then
    local time, form = time_of(row), row[FORM]
    last = now
    for i, limit in ipairs(form.limits) do
      local used = limit:used(row, form.at[i], time)
      last = max(last, time + limit:reset_after(row, form.at[i], time, used))
    end
  end
  if row.open_until and row.open_until > last then
    last = row.open_until
  end
  return row.lock and max(last, row.lock.till + row.lock.memory) or last
end

-- Whether anything must be stored after the numbers and counts.
local function has_rest(row)
  return row.lock or row.open_until or row.forgotten or row.given
end

-- What is stored after the numbers of a row.
local function tail_of(row)
  local form, parts = row[FORM], {}
  for i = 1, form.cells and #form.limits or 0 do
    if form.limits[i].kind == sliding_window then
      parts[#parts + 1] = counts_of(row, form.at[i])
    end
  end
  local lock = row.lock
  if has_rest(row) then
    lock = lock or {from = 0, till = 0, nth = 0, memory = 0}
    parts[#parts + 1] = pack(REST, lock.from, lock.till, lock.nth, lock.memory, row.open or 0, row.open_until or 0,
      row.forgotten or 0, row.given or 0)
  end
  return table.concat(parts)
end

-- Writes a whole row. `millis` is its TTL, or nil to keep it.
local function write(row, millis)
  local key, form, old = keys[row[PLACE]], row[FORM], row[RAW]
  local value = pack(form.format, unpack(row, SHAPE, form.last)) .. tail_of(row)
  if not millis then
    if old and #value == #old then
      call('SETRANGE', key, '0', value)
    else
      call('SET', key, value, 'KEEPTTL')
    end
  elseif not row.is_new then
    call('SET', key, value, 'PX', text(millis))
  elseif not call('SET', key, value, 'PX', text(millis), 'NX') then
    foreign = foreign + 1 -- the key has another type
    call('DEL', key)
    call('SET', key, value, 'PX', text(millis))
  end
  row[RAW] = value
  if row.counts or row.tail or row.is_new then
    row.counts, row.tail, row.is_new = nil, nil, nil
  end
end

-- Writes a changed row, with a TTL that covers what it remembers.
function flush(row)
  local form = row[FORM]
  row[CHANGED] = false
  if form.logs > 0 then
    row.is_flushed = true -- reading its entries meanwhile must not flush it again
  end
  if row.drops then
    remove_entries(row)
  end
  if (form.last < NUMBERS or row[NUMBERS] == 0) and not (is_used(row) or has_rest(row)) then
    if not row.is_new then
      call('DEL', keys[row[PLACE]])
      unlink_logs(row)
    end
    row.is_new, row[RAW], row[LIVES], row.is_flushed = true, false, 0, nil
    return
  end
  local lasts, millis = (row.odd or not row[BACK]) and ends(row) or row[BACK], nil
  if lasts + SLACK > row[LIVES] * 1000000 then
    lasts = lasts + SLACK
    lasts = lasts - rest(lasts, GRAIN) + GRAIN
    row[LIVES], millis = lasts / 1000000, ceil_div(lasts - now, 1000)
  end
  if row[RAW] and not (millis or row.counts or row.tail) then
    -- What comes before and after the numbers is unchanged.
    call('SETRANGE', keys[row[PLACE]], form.before_written, pack(form.from_written, unpack(row, WRITTEN, form.last)))
  else
    write(row, millis)
  end
  if form.logs > 0 then
    write_entries(row, millis)
    row.is_flushed = nil
  end
end
