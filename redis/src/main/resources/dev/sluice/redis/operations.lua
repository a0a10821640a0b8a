-- All operations but J, which is in plain.lua.

-- I   decide a call with an id: a plan; the place of the key of the call, then those of the accounts; digests
--     of its question and of its charges; how long to remember it at least (microseconds). Reply as for J, in
--     the long form
function operations.I()
  local charges = next_plan()
  judge_named(charges, next_places(), word(), word(), next_number())
end

-- S   settle a receipt: its id, when it was taken, the latest time at which it can have locked, until when it is
--     open or 0, until when it can be refunded, 1 if it undoes a take that no caller knows of, the key of its
--     call or nothing, the number of accounts. For each account: terms, cost taken, actual cost, 1 if this call
--     locked it, 1 if it is forgiven, the `given` of its receipt entry, and for each limit the time and the
--     number of its mark. Then the places of the accounts.
--     Reply 0 if it was settled before or is too late; else 1, and for each account what could not be charged
--     and the end of its lock, or 0
function operations.S()
  local receipt = {
    id = word(), taken_at = next_number(), locked_by = next_number(), open_till = next_number(),
    good_till = next_number(), undoes = word() == '1', call_key = word(), charges_more = false,
  }
  local entries = {}
  for i = 1, next_number() do
    local entry = {
      terms = next_terms(), cost = next_number(), actual = next_number(), locked = word() == '1',
      forgiven = word() == '1', given = next_number(),
      taken_at = receipt.taken_at, locked_by = receipt.locked_by, marks = {},
    }
    for j = 1, #entry.terms.form.limits do
      entry.marks[j] = {next_number(), next_number()}
    end
    receipt.charges_more = receipt.charges_more or entry.actual > entry.cost
    entries[i] = entry
    horizon(entry.terms) -- notes a missing calendar window
  end
  local accounts = next_places()
  if lacking_round then
    reply(LACKS_ROUND, lacking_round)
    lacking_round = nil
  else
    reply(settle(receipt, entries, accounts))
  end
end

-- C   confirm what a call took here, after all its slots have answered: until when it would be held, the
--     number of accounts, for each: terms, cost taken; then their places. Reply for each account the end of the
--     lock that this causes, or 0
function operations.C()
  local open_till, entries = next_number(), {}
  for i = 1, next_number() do
    entries[i] = {terms = next_terms(), cost = next_number()}
    horizon(entries[i].terms) -- notes a missing calendar window
  end
  local accounts = next_places()
  if lacking_round then
    reply(LACKS_ROUND, lacking_round)
    lacking_round = nil
    return
  end
  for i, place in ipairs(accounts) do
    local entry = entries[i]
    entry.row, entry.actual = row_of(place, nil), entry.cost
    confirm(entry, open_till)
    reply(entry.locks and entry.row.lock.till or 0)
  end
end

-- X   reset: the place. Reply 1 if it had usage or a lock
function operations.X()
  local row = row_of(next_places()[1], nil)
  local key, was = keys[row[PLACE]], not is_spent(row)
  demand_index(key)
  withdraw_lock(key)
  row.lock = nil
  forget_usage(row)
  announce_refund(key)
  reply(was and 1 or 0)
end

-- K   lock by hand: the place, microseconds, reason (percent-encoded). Reply the end of the lock, and since when
--     the account is locked
function operations.K()
  local row, length, reason = row_of(next_places()[1], nil), next_number(), word()
  local key, before, since = keys[row[PLACE]], row.lock, locked_since(row)
  demand_index(key)
  announce_refund(key)
  local remembered = before and now <= before.till + before.memory
  change(row)
  row.lock = {
    from = now, till = now + length,
    nth = remembered and before.nth or 0, memory = remembered and before.memory or 0,
  }
  row.tail, row.odd = true, true
  announce_lock(row, reason, since)
  reply(row.lock.till, since)
end

-- U   lift the lock: the place, 1 to keep the usage that led to it and the memory of earlier locks. Reply 1 if
--     it was locked
function operations.U()
  local row, keeps = row_of(next_places()[1], nil), word() == '1'
  local key, was = keys[row[PLACE]], lock_left(row) > 0
  demand_index(key)
  withdraw_lock(key)
  if keeps and was then
    change(row)
    row.lock = {from = min(row.lock.from, now), till = now, nth = row.lock.nth, memory = row.lock.memory}
    row.tail = true
  elseif was then
    row.lock = nil
    forget_usage(row)
  end
  announce_refund(key)
  reply(was and 1 or 0)
end

-- Writes what has changed, at the end of a call.
function write_all()
  for place = 1, #keys do
    local row = rows[place]
    if row and row[CHANGED] then
      flush(row)
    end
  end
  write_remembered_calls()
end
