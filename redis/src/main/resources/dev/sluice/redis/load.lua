-- Loading: a row as stored becomes one under the terms of the call, at the time of the call.
--
-- Time never runs backwards. If the clock shows an earlier time than when a row was written, the time of the
-- account stands still until the clock has caught up. A row from further in the future than its limits remember
-- is replaced by one that is used up now.

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
