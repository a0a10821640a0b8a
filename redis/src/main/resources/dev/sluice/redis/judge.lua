-- Judges plans, each taken whole or not at all, at one reading of the clock. The same steps as in
-- Judge.java.
--
-- KEYS   the accounts, in the order in which ARGV names them; before those of a call with an id, the key
--        under which the call is remembered. Behind them, in a Cluster, every other key that is touched.
-- ARGV   mode       w, or r if nothing may be written: then only denials are final
--        now        microseconds to use as the clock, or 0 for Redis' own (the rule outside tests)
--        T          how many terms, then T texts: see `terms_of`
--        the rest   operations, each a letter and its arguments: see `operations`
-- Reply  numbers, as doubles of 8 bytes, the lowest first: the clock, how many values under our keys were
--        not ours and have been replaced; then for each operation a number that says what became of it, and
--        what else belongs to it. Instead of a plan's verdict:
--          -2, moment   nothing was done; send it again with the calendar rounds around that moment
--          -3           nothing was done; the id was used for another question
--          -4           nothing may be written, and it would have been
local LACKS_ROUND, ID_REUSED, MAY_NOT_WRITE = -2, -3, -4

local TAKEN, LOCKED = 1, 2 -- what became of a charge
local CALL_MEMORY = 60000000 -- how long the answer to a call with an id is repeated
local RESEND = 10000000 -- how long a settlement may come again that nothing else remembers
local NAMED_ID_LENGTH = 40 -- of the receipt of a call with an id; others are shorter
local CALL_DIGITS = 24 -- of them name the call

local keys, words, cursor, key_cursor, values, all_terms
local out, filled -- the reply, and how many numbers it has

local function word()
  cursor = cursor + 1
  return words[cursor - 1]
end

local function number()
  return tonumber(word())
end

local function reply(...)
  for i = 1, select('#', ...) do
    out[filled + i] = (select(i, ...))
  end
  filled = filled + select('#', ...)
end

-- Terms: parts joined by '|'
--   d,d,…        lock durations, or nothing;   memory     lock memory;   0 or 1   locks when used up
--   0 or 1       denied calls count;   reason     what a lock is announced with, percent-encoded
--   limits       b,capacity,units per token,units per micro,debt     s,limit,window,precision
--                l,limit,window     f,limit,cycle,length or, of a calendar, 0 and start,end,start,end,…
local MOST_TERMS = 1000
local known_terms, known_count = {}, 0 -- those of earlier calls; a script forgets them, a library does not

