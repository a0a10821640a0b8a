-- The entry point of FCALL and EVALSHA.
--
-- KEYS   every account once, and the keys of calls with an id, in any order. In a Cluster, all other keys
--        that are touched follow. A place is an index into KEYS.
-- ARGV   mode       w, or r if the call must not write; then only denials are final
--        now        microseconds to use as the clock; 0, except in tests, for the clock of Redis
--        the rest   operations, each a letter and its arguments: see `operations`
-- Reply  whole numbers of 7 bytes, little-endian: the clock, how many values under our keys were not
--        ours and were replaced; then the result of each operation

local words, cursor

local function word()
  cursor = cursor + 1
  return words[cursor - 1]
end

local function number()
  return tonumber(word())
end

-- Parses places in one argument: two characters each, the lower seven bits first.
local function places()
  local encoded, found, n = word(), {}, 0
  for i = 1, #encoded, AT_ONCE do
    local bytes = {byte(encoded, i, i + AT_ONCE - 1)}
    for j = 1, #bytes, 2 do
      n = n + 1
      found[n] = bytes[j] + bytes[j + 1] * 128
    end
  end
  return found
end

-- Terms: parts joined by '|'
--   d,d,…        lock durations, or nothing
--   memory       for how long after its end a lock still lengthens the next one
--   0 or 1       1 locks when a limit is used up, 0 when a call is denied
--   0 or 1       1 if denied calls count
--   reason       the reason of a lock, percent-encoded
--   limits       b,capacity,units per token,units per micro,debt     s,limit,window,precision
--                l,limit,window     f,limit,cycle,length or, for a calendar, 0 and start,end,start,end,…
local function parsed_terms(encoded)
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
  return terms
end

-- Caches parsed texts. A library keeps the cache between calls; a script does not.
local MOST_KNOWN = 1000
local known, known_count = {}, 0

local function once(parse, encoded)
  local found = known[encoded]
  if not found then
    if known_count >= MOST_KNOWN then
      known, known_count = {}, 0
    end
    found = parse(encoded)
    known[encoded], known_count = found, known_count + 1
  end
  return found
end

local function terms()
  return once(parsed_terms, word())
end

