-- Row: the state of one account, a string under its key, and how it gets old.
--
--   the length of the shape, one byte, or 255 and then two bytes
--   shape      what the numbers mean (MessagePack): for each limit the code of its kind and its parameters
--   lives      5 bytes, seconds since the epoch: when the key's TTL ends
--   written    7 bytes, microseconds since the epoch: all that follows is as of that moment
--   numbers    of each limit, in the order of the rule: see the kinds
--   counts     of sliding windows
--   the rest   only if there is or was a lock, a reservation or forgotten usage, 7 bytes each: when the lock
--              began and ends, the how many-th in a row it is, how long after its end it is remembered; what
--              is open, and until when; when usage was last forgotten
-- Whole numbers, the lowest byte first. Beside it: key!log1 and so on (sliding_log.lua), key!lock (locks.lua),
-- key!done (judge.lua). Every key has a TTL.
--
-- Time never runs backwards: if the clock shows less than when a row was written, the account's time stands
-- still until the clock has caught up. A row from further ahead than its limits remember is replaced by one
-- that is used up now.

local KINDS = { -- by the letter in terms, and by the code in a row
  b = token_bucket, f = fixed_window, s = sliding_window, l = sliding_log,
  token_bucket, fixed_window, sliding_window, sliding_log,
}

-- A key outlives what it must remember by SLACK and up to a GRAIN more.
local SLACK, GRAIN = 60000000, 300000000
local REST = '<I7I7I7I7I7I7I7'
local REST_BYTES = 49
local rows = {} -- those this call has looked at, by key