local function terms_of(encoded)
  local known = known_terms[encoded]
  if known then
    return known
  end
  local fields, limits, calendars = {}, {}, {}
  for field in (encoded .. '|'):gmatch('([^|]*)|') do
    fields[#fields + 1] = field
  end
  local terms = {
    locks = {}, lock_memory = tonumber(fields[2]), locks_on_limit = fields[3] == '1',
    count_denied = fields[4] == '1', reason = fields[5], horizon = 0, calendars = calendars,
  }
  for duration in fields[1]:gmatch('%d+') do
    terms.locks[#terms.locks + 1] = tonumber(duration)
  end
  for i = 6, #fields do
    local parameters = {}
    for parameter in fields[i]:gmatch(',(-?%d+)') do
      parameters[#parameters + 1] = tonumber(parameter)
    end
    local limit = KINDS[sub(fields[i], 1, 1)].limit(unpack(parameters))
    limits[#limits + 1] = limit
    terms.horizon = max(terms.horizon, limit.horizon)
    if limit.rounds then
      calendars[#calendars + 1] = limit
    end
  end
  terms.form = form_of(limits)
  if known_count >= MOST_TERMS then
    known_terms, known_count = {}, 0
  end
  known_terms[encoded], known_count = terms, known_count + 1
  return terms
end

-- The row of the next account, under terms if there are any.
local function next_row(terms)
  key_cursor = key_cursor + 1
  local key = keys[key_cursor]
  local row = rows[key]
  if row and terms and row.terms == terms then
    return row
  end
  local raw
  if row then
    if row.changed then
      flush(row)
    end
    raw = get(key)
  elseif values then
    raw = values[key_cursor]
  else
    raw = get(key)
  end
  if terms and raw then
    row = decode(key, raw, terms.form)
    if row and row.written <= now then -- as nearly always
      row.terms, rows[key] = terms, row
      return row
    end
  end
  row = load(key, raw, terms and terms.form)
  return terms and bring(row, terms) or row
end

-- What is the same for every account that pays a charge.
local function prepare_charge(charge)
  local form = charge.terms.form
  charge.limits, charge.at, charge.amounts, charge.used, charge.never_fits = form.limits, form.at, {}, {}, false
  for i, limit in ipairs(form.limits) do
    charge.amounts[i] = charge.asked * limit.scale
    charge.never_fits = charge.never_fits or never_fits(limit, charge.asked)
  end
end

-- What the limits of an account have to say to a charge, or, if it was counted, after it.
local function tell(charge, asks)
  local row, n, limits, places = charge.row, filled, charge.limits, charge.at
  local left, time = row.lock and lock_left(row) or 0, row.written > now and row.written or now
  local is_written = time == row.written and not row.is_old
  local marks, uncharged = charge.counts and charge.marks, charge.records and charge.uncharged
  out[n + 1], out[n + 2], out[n + 3] = charge.flags, left == 0 and 0 or now + left, time
  n = n + 3
  local last = time
  for i = 1, #limits do
    local limit, at = limits[i], places[i]
    local kind = limit.kind
    local used = is_written and row[at] or charge.used[i]
    local reset, wait = kind.reset_after(limit, row, at, time, used), 0
    if time + reset > last then
      last = time + reset
    end
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
    n = n + 5
  end
  filled = n
  row.back = last
end

-- What a refusal leaves: a lock on who overdrew, and the knock where knocks count.
local function refuse(charge)
  local row, terms = charge.row, charge.terms
  if row.replaces then
    change(row) -- else it would be used up anew with every call
  end
  if charge.never_fits or lock_left(row) > 0 then
    return
  end
  if #terms.locks > 0 and not fits_without_open(row, charge.asked)
    and (not terms.locks_on_limit or fits_without_open(row, 1)) and has_index(row.key) then
    change(row)
    lock(row, terms)
  end
  if terms.count_denied and charge.cost > 0 then
    local time = time_of(row)
    change(row)
    advance(row, time)
    for i, limit in ipairs(row.form.limits) do
      record(limit, row, row.form.at[i], time, charge.cost, false)
    end
  end
end

-- Counts a cost, and locks the account if that is what it leads to. `hold` is that of a reservation, or 0.
local function count(charge, records, hold)
  local row, terms, cost = charge.row, charge.terms, charge.cost
  if cost == 0 then
    return
  end
  local time = row.written > now and row.written or now
  local may_lock = terms.locks[1] and not charge.never_fits and lock_left(row) == 0
  local had_room, overdraws
  if may_lock then
    had_room, overdraws = fits_without_open(row, 1), not fits_without_open(row, charge.asked)
  end
  change(row)
  if row.written ~= time or row.is_old then
    advance(row, time, charge.used)
  end
  charge.counts, charge.records = not records, records
  local limits, at = row.form.limits, row.form.at
  for i = 1, #limits do
    local limit = limits[i]
    if records then
      charge.uncharged[i] = record(limit, row, at[i], time, cost, true)
    else
      charge.marks[i] = limit.kind.add(limit, row, at[i], time, cost * limit.scale)
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
    if locks and has_index(row.key) then
      lock(row, terms)
      charge.flags = charge.flags + LOCKED
    end
  end
end

-- Finds the row of each charge, and whether it fits.
local function look(charges)
  local denied = false
  for j = 1, #charges do
    local charge = charges[j]
    local row = next_row(charge.terms)
    local limits, at, amounts, used = charge.limits, charge.at, charge.amounts, charge.used
    local time = row.written > now and row.written or now
    local has_room = not charge.never_fits
    for i = 1, #limits do
      local limit = limits[i]
      local counts = limit.kind.used(limit, row, at[i], time)
      used[i] = counts
      if counts + amounts[i] > limit.most then
        has_room = false
      end
    end
    charge.row, charge.flags, charge.counts, charge.records = row, 0, false, false
    charge.fits = has_room and (not row.lock or lock_left(row) == 0)
    denied = denied or (charge.enforced and not charge.fits)
  end
  return denied
end

-- The reply if a calendar round is missing: what was learnt of the accounts is forgotten.
local function reply_lacks_round(charges)
  for _, charge in ipairs(charges) do
    if not charge.row.changed then
      rows[charge.row.key] = nil
    end
  end
  values = nil -- what was read at the start may have changed since
  reply(LACKS_ROUND, lacking_round)
  lacking_round = nil
  return false
end

-- Whether a rule in shadow mode refuses a charge: then it counts none of its charges.
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

-- Judges a plan and replies. Says whether it was allowed; nil if nothing was done.
local function judge(intent, charges, hold)
  local denied = look(charges)
  if lacking_round then
    return reply_lacks_round(charges)
  end
  if intent == 'P' then
    reply(denied and 0 or 1, now)
    for _, charge in ipairs(charges) do
      tell(charge, true)
    end
    return not denied
  end
  local records = intent == 'R'
  local allowed = records or not denied
  if not may_write and allowed then
    reply(MAY_NOT_WRITE)
    return nil
  end
  out[filled + 1], out[filled + 2] = allowed and 1 or 0, now
  filled = filled + 2
  for i = 1, #charges do
    local charge = charges[i]
    if may_write then
      if records then
        count(charge, true, 0)
      elseif allowed and (charge.enforced or not is_refused_in_shadow(charges, charge)) then
        count(charge, false, hold)
        charge.flags = charge.flags + TAKEN
      elseif allowed or charge.enforced then
        refuse(charge)
      end
    end
  end
  for i = 1, #charges do
    local charge = charges[i]
    tell(charge, not allowed or (not charge.enforced and not records and is_refused_in_shadow(charges, charge)))
  end
  return allowed
end

-- A call with an id is remembered under a key of its own (MessagePack): when its answer is no longer
-- repeated, when it may be judged again, digests of its question and of its charges, when it was judged,
-- then the reply. An answer is repeated for a minute, a denial no longer than it asked to wait. A call
-- that was counted is not judged again as long as a limit of it counts.

-- How many numbers the reply to these charges has.
local function reply_length(charges)
  local length = 2
  for _, charge in ipairs(charges) do
    length = length + 3 + 5 * #charge.terms.form.limits
  end
  return length
end

-- What is remembered of a call, or nil. A value that is not ours counts as none.
local function recall(key, charged, charges)
  local value = get(key)
  if not value then
    return nil
  end
  local ok, seen = pcall(cmsgpack.unpack, value)
  ok = ok and type(seen) == 'table' and type(seen[3]) == 'string' and type(seen[4]) == 'string'
    and type(seen[6]) == 'table' and (seen[4] ~= charged or #seen[6] == reply_length(charges))
  for i = 1, ok and 5 or 0 do
    ok = ok and (i == 3 or i == 4 or type(seen[i]) == 'number')
  end
  for i = 1, ok and #seen[6] or 0 do
    ok = ok and type(seen[6][i]) == 'number'
  end
  if not ok then
    foreign = foreign + 1
    return nil
  end
  return {
    repeated = seen[1], ends = seen[2], question = seen[3], charged = seen[4], judged_at = seen[5],
    reply = seen[6], allowed = seen[6][1] == 1,
  }
end

local function remember(key, question, charged, at_least, allowed, charges, first)
  local repeated, remembered, slack = CALL_MEMORY, CALL_MEMORY, 0
  local answer = {}
  for i = first, filled do
    answer[#answer + 1] = out[i]
  end
  if allowed then
    slack = SLACK
    for _, charge in ipairs(charges) do
      if charge.cost > 0 and charge.enforced then
        remembered = max(remembered, at_least, horizon(charge.terms))
      end
    end
  else
    local place, wait = 2, 0
    for _, charge in ipairs(charges) do
      place = place + 3
      for _ = 1, #charge.terms.form.limits do
        local each = answer[place + 2]
        wait = charge.enforced and max(wait, each == NEVER and CALL_MEMORY or each) or wait
        place = place + 5
      end
    end
    repeated = min(repeated, wait)
  end
  local value = cmsgpack.pack({now + repeated, now + remembered, question, charged, now, answer})
  call('SET', key, value, 'PX', text(ceil_div(remembered + slack, 1000)))
end

-- The first verdict on a call, told by the balances of now. Nothing is counted.
local function stand(allowed, charges)
  look(charges)
  if lacking_round then
    reply_lacks_round(charges)
    return
  end
  out[filled + 1], out[filled + 2] = allowed and 1 or 0, now
  filled = filled + 2
  for _, charge in ipairs(charges) do
    tell(charge, not allowed)
  end
end

-- The place and the name under which it is remembered that a receipt was settled: key!done of the first
-- account, a sorted set; score = when that may be forgotten, member = id@taken, with a digest of the other
-- accounts' keys if there are any.
local function settled_place(id, taken_at, first, n)
  local name = id .. '@' .. text(taken_at)
  if n > 1 then
    name = name .. '!' .. sha1(table.concat(keys, ' ', first + 1, first + n - 1))
  end
  return keys[first] .. '!done', name
end

local function judge_named(intent, charges, hold, question)
  key_cursor = key_cursor + 1
  local key, charged, at_least = keys[key_cursor], word(), number()
  local seen = recall(key, charged, charges)
  local known = seen and now < seen.ends
  local repeats = known and now < seen.repeated and (seen.allowed or seen.judged_at <= now)
  if known and seen.question ~= question then
    key_cursor = key_cursor + #charges
    reply(ID_REUSED)
  elseif repeats and seen.charged == charged then
    key_cursor = key_cursor + #charges
    reply(unpack(seen.reply))
  elseif repeats or (known and seen.allowed) then
    stand(seen.allowed, charges)
  else
    local first = filled + 1
    local allowed = judge(intent, charges, hold)
    if out[first] >= 0 and may_write then
      remember(key, question, charged, at_least, allowed, charges, first)
      -- Taken again in the microsecond in which it was given back, it has the same receipt.
      local id = sub(key, -CALL_DIGITS) .. question
      on_set('ZREM', settled_place(id, now, key_cursor - #charges + 1, #charges))
    end
  end
end

-- T, P, R, V   take, peek, record, reserve: how many plans that differ only in their accounts, the hold of
--           a reservation (microseconds) or 0, the digest of the question of a call with an id, or nothing;
--           how many charges, and for each: terms, cost, 1 if enforced, the number of its rule in the plan.
--           Then for a call with an id, which is alone: the digest of its charges, and how long to remember
--           it at least (microseconds).
--           Reply 1 allowed or 0 denied, when it was judged; then for each charge: what became of it, the end of its lock or 0, its
--           account's time; and for each limit: remaining, retry after (-1 never), reset after, the number
--           of the mark, what could not be charged
local function plans(intent)
  local n, hold, question = number(), number(), word()
  local charges = {}
  for i = 1, number() do
    local charge = {terms = all_terms[number()], cost = number(), enforced = word() == '1', rule = word()}
    charge.asked, charge.marks, charge.uncharged = max(1, charge.cost), {}, {}
    charge.reserves = hold > 0
    prepare_charge(charge)
    charges[i] = charge
  end
  if question ~= '' then
    judge_named(intent, charges, hold, question)
    return
  end
  for _ = 1, n do
    judge(intent, charges, hold)
  end
end

local function is_settled(done, name)
  local till = on_set('ZSCORE', done, name)
  return till and tonumber(till) > now
end

local function remember_settled(done, name, till, slack)
  on_set('ZADD', done, text(till), name)
  on_set('ZREMRANGEBYSCORE', done, '-inf', text(now))
  local millis = ceil_div(till - now + slack, 1000)
  if call('PTTL', done) < millis then
    call('PEXPIRE', done, text(millis))
  end
end

-- Closes a reservation and gives back what is left of it, or of a take.
local function confirm(entry, open_till)
  local row, terms, back = entry.row, entry.terms, entry.cost - entry.actual
  local may_lock = terms.locks_on_limit and #terms.locks > 0 and open_till > now
    and row.form.prefix == terms.form.prefix and lock_left(row) == 0
  if may_lock then
    row = bring(row, terms)
    may_lock = fits_without_open(row, 1)
  end
  change(row)
  close(row, entry.cost, open_till)
  if back > 0 then
    announce_gift(row.key)
    local time, found, same = time_of(row), match(terms.form.limits, row.form.limits)
    for i, limit in ipairs(terms.form.limits) do
      local mark = entry.marks[i][1]
      if same[i] and mark >= (row.forgotten or 0) and mark <= time then
        limit.kind.give_back(limit, row, row.form.at[found[i]], time, back * limit.scale,
          mark, entry.marks[i][2], entry.cost)
      end
    end
    if not is_used(row) then
      row.written = 0 -- there is nothing that the clock could bring back too early
    end
  end
  entry.locks = may_lock and not fits_without_open(row, 1) and has_index(row.key)
  if entry.locks then
    lock(row, terms)
  end
  entry.row = row
end

-- Settles one account. Says what could not be charged.
local function settle_row(entry, open_till, is_late)
  local row, uncharged = entry.row, 0
  if not is_late then
    local is_own_lock = entry.locked and row.lock and row.lock.from >= min(entry.taken_at, entry.marks[1][1])
      and row.lock.from <= entry.locked_by
    if is_own_lock and (entry.actual == 0 or entry.forgiven) then
      unlock(row)
    end
    if entry.forgiven then
      forget_usage(row)
      announce_gift(row.key)
      return 0
    end
    confirm(entry, open_till)
  end
  local more = entry.actual - entry.cost
  if more > 0 then
    local charge = {
      row = bring(entry.row, entry.terms), terms = entry.terms, cost = more, asked = more, flags = 0, uncharged = {},
    }
    prepare_charge(charge)
    charge.used = nil
    count(charge, true, 0)
    for _, each in ipairs(charge.uncharged) do
      uncharged = max(uncharged, each)
    end
  end
  return uncharged
end

-- S   settle: the receipt's id, when it was taken, by when it had locked at the latest, until when it is open or 0, until when it can be given
--     back, 1 if it undoes a take that no caller knows of, the key of its call or nothing, how many accounts;
--     then for each: terms, cost taken, actual cost, 1 if this call locked it, 1 if it is forgiven, and for
--     each limit its mark and the mark's number.
--     Reply 1, or 0 if done before or too late; what could not be charged.
local function settle()
  local id, taken_at, locked_by, open_till, good_till = word(), number(), number(), number(), number()
  local undoes, call_key, n = word() == '1', word(), number()
  local first, entries, charges_more = key_cursor + 1, {}, false
  for i = 1, n do
    local entry = {terms = all_terms[number()], cost = number(), actual = number()}
    entry.locked, entry.forgiven = word() == '1', word() == '1'
    entry.taken_at, entry.locked_by, entry.marks = taken_at, locked_by, {}
    for j = 1, #entry.terms.form.limits do
      entry.marks[j] = {number(), number()}
    end
    charges_more = charges_more or entry.actual > entry.cost
    entries[i] = entry
    horizon(entry.terms) -- asks for rounds that are not there
  end
  key_cursor = first + n - 1
  if lacking_round then
    reply(LACKS_ROUND, lacking_round)
    lacking_round = nil
    return
  end
  local done, name = settled_place(id, taken_at, first, n)
  local is_late = now >= good_till
  if is_settled(done, name) or (is_late and not charges_more) then
    reply(0, 0)
    return
  end
  local uncharged, is_all_back, is_something = 0, true, false
  for i, entry in ipairs(entries) do
    key_cursor = first + i - 2
    entry.row = next_row(nil)
    uncharged = uncharged + settle_row(entry, open_till, is_late)
    is_all_back, is_something = is_all_back and entry.actual == 0, is_something or entry.cost > 0
  end
  -- Nothing counts for the id of a call that was given back: it is judged if it comes again.
  if is_all_back and is_something and #id == NAMED_ID_LENGTH and call_key ~= '' then
    local seen = recall(call_key .. sub(id, 1, CALL_DIGITS), '', {})
    -- In a Cluster each slot has judged by its own clock, which the marks tell.
    if seen and (seen.judged_at == taken_at or seen.judged_at == entries[1].marks[1][1]) then
      call('DEL', call_key .. sub(id, 1, CALL_DIGITS))
    end
  end
  if undoes or is_late then
    remember_settled(done, name, now + RESEND, 0)
  else
    remember_settled(done, name, good_till, SLACK)
  end
  reply(1, uncharged)
end

local operations = {
  T = plans, P = plans, R = plans, V = plans, S = settle,
  -- C   all slots of a call have answered, so what it took here is open no longer: until when it would be,
  --     how many accounts; then for each: terms, cost taken. Reply for each the end of the lock to which
  --     that led, or 0
  C = function()
    local open_till = number()
    for _ = 1, number() do
      local entry = {terms = all_terms[number()], cost = number(), row = next_row(nil)}
      entry.actual = entry.cost
      confirm(entry, open_till)
      reply(entry.locks and rows[entry.row.key].lock.till or 0)
    end
  end,
  -- X   reset. Reply 1 if there was anything
  X = function()
    local row = next_row(nil)
    demand_index(row.key)
    local was = is_used(row) or row.lock
    withdraw_lock(row.key)
    row.lock = nil
    forget_usage(row)
    announce_gift(row.key)
    reply(was and 1 or 0)
  end,
  -- K   lock by hand: microseconds, reason (percent-encoded). Reply the end
  K = function()
    local row, length, reason = next_row(nil), number(), word()
    demand_index(row.key)
    announce_gift(row.key)
    local before = row.lock
    local remembered = before and now <= before.till + before.memory
    row.lock = {
      from = now, till = now + length,
      nth = remembered and before.nth or 0, memory = remembered and before.memory or 0,
    }
    change(row)
    row.tail = true
    announce_lock(row, reason)
    reply(row.lock.till)
  end,
  -- U   lift the lock: 1 if the usage that led to it and the locks before it stay. Reply 1 if it was locked
  U = function()
    local row, keeps = next_row(nil), word() == '1'
    local was = lock_left(row) > 0
    demand_index(row.key)
    withdraw_lock(row.key)
    if keeps and was then
      row.lock = {from = min(row.lock.from, now), till = now, nth = row.lock.nth, memory = row.lock.memory}
      change(row)
      row.tail = true
    elseif not keeps then
      row.lock = nil
      forget_usage(row)
    end
    announce_gift(row.key)
    reply(was and 1 or 0)
  end,
}

local AT_ONCE_PACKED = 200 -- Lua hands a function no more than some thousand arguments

local function packed()
  local parts = {}
  for i = 1, filled, AT_ONCE_PACKED do
    local last = min(filled, i + AT_ONCE_PACKED - 1)
    parts[#parts + 1] = pack('<' .. rep('d', last - i + 1), unpack(out, i, last))
  end
  return table.concat(parts)
end

-- The one entry: what FCALL and EVALSHA run.
local function run(given_keys, given_words)
  if not call then
    prepare()
  end
  keys, words, cursor, key_cursor, values, all_terms = given_keys, given_words, 3, 0, nil, {}
  out, filled = {0, 0}, 2
  rows, foreign, lacking_round, may_write = {}, 0, nil, words[1] == 'w'
  if words[2] == '0' then
    local time = call('TIME')
    now = time[1] * 1000000 + time[2]
  else
    now = tonumber(words[2])
  end
  if #keys > 1 and #keys <= 4000 then
    values = call('MGET', unpack(keys)) -- gives nothing for what is no string
  end
  for i = 1, number() do
    all_terms[i] = terms_of(word())
  end
  local operation = word()
  while operation do
    operations[operation](operation)
    operation = word()
  end
  if may_write then
    for _, row in pairs(rows) do
      if row.changed then
        flush(row)
      end
    end
  end
  out[1], out[2] = now, foreign
  return packed()
end