-- A plan without its accounts: lines
--   intent hold                    T take, P peek, R record, V reserve; microseconds, or 0 without a reservation
--   cost enforced rule terms       for each charge; enforced is 1 or 0, rule its number in the plan
local function parsed_plan(encoded)
  local charges = {}
  for line in encoded:gmatch('[^\n]+') do
    local cost, enforced, rule, text_of_terms = line:match('^(%d+) (%d) (%d+) (.*)$')
    if cost then
      local charge = charge_of(once(parsed_terms, text_of_terms), tonumber(cost))
      charge.enforced, charge.rule, charge.reserves = enforced == '1', rule, charges.hold > 0
      charges.are_plain = charges.are_plain and charge.enforced and charge.cost > 0 and #charge.terms.locks == 0
      charges[#charges + 1] = charge
    else
      local intent, hold = line:match('^(%a) (%d+)$')
      charges.intent, charges.hold, charges.are_plain = intent, tonumber(hold), intent == 'T' or intent == 'V'
    end
  end
  return charges
end

local operations = {
  -- J   decide plans that differ only in their accounts: a plan; the places of the accounts of each plan in turn.
  --     Reply for each plan PLAINLY and for each charge the numbers of `take_plainly`; or ALLOWED or DENIED, the
  --     time of the decision, and for each charge the numbers of `report`; or why nothing was done
  J = function()
    local charges, accounts = once(parsed_plan, word()), places()
    for from = 0, #charges > 0 and #accounts - 1 or -1, max(1, #charges) do
      judge(charges, accounts, from)
    end
  end,
  -- I   decide a call with an id: a plan; the place of the key of the call, then those of the accounts; digests
  --     of its question and of its charges; how long to remember it at least (microseconds). Reply as for J, in
  --     the long form
  I = function()
    local charges = once(parsed_plan, word())
    judge_named(charges, places(), word(), word(), number())
  end,
  -- S   settle a receipt: its id, when it was taken, the latest time at which it can have locked, until when it is
  --     open or 0, until when it can be refunded, 1 if it undoes a take that no caller knows of, the key of its
  --     call or nothing, the number of accounts. For each account: terms, cost taken, actual cost, 1 if this call
  --     locked it, 1 if it is forgiven, the `given` of its receipt entry, and for each limit the time and the
  --     number of its mark. Then the places of the accounts.
  --     Reply 0 if it was settled before or is too late; else 1, and for each account what could not be charged
  --     and the end of its lock, or 0
  S = function()
    local receipt = {
      id = word(), taken_at = number(), locked_by = number(), open_till = number(), good_till = number(),
      undoes = word() == '1', call_key = word(), charges_more = false,
    }
    local entries = {}
    for i = 1, number() do
      local entry = {
        terms = terms(), cost = number(), actual = number(), locked = word() == '1',
        forgiven = word() == '1', given = number(),
        taken_at = receipt.taken_at, locked_by = receipt.locked_by, marks = {},
      }
      for j = 1, #entry.terms.form.limits do
        entry.marks[j] = {number(), number()}
      end
      receipt.charges_more = receipt.charges_more or entry.actual > entry.cost
      entries[i] = entry
      horizon(entry.terms) -- notes a missing calendar window
    end
    local accounts = places()
    if lacking_round then
      reply(LACKS_ROUND, lacking_round)
      lacking_round = nil
    else
      reply(settle(receipt, entries, accounts))
    end
  end,
  -- C   confirm what a call took here, after all its slots have answered: until when it would be held, the
  --     number of accounts, for each: terms, cost taken; then their places. Reply for each account the end of the
  --     lock that this causes, or 0
  C = function()
    local open_till, entries = number(), {}
    for i = 1, number() do
      entries[i] = {terms = terms(), cost = number()}
      horizon(entries[i].terms) -- notes a missing calendar window
    end
    local accounts = places()
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
  end,
  -- X   reset: the place. Reply 1 if it had usage or a lock
  X = function()
    local row = row_of(places()[1], nil)
    local key, was = keys[row[PLACE]], not is_spent(row)
    demand_index(key)
    withdraw_lock(key)
    row.lock = nil
    forget_usage(row)
    announce_refund(key)
    reply(was and 1 or 0)
  end,
  -- K   lock by hand: the place, microseconds, reason (percent-encoded). Reply the end of the lock, and since when
  --     the account is locked
  K = function()
    local row, length, reason = row_of(places()[1], nil), number(), word()
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
  end,
  -- U   lift the lock: the place, 1 to keep the usage that led to it and the memory of earlier locks. Reply 1 if
  --     it was locked
  U = function()
    local row, keeps = row_of(places()[1], nil), word() == '1'
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
  end,
}

local MOST_KEYS_READ = 4000 -- Lua passes at most some thousand arguments to a function
local format_of_all = '<' -- the format of AT_ONCE numbers, made in the first call

-- The reply as one string.
local function packed()
  if #format_of_all == 1 then
    format_of_all = '<' .. rep('I7', AT_ONCE)
  end
  local parts = {}
  for i = 1, filled, AT_ONCE do
    local n = min(filled - i + 1, AT_ONCE)
    local format_of_these = n == AT_ONCE and format_of_all or sub(format_of_all, 1, 2 * n + 1)
    parts[#parts + 1] = pack(format_of_these, unpack(out, i, i + n - 1))
  end
  return parts[2] and table.concat(parts) or parts[1]
end

local function run(given_keys, given_words)
  if not call then
    prepare()
  end
  keys, words, cursor, values = given_keys, given_words, 3, nil
  rows, out, filled = {}, {0, 0}, 2
  foreign, lacking_round, may_write, may_mend = 0, nil, words[1] == 'w', false
  remembered_calls = {}
  if words[2] == '0' then
    local time = call('TIME')
    now = time[1] * 1000000 + time[2]
  else
    now = tonumber(words[2])
  end
  if #keys <= MOST_KEYS_READ then
    values = call('MGET', unpack(keys)) -- returns nothing for values that are no strings
  end
  local operation = word()
  while operation do
    operations[operation]()
    operation = word()
  end
  if may_write then
    for place = 1, #keys do
      local row = rows[place]
      if row and row[CHANGED] then
        flush(row)
      end
    end
    write_remembered_calls()
  end
  out[1], out[2] = now, foreign
  return packed()
end