-- What a row of these limits looks like.
local function form_of(limits)
  local form = {limits = limits, at = {}, width = 0, bytes = 12, format = 'I5I7', cells = false, logs = 0}
  local shape = {}
  for i, limit in ipairs(limits) do
    local kind = limit.kind
    form.at[i] = form.width + 1
    form.width, form.bytes = form.width + kind.width, form.bytes + kind.bytes
    form.format = form.format .. kind.format
    form.cells = form.cells or kind == sliding_window
    shape[#shape + 1] = kind.code
    for _, parameter in ipairs(limit.shape) do
      shape[#shape + 1] = parameter
    end
    if kind == sliding_log then
      form.logs = form.logs + 1
      limit.suffix = '!log' .. form.logs
    end
  end
  shape = #shape > 0 and cmsgpack.pack(unpack(shape)) or ''
  form.prefix = #shape < 255 and string.char(#shape) .. shape or '\255' .. pack('<I2', #shape) .. shape
  form.format, form.bytes = '<c' .. #form.prefix .. form.format, #form.prefix + form.bytes
  return form
end

-- The form of a row that was written under other terms, or nil if it is not ours.
local function form_in(raw)
  local length, start = byte(raw, 1), 2
  if length == 255 and #raw > 2 then
    length, start = unpack_('<I2', raw, 2), 4
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

-- A row that has counted nothing. All common fields at once: a table that grows is slow.
local function empty(key, form, moment)
  local row = {
    key = key, form = form, terms = false, lives = 0, written = moment, raw = false, changed = false, back = false,
  }
  for i = 1, form.width do
    row[i] = 0
  end
  return row
end

-- Reads what stands behind the numbers: the counts of sliding windows, and the rest.
local function read_tail(row)
  local raw, form, counts = row.raw, row.form, {}
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

-- How many bytes the counts of sliding windows have.
local function counts_bytes(row)
  local form, bytes = row.form, 0
  for i = 1, form.cells and #form.limits or 0 do
    if form.limits[i].kind == sliding_window then
      bytes = bytes + row[form.at[i] + 2] * form.limits[i].bytes
    end
  end
  return bytes
end

-- The counts of a sliding window; read from the row when they are needed.
function counts_of(row, at)
  return (row.counts or read_tail(row).counts)[at] or ''
end

function set_counts(row, at, counts)
  if not row.counts then
    read_tail(row)
  end
  row.counts[at] = counts
end

-- The row in a string of a form, or nil if it is not of that form.
local function decode(key, raw, form)
  if #raw < form.bytes then
    return nil
  end
  local prefix, lives, written, a, b, c, d, e, f = unpack_(form.format, raw)
  if prefix ~= form.prefix or written > EXACT then
    return nil
  end
  local row
  if form.width == 1 then
    row = {
      a, key = key, form = form, terms = false, lives = lives, written = written, raw = raw, changed = false,
      back = false,
    }
  else
    row = {
      a, b, c, d, e, f, key = key, form = form, terms = false, lives = lives, written = written, raw = raw,
      changed = false, back = false,
    }
  end
  if form.width > 6 then
    local numbers = {unpack_(form.format, raw)}
    for i = 7, form.width do
      row[i] = numbers[i + 3]
    end
  end
  for i = 1, form.width do
    if row[i] > EXACT then
      return nil
    end
  end
  if #raw == form.bytes then
    return not form.cells and row or counts_bytes(row) == 0 and row or nil
  end
  local rest = #raw - form.bytes - counts_bytes(row)
  if rest == 0 then
    return row
  elseif rest ~= REST_BYTES then
    return nil
  end
  local from, till, nth, memory, open, open_until, forgotten = unpack_(REST, raw, #raw - REST_BYTES + 1)
  if max(from, till, nth, memory, open, open_until, forgotten) > EXACT then
    return nil
  end
  row.lock = till > 0 and {from = from, till = till, nth = nth, memory = memory} or nil
  row.open, row.open_until = open_until > 0 and open or nil, open_until > 0 and open_until or nil
  row.forgotten = forgotten > 0 and forgotten or nil
  return row
end

-- What keeps decisions, apart from numbers, when one row takes the place of another.
local function take_place(row, old)
  row.lock, row.open, row.open_until, row.forgotten = old.lock, old.open, old.open_until, old.forgotten
  row.lives, row.old_logs = old.lives, old.form.logs
  row.changed, row.is_new = old.changed, old.is_new
  return row
end

-- For each limit, the place among others of the one that has counted for it: the same, else one of the
-- same kind. The second answer says which are the same.
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

local function convert(old, form, moment)
  local row = take_place(empty(old.key, form, moment), old)
  local found = match(form.limits, old.form.limits)
  for i, limit in ipairs(form.limits) do
    if found[i] then
      limit.kind.convert(limit, row, form.at[i], old.form.limits[found[i]], old, old.form.at[found[i]], moment)
    end
  end
  row.written, row.is_old = moment, true -- a log still has what has left its window
  return row
end

-- How long the state of these terms can matter.
local function horizon(terms)
  local longest = terms.horizon
  for _, limit in ipairs(terms.calendars) do
    local start, finish = round(limit, now)
    longest = max(longest, finish - start)
  end
  return longest
end

local function exhausted(old, form)
  local row = take_place(empty(old.key, form, now), old)
  row.exhausts, row.replaces, row.open, row.open_until, row.forgotten = true, true, nil, nil, now
  if old.lock and old.lock.from > now then
    row.lock = {from = now, till = now + old.lock.till - old.lock.from, nth = old.lock.nth, memory = old.lock.memory}
  end
  for i, limit in ipairs(form.limits) do
    if limit.kind ~= sliding_log then
      limit.kind.add(limit, row, form.at[i], now, limit.most)
    else
      row[form.at[i]], row[form.at[i] + 1] = limit.most, now
    end
  end
  return row
end

-- The row of an account as it is in Redis, under its own form; given a form, under that if it can be.
local function load(key, raw, form)
  local row
  if raw then
    row = form and decode(key, raw, form)
    if not row then
      local own = form_in(raw)
      row = own and decode(key, raw, own)
    end
    if not row then
      foreign = foreign + 1
    end
  end
  if not row then
    row = empty(key, form or form_of({}), 0)
    row.is_new = not raw
    for i, limit in ipairs(row.form.limits) do
      if limit.kind == sliding_log then
        sliding_log.recount(limit, row, row.form.at[i])
      end
    end
  end
  rows[key] = row
  return row
end

-- Brings a row to now and under terms. Writes nothing.
local function bring(row, terms)
  local form = terms.form
  if row.written > now and row.written - now > horizon(terms) then
    row = exhausted(row, form)
  elseif row.form ~= form then
    if row.form.prefix == form.prefix then
      row.form = form
    else
      row = convert(row, form, max(now, row.written))
    end
  end
  row.terms = terms
  rows[row.key] = row
  return row
end

-- The clock as a row sees it.
local function time_of(row)
  return row.written > now and row.written or now
end

-- Puts the logs of a row that took the place of another where they belong.
local function move_logs(row)
  local form, moved = row.form, {}
  for i, limit in ipairs(form.limits) do
    local at = form.at[i]
    if limit.kind == sliding_log and not row.exhausts and row.logs and row.logs[at] then
      if call('EXISTS', row.logs[at]) == 1 then
        call('RENAME', row.logs[at], row.key .. limit.suffix .. '~')
        moved[#moved + 1] = row.key .. limit.suffix
      end
    end
  end
  for i = 1, max(row.old_logs, form.logs) do
    call('DEL', row.key .. '!log' .. i)
  end
  for _, key in ipairs(moved) do
    call('RENAME', key .. '~', key)
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
  local at = row.form.at
  for i = 1, #at do
    if row[at[i]] > 0 then
      return true
    end
  end
  return false
end

-- Says that a row is about to be changed.
local function change(row)
  row.back = false
  if row.changed and not row.old_logs then
    return
  end
  row.changed, row.replaces = true, nil
  if row.old_logs then
    move_logs(row)
  end
  if row.open_until and row.open_until <= now then
    row.open, row.open_until, row.tail = nil, nil, true
  end
  if row.forgotten and not is_used(row) then
    row.forgotten, row.tail = now, true -- what was taken before has come back
  end
end

-- Brings all numbers to a moment, so that the row can be written at it. `used` is what counts then, of each
-- limit, if that is known.
local function advance(row, moment, used)
  local limits, at = row.form.limits, row.form.at
  for i = 1, #limits do
    local limit = limits[i]
    local counts = used and used[i] or limit.kind.used(limit, row, at[i], moment)
    limit.kind.advance(limit, row, at[i], moment, counts)
  end
  row.written, row.is_old = moment, nil
end

-- Forgets what was used. What was taken before cannot be given back any more.
local function forget_usage(row)
  if row.is_new then
    return
  end
  change(row)
  for i = 1, row.form.width do
    row[i] = 0
  end
  row.counts = {}
  for i, limit in ipairs(row.form.limits) do
    if limit.kind == sliding_log then
      call('DEL', log_of(limit, row, row.form.at[i]))
    end
  end
  row.open, row.open_until, row.tail = nil, nil, true
  row.written, row.forgotten = 0, now -- nothing is used, so time need not stand still
end

-- What reservations hold whose fate is open.
local function open(row)
  return row.open_until and row.open_until > now and row.open or 0
end

local function reserve(row, cost, till)
  local others = open(row)
  row.open, row.open_until = others + cost, others == 0 and till or max(till, row.open_until)
  row.tail = true
end

-- Closes a reservation, unless its hold is over.
local function close(row, cost, till)
  if till > now and row.open_until then
    row.open, row.tail = max(0, open(row) - cost), true
  end
end

-- Whether every limit has room for a cost, were everything open given back.
local function fits_without_open(row, cost)
  local time, held = time_of(row), open(row)
  for i, limit in ipairs(row.form.limits) do
    local used = limit.kind.used(limit, row, row.form.at[i], time)
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

-- How long until everything in a row has come back, and its lock is forgotten.
local function ends(row)
  local last = row.back
  if not last then
    local time = time_of(row)
    last = now
    for i, limit in ipairs(row.form.limits) do
      local used = limit.kind.used(limit, row, row.form.at[i], time)
      last = max(last, time + limit.kind.reset_after(limit, row, row.form.at[i], time, used))
    end
  end
  last = max(last, row.open_until or 0)
  return row.lock and max(last, row.lock.till + row.lock.memory) or last
end

-- What stands behind the numbers of a row.
local function tail_of(row)
  local form, parts = row.form, {}
  for i = 1, form.cells and #form.limits or 0 do
    if form.limits[i].kind == sliding_window then
      parts[#parts + 1] = counts_of(row, form.at[i])
    end
  end
  local lock = row.lock
  if lock or row.open_until or row.forgotten then
    lock = lock or {from = 0, till = 0, nth = 0, memory = 0}
    parts[#parts + 1] = pack(REST, lock.from, lock.till, lock.nth, lock.memory, row.open or 0, row.open_until or 0,
      row.forgotten or 0)
  end
  return table.concat(parts)
end

-- A log ends with its row. It may be new: then it has no TTL yet, or the one before was removed.
local function keep_logs(row)
  for i = 1, row.form.logs do
    local log, millis = row.key .. '!log' .. i, ceil_div(row.lives * 1000000 - now, 1000)
    if (unless_away('PTTL', log) or millis) < millis - 1000 then
      call('PEXPIRE', log, text(millis))
    end
  end
end

-- Writes a row that has changed, with a TTL that outlives what it remembers.
local function flush(row)
  row.changed = false
  local key, form = row.key, row.form
  if row.is_new and call('EXISTS', key) == 1 then
    foreign = foreign + 1 -- no string
    call('DEL', key)
  end
  if not (is_used(row) or row.lock or row.open_until or row.forgotten) then
    if not row.is_new then
      call('DEL', key)
    end
    row.is_new = true
    return
  end
  local lasts, millis = ends(row) + SLACK, nil
  if lasts > row.lives * 1000000 then
    lasts = lasts - rest(lasts, GRAIN) + GRAIN
    row.lives, millis = lasts / 1000000, ceil_div(lasts - now, 1000)
  end
  local value = pack(form.format, form.prefix, row.lives, row.written, unpack(row, 1, form.width))
  local is_in_place = row.raw and not millis
  if is_in_place and not row.counts and not row.tail then
    call('SETRANGE', key, '0', value) -- what stands behind the numbers stays
    keep_logs(row)
    return
  end
  value = value .. tail_of(row)
  if millis then
    call('SET', key, value, 'PX', text(millis))
  elseif is_in_place and #value == #row.raw then
    call('SETRANGE', key, '0', value)
  else
    call('SET', key, value, 'KEEPTTL')
  end
  keep_logs(row)
  row.raw, row.counts, row.tail, row.is_new = value, nil, nil, nil
end
