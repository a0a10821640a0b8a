-- Decides plans: all charges of a plan are taken, or none. The same steps as in Judge.java.
--
-- A charge:  terms, cost, enforced, rule (the number of its rule in the plan); asked (the cost, or 1 if the cost
--            is 0), and what is the same for all accounts. The other fields belong to the current plan: row, used
--            (of each limit), fits, flags, marks or uncharged (of each limit).

local OF_CHARGE, OF_LIMIT = 4, 5 -- how many numbers `report` writes for a charge, and for each of its limits
local row_of, look, reply_lacks_round, count, report
do

local TAKEN, LOCKED = 1, 2 -- flags of a charge

-- The row of an account, converted to the terms if there are any.
function row_of(place, terms)
  local row = rows[place]
  local raw
  if row and row[CHANGED] then
    flush(row)
  end
  if row then
    raw = get(keys[place])
  else
    raw = value_of(place)
  end
  if terms and raw then
    row = decode(place, raw, terms.form, terms)
    if row and row[WRITTEN] <= now then -- the common case
      rows[place] = row
      return row
    end
  end
  row = load(place, raw, terms and terms.form)
  return terms and bring(row, terms) or row
end

-- Finds the row of each charge, and whether the charge fits. Returns whether the plan is denied.
function look(charges, places, from)
  local denied = false
  for j = 1, #charges do
    local charge, place = charges[j], places[from + j]
    local row = rows[place]
    if not row or row[TERMS] ~= charge.terms then
      row = row_of(place, charge.terms)
    end
    local limits, at, amounts, used = charge.limits, charge.at, charge.amounts, charge.used
    local time, has_room = max(row[WRITTEN], now), not charge.never_fits
    for i = 1, #limits do
      local limit = limits[i]
      local counts = limit:used(row, at[i], time)
      used[i] = counts
      if counts + amounts[i] > limit.most then
        has_room = false
      end
    end
    if row.lock then
      has_room = has_room and lock_left(row) == 0
    end
    charge.row, charge.fits, charge.flags, charge.counts = row, has_room, 0, false
    if not has_room and charge.enforced then
      denied = true
    end
  end
  return denied
end

-- Replies that a calendar window is missing, and forgets the rows that were read.
function reply_lacks_round(charges)
  for _, charge in ipairs(charges) do
    if not charge.row[CHANGED] then
      local place = charge.row[PLACE]
      rows[place], values[place] = nil, STALE -- it may have changed since the call began
    end
  end
  reply(LACKS_ROUND, lacking_round)
  lacking_round = nil
end

-- Counts a cost, and locks the account if the cost leads to a lock. `hold` is the duration of a reservation, or
-- 0.
function count(charge, records, hold)
  local row, terms, cost = charge.row, charge.terms, charge.cost
  if cost == 0 then
    return
  end
  local time = row[WRITTEN] > now and row[WRITTEN] or now
  local may_lock = terms.locks[1] and not charge.never_fits and lock_left(row) == 0
  local had_room, overdraws
  if may_lock then
    had_room, overdraws = fits_without_open(row, 1), not fits_without_open(row, charge.asked)
  end
  change(row)
  if row[WRITTEN] ~= time or row.is_old then
    advance(row, time, charge.used)
  end
  charge.counts = true
  local limits, at, amounts = charge.limits, charge.at, charge.amounts
  if records then
    for i = 1, #limits do
      charge.uncharged[i] = record(limits[i], row, at[i], time, cost, true)
    end
  else
    local marks = charge.marks
    for i = 1, #limits do
      local limit = limits[i]
      marks[i] = limit:add(row, at[i], time, amounts[i])
    end
  end
  if hold > 0 then
    reserve(row, cost, now + hold)
  end
  if may_lock then
    local locks = overdraws
    if terms.locks_on_limit then
      locks = had_room and not fits_without_open(row, 1)
    end
    if locks and has_index(keys[row[PLACE]]) then
      lock(row, terms)
      charge.flags = charge.flags + LOCKED
    end
  end
end

