-- Settles receipts: refunds, charges more, forgives usage, closes reservations.

local confirm, settle
do

local RESEND = 10000000 -- a settlement is sent again within half of that, if at all

local function is_settled(done, name)
  local till = on_set('ZSCORE', done, name)
  return till and tonumber(till) > now
end

-- Closes a reservation and refunds what is left of it, or of a take.
function confirm(entry, open_till)
  local row, terms, back = entry.row, entry.terms, entry.cost - entry.actual
  local may_lock = terms.locks_on_limit and #terms.locks > 0 and open_till > now
    and row[SHAPE] == terms.form.prefix and lock_left(row) == 0
  if may_lock then
    row = bring(row, terms)
    may_lock = fits_without_open(row, 1)
  end
  change(row)
  close(row, entry.cost, open_till)
  if back > 0 then
    local form, time = row[FORM], time_of(row)
    local found, same = match(terms.form.limits, form.limits)
    local counted_on = 0
    announce_refund(keys[row[PLACE]])
    for i, limit in ipairs(terms.form.limits) do
      local mark = entry.marks[i][1]
      if same[i] and mark >= (row.forgotten or 0) and mark <= time then
        local own = form.limits[found[i]]
        if own.lacks_rounds then
          own = limit
        end
        local later = own:give_back(row, form.at[found[i]], time, back * limit.scale, mark, entry.marks[i][2],
          entry.cost, (row.given or 0) - entry.given)
        counted_on = max(counted_on, later or 0)
      end
    end
    if counted_on > 0 then
      row.given, row.tail, row.odd = (row.given or 0) + counted_on, true, true
    end
    if not is_used(row) then
      row[WRITTEN], row.drops = 0, nil -- nothing is used, so the time of the account need not stand still
      unlink_logs(row)
    end
  end
  entry.locks = may_lock and not fits_without_open(row, 1) and has_index(keys[row[PLACE]])
  if entry.locks then
    lock(row, terms)
  end
  entry.row = row
end

-- Settles one account. Returns what could not be charged.
local function settle_row(entry, open_till, is_late)
  local row, uncharged = entry.row, 0
  if not is_late then
    local is_own_lock = entry.locked and row.lock and row.lock.from >= min(entry.taken_at, entry.marks[1][1])
      and row.lock.from <= entry.locked_by
    if is_own_lock and (entry.actual == 0 or entry.forgiven) then
      unlock(row)
    end
    if entry.forgiven then
      forget_usage(row, true)
      close(row, entry.cost, open_till)
      announce_refund(keys[row[PLACE]])
      return 0
    end
    confirm(entry, open_till)
  end
  local more = entry.actual - entry.cost
  if more > 0 then
    local charge = charge_of(entry.terms)
    set_cost(charge, more)
    charge.row, charge.used = bring(entry.row, entry.terms), nil
    count(charge, true, 0)
    for _, each in ipairs(charge.uncharged) do
      uncharged = max(uncharged, each)
    end
  end
  return uncharged
end

-- Settles a receipt. Returns 0 if nothing was done, else 1 and for each account what could not be charged and
-- the end of its lock, or 0.
function settle(receipt, entries, places)
  local done, name = settled_place(receipt.id, receipt.taken_at, places, 1)
  local is_late = now >= receipt.good_till
  if is_settled(done, name) or (is_late and not receipt.charges_more) then
    return 0
  end
  local results, is_all_back, is_something = {}, true, false
  for i, entry in ipairs(entries) do
    entry.row = row_of(places[i], nil)
    results[2 * i - 1] = settle_row(entry, receipt.open_till, is_late)
    local row = rows[places[i]]
    results[2 * i] = lock_left(row) > 0 and row.lock.till or 0
    is_all_back, is_something = is_all_back and entry.actual == 0, is_something or entry.cost > 0
  end
  -- After a full refund the id of a call is forgotten: if it is sent again, it is decided anew.
  if is_all_back and is_something and #receipt.id == NAMED_ID_LENGTH and receipt.call_key ~= '' then
    local key = receipt.call_key .. sub(receipt.id, 1, CALL_DIGITS)
    local seen = recall(key, '', {})
    -- In a Cluster each slot has decided by its own clock, which the marks contain.
    if seen and (seen.judged_at == receipt.taken_at or seen.judged_at == entries[1].marks[1][1]) then
      forget_call(key)
    end
  end
  if receipt.undoes or is_late then
    keep_until(done, name, now + RESEND, 0)
  else
    keep_until(done, name, max(receipt.good_till, now + RESEND), SLACK)
  end
  return 1, unpack(results)
end

end
