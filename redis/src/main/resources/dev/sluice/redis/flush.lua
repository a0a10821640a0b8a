-- Flushing: a changed row is written back, with a TTL that covers what it remembers.

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

-- Whether anything must be stored after the numbers and totals.
local function has_rest(row)
  return row.lock or row.open_until or row.forgotten or row.given
end

-- What is stored after the numbers of a row.
local function tail_of(row)
  local form, parts = row[FORM], {}
  for i = 1, form.has_totals and #form.limits or 0 do
    if form.limits[i].kind == sliding_window then
      parts[#parts + 1] = totals_of(row, form.at[i])
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
  if row.totals or row.tail or row.is_new then
    row.totals, row.tail, row.is_new = nil, nil, nil
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
    row[LIVES], millis = life(lasts)
  end
  if row[RAW] and not (millis or row.totals or row.tail) then
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