-- Applies the effects of a denial: a lock if a limit was exceeded, and the denied call where denied calls
-- count.
local function refuse(charge)
  local row, terms = charge.row, charge.terms
  if row.replaces then
    change(row) -- otherwise every call would use it up again
  end
  if row.was_slow then
    change(row)
    advance(row, time_of(row)) -- otherwise every denial would read the same entries
  end
  if charge.never_fits or lock_left(row) > 0 then
    return
  end
  if #terms.locks > 0 and not fits_without_open(row, charge.asked)
    and (not terms.locks_on_limit or fits_without_open(row, 1)) and has_index(keys[row[PLACE]]) then
    change(row)
    lock(row, terms)
  end
  if terms.count_denied and charge.cost > 0 then
    local time = time_of(row)
    change(row)
    advance(row, time)
    for i, limit in ipairs(charge.limits) do
      record(limit, row, charge.at[i], time, charge.cost, false)
    end
  end
end

-- Replies to a charge: its flags, the end of its lock or 0, the time of its account, and the total refunded to
-- calls that other takes followed. Then for each limit: what remains, how long to wait (or NEVER), how long
-- until the whole limit is available, the number of the mark, and what could not be charged.
function report(charge, asks, records)
  local row, n, limits, places = charge.row, filled, charge.limits, charge.at
  local left, time = lock_left(row), time_of(row)
  local is_written = time == row[WRITTEN] and not row.is_old
  local marks = charge.counts and not records and charge.marks
  local uncharged = charge.counts and records and charge.uncharged
  out[n + 1], out[n + 2], out[n + 3], out[n + 4] = charge.flags, left == 0 and 0 or now + left, time, row.given or 0
  n = n + OF_CHARGE
  local last = time
  for i = 1, #limits do
    local limit, at = limits[i], places[i]
    local used = is_written and row[at] or charge.used[i]
    local reset, wait = limit:reset_after(row, at, time, used), 0
    last = max(last, time + reset)
    if asks then
      wait = retry_after(limit, row, at, time, used, charge.asked)
      if wait ~= NEVER then
        wait = wait == 0 and 0 or wait + time - now
        if charge.reserves and wait > 0 and open(row) > 0 and fits_without_open(row, charge.asked) then
          wait = min(wait, row.open_until - now)
        end
        wait = max(wait, left)
      end
    end
    out[n + 1], out[n + 2], out[n + 3] = remaining(limit, used), wait, reset == 0 and 0 or reset + time - now
    out[n + 4], out[n + 5] = marks and marks[i] or 0, uncharged and uncharged[i] or 0
    n = n + OF_LIMIT
  end
  filled = n
  row[BACK] = last
end

-- Whether a rule in shadow mode denies a charge. Then it counts none of its charges.
local function is_refused_in_shadow(charges, one)
  if one.enforced then
    return false
  end
  for _, charge in ipairs(charges) do
    if charge.rule == one.rule and not charge.fits then
      return true
    end
  end
  return false
end

-- Decides a plan whose accounts are the `places` after `from`, and replies. Returns whether it was allowed; nil
-- if nothing was done.
function judge(charges, places, from)
  local denied = look(charges, places, from)
  if lacking_round then
    return reply_lacks_round(charges)
  end
  local peeks, records, hold = charges.intent == 'P', charges.intent == 'R', charges.hold
  local allowed = records or not denied
  may_mend = may_write and not peeks
  if allowed and not may_write and not peeks then
    return reply(MAY_NOT_WRITE)
  end
  reply(allowed and ALLOWED or DENIED, now)
  for _, charge in ipairs(charges) do
    local is_refused = not allowed or not records and is_refused_in_shadow(charges, charge)
    if peeks or not may_write then
      report(charge, peeks or is_refused)
    else
      if not is_refused then
        count(charge, records, hold)
        charge.flags = records and charge.flags or charge.flags + TAKEN
      elseif allowed or charge.enforced then
        refuse(charge)
      end
      report(charge, is_refused, records)
    end
  end
  return allowed
end

end
