-- Sluice: judges plans, each taken whole or not at all, at one reading of the clock.
--
-- KEYS   the accounts, in the order in which ARGV names them; before those of a call with an id, the
--        key under which the call is remembered.
-- ARGV   now        microseconds to use as the clock, or 0 for Redis' own (the rule outside tests)
--        T          how many terms, then T texts: see `terms_of`
--        the rest   operations, each a letter and its arguments: see `operations`
-- Reply  {now, foreign, a reply for each operation}
--        `foreign` counts values under our keys that were not ours and have been replaced.
--        {-2, moment} instead of a plan's reply: nothing was done; send it again with the calendar
--        rounds around that moment.
--        {-3} instead of it: nothing was done; the id was used for another question.

-- Terms: parts joined by '|'
--   d,d,…        lock durations, or nothing;   memory     lock memory;   0 or 1   denied calls count
--   reason       what a lock it sets is announced with, percent-encoded
--   head         of an account's packed form, or - if it has none
--   limits       b,capacity,P,R,tag   s,limit,W,p   l,limit,W
--                f,limit,cycle,length,base   or, of a calendar, length 0 and rounds: start,end,start,end,…
local function terms_of(encoded)
  local fields = {}
  for field in encoded:gmatch('[^|]+') do
    fields[#fields + 1] = field
  end
  local terms = {
    locks = {}, lock_memory = tonumber(fields[2]), count_denied = fields[3] == '1',
    reason = fields[4], head = fields[5] ~= '-' and fields[5] or nil, limits = {}, counted = {}, calendar = {},
    memory = 0, log_memory = 0, log_most = 0,
  }
  for duration in fields[1]:gmatch('%d+') do
    terms.locks[#terms.locks + 1] = tonumber(duration)
  end
  for i = 6, #fields do
    local parameters = {}
    for parameter in fields[i]:gmatch('[^,]+') do
      parameters[#parameters + 1] = parameter
    end
    local limit = {kind = parameters[1], limit = tonumber(parameters[2])}
    local span = 0
    if limit.kind == 'b' then
      limit.capacity, limit.P, limit.R = limit.limit, tonumber(parameters[3]), tonumber(parameters[4])
      limit.tag = parameters[5] ~= '-' and parameters[5] or nil
      span = ceil_div(limit.capacity * limit.P, limit.R)
    elseif limit.kind == 'f' then
      limit.cycle = parameters[3]
      if parameters[4] ~= '0' then
        limit.length, limit.base = tonumber(parameters[4]), tonumber(parameters[5])
        span = limit.length
      else
        limit.rounds = {}
        for j = 5, #parameters do
          limit.rounds[j - 4] = tonumber(parameters[j])
        end
        terms.calendar[#terms.calendar + 1] = limit
      end
    elseif limit.kind == 's' then
      limit.W, limit.p = tonumber(parameters[3]), tonumber(parameters[4])
      span = limit.W + limit.p
    else
      limit.W = tonumber(parameters[3])
      span = limit.W
      terms.has_log = true
      terms.log_memory = max(terms.log_memory, limit.W)
      terms.log_most = max(terms.log_most, limit.limit)
    end
    if limit.kind ~= 'l' then
      terms.counted[#terms.counted + 1] = limit
      limit.place = #terms.counted
    end
    terms.memory = max(terms.memory, span)
    terms.limits[#terms.limits + 1] = limit
  end
  return terms
end

local cursor, key_cursor = 2, 0
local function argument()
  cursor = cursor + 1
  return ARGV[cursor - 1]
end
local function number()
  return tonumber(argument())
end

local all_terms = {}
for i = 1, number() do
  all_terms[i] = terms_of(argument())
end

local function next_account(terms)
  key_cursor = key_cursor + 1
  local key = KEYS[key_cursor]
  local account = accounts[key]
  if not account then
    local value, is_foreign = get(key)
    account = load(key, value)
    account.is_written = account.is_written or is_foreign
  end
  if terms then
    at(account, terms, now)
  end
  return account
end

local function balances(reply, account, asked, cost_taken)
  local left = lock_left(account, now)
  local n = #reply
  reply[n + 1], reply[n + 2] = cost_taken + 1, left == 0 and 0 or now + left
  n = n + 2
  local effective = account.effective
  for i, limit in ipairs(account.terms.limits) do
    local wait = 0
    if asked > 0 then
      wait = retry_after(account, i, now, asked)
      wait = wait == NEVER and NEVER or max(wait, left)
    end
    local remaining, reset, mark, units
    if limit.kind == 'l' then
      remaining = log.remaining(account, limit, effective)
      reset = log.reset_after(account, limit, effective)
      mark, units = effective, 0
    else
      local kind, tally = KINDS[limit.kind], account.tallies[limit.place]
      remaining = kind.remaining(limit, tally, effective)
      reset = kind.reset_after(limit, tally, effective)
      mark, units = kind.mark(limit, tally, effective)
    end
    reply[n + 1], reply[n + 2] = remaining, wait
    reply[n + 3] = reset == 0 and 0 or reset + effective - now
    reply[n + 4], reply[n + 5] = mark, units
    n = n + 5
  end
end

-- What a call over several slots took in this one is held until the other slots have answered: a call
-- that does not fit because of it locks nobody. key!held has the ids of such calls, scored by when
-- they are given up for final.
local HOLD_MICROS = 10000000

local function hold(account, id)
  local key, ends = account.key .. '!held', text(now + HOLD_MICROS)
  if type(redis.pcall('ZADD', key, ends, id)) == 'table' then
    redis.call('DEL', key) -- it was not ours
    redis.call('ZADD', key, ends, id)
  end
  redis.call('PEXPIRE', key, text(HOLD_MICROS / 1000 + SLACK_MILLIS))
end

local function release(key, id)
  redis.pcall('ZREM', key .. '!held', id)
end

local function is_held(account)
  local held = redis.pcall('ZCOUNT', account.key .. '!held', '(' .. text(now), '+inf')
  return type(held) == 'number' and held > 0
end

-- What a refusal leaves: a lock on who overdrew, and the knock where knocks count.
local function refuse(charge, id)
  local account, terms = charge.account, charge.account.terms
  if lock_left(account, now) > 0 then
    return
  end
  if #terms.locks > 0 and charge.overdraws and not is_held(account)
    and lock_index.is_here(account.key) then
    local before = account.lock
    local nth = before and now <= before.till + terms.lock_memory and before.nth + 1 or 1
    local length = terms.locks[min(nth, #terms.locks)]
    relock(account, {from = now, till = now + length, nth = nth, memory = terms.lock_memory})
    announce_lock(account, now, terms.reason)
  end
  if terms.count_denied and charge.cost > 0 and (charge.overdraws or charge.has_room) then
    count(account, charge.cost, 'knocking', log.name(id, now) .. '!') -- never given back
  end
end

-- The reply if a calendar round is missing: what was learnt of the accounts is forgotten.
local function lacks_round(charges)
  local moment = wanted
  wanted = nil
  for _, charge in ipairs(charges) do
    forget(charge.account)
  end
  return {-2, moment}
end

local function judge(operation, id, charges)
  local denied, held = false, operation == 'H'
  operation = held and 'T' or operation
  for _, charge in ipairs(charges) do
    charge.asked = max(1, charge.cost)
    charge.has_room, charge.overdraws = room(charge.account, now, charge.asked)
    charge.fits = charge.has_room and lock_left(charge.account, now) == 0
    denied = denied or (charge.enforced and not charge.fits)
  end
  if wanted then
    return lacks_round(charges)
  end
  local reply = {denied and operation ~= 'R' and 0 or 1, now}
  if operation == 'P' then
    for _, charge in ipairs(charges) do
      balances(reply, charge.account, charge.asked, -1)
    end
    return reply
  end
  local refused = {}
  for _, charge in ipairs(charges) do
    commit(charge.account)
    if operation == 'T' and not charge.enforced and not charge.fits then
      refused[charge.rule] = true
    end
  end
  for _, charge in ipairs(charges) do
    if reply[1] == 0 or refused[charge.rule] then
      if charge.enforced or reply[1] == 1 then
        refuse(charge, id)
      end
      balances(reply, charge.account, charge.asked, -1)
    else
      if charge.cost > 0 then
        count(charge.account, charge.cost, operation == 'R' and 'recording' or 'plus',
          log.name(id, charge.account.effective))
      end
      if held and charge.cost > 0 and #charge.account.terms.locks > 0 then
        hold(charge.account, id)
      end
      balances(reply, charge.account, 0, operation == 'T' and charge.cost or -1)
    end
  end
  return reply
end

-- A key beside the first of n accounts, of its own for each set of them.
local function beside(first, n, suffix)
  local key = KEYS[first] .. suffix
  if n > 1 then
    key = key .. '!' .. redis.sha1hex(table.concat(KEYS, ' ', first + 1, first + n - 1))
  end
  return key
end

local function charges_of(n)
  local charges = {}
  for i = 1, n do
    local terms = all_terms[number()]
    local charge = {cost = number(), enforced = argument() == '1', rule = argument()}
    charge.account = next_account(terms)
    charges[i] = charge
  end
  return charges
end

-- A call with an id is remembered under a key of its own: when its answer is no longer repeated, when
-- it may be judged again, digests of its question and of its charges, then the reply.
--   1790000060000000 1790003600000000 6f1d… 02ab… 1 1790000000000000 …
-- An answer is repeated for a minute, a denial no longer than it asked to wait. A call that was counted
-- is not judged again as long as a limit of it counts.

local CALL_MEMORY = 60000000

local NAMED_ID_LENGTH = 40 -- of the receipt of a call with an id; others are shorter

-- A whole number as a reply has them, or nil.
local function whole(word)
  return (word == '-1' or (#word <= 16 and word:find('^%d+$'))) and tonumber(word) or nil
end

-- How many numbers the reply to the next n charges has.
local function reply_length(n)
  local length = 2 + 2 * n
  for i = 0, n - 1 do
    length = length + 5 * #all_terms[tonumber(ARGV[cursor + 4 * i])].limits
  end
  return length
end

-- What is remembered of a call of n charges, or nil. A value that is not ours counts as none.
local function recall(key, charged, n)
  local value = get(key)
  if not value then
    return nil
  end
  local words = {}
  for word in value:gmatch('[^ ]+') do
    words[#words + 1] = word
  end
  local seen = {
    repeated = whole(words[1] or ''), ends = whole(words[2] or ''), question = words[3],
    charged = words[4], allowed = words[5] == '1', judged_at = whole(words[6] or ''), reply = {},
  }
  local is_ours = seen.repeated and seen.ends and seen.judged_at and (words[5] == '0' or words[5] == '1')
    and (seen.charged ~= charged or #words - 4 == reply_length(n))
  for i = 5, #words do
    seen.reply[i - 4] = whole(words[i])
    is_ours = is_ours and seen.reply[i - 4]
  end
  if not is_ours then
    foreign = foreign + 1
    return nil
  end
  return seen
end

local function remember(key, question, charged, at_least, reply, charges)
  local repeated, remembered, slack = CALL_MEMORY, CALL_MEMORY, 0
  if reply[1] == 1 then
    slack = SLACK
    for _, charge in ipairs(charges) do
      if charge.cost > 0 and charge.enforced then
        remembered = max(remembered, at_least, horizon(charge.account.terms, now))
      end
    end
  else
    local place, wait = 2, 0
    for _, charge in ipairs(charges) do
      place = place + 2
      for _ = 1, #charge.account.terms.limits do
        local each = reply[place + 2]
        wait = charge.enforced and max(wait, each == NEVER and CALL_MEMORY or each) or wait
        place = place + 5
      end
    end
    repeated = min(repeated, wait)
  end
  local words = {text(now + repeated), text(now + remembered), question, charged}
  for _, each in ipairs(reply) do
    words[#words + 1] = text(each)
  end
  redis.call('SET', key, table.concat(words, ' '), 'PX', text(ceil_div(remembered + slack, 1000)))
end

-- If a call that was allowed has been given back since, nothing counts for its id any more, and it is
-- judged again. Says what stands behind an account's key then.
local function undone_suffix(first, n, id, taken_at)
  local suffix = '!undone!' .. id .. '@' .. text(taken_at)
  for i = first, first + n - 1 do
    if redis.call('EXISTS', KEYS[i] .. suffix) == 1 then
      return suffix
    end
  end
  return nil
end

-- The first verdict on a call, told by the balances of now. Nothing is counted.
local function stand(allowed, charges)
  if wanted then
    return lacks_round(charges)
  end
  local reply = {allowed and 1 or 0, now}
  for _, charge in ipairs(charges) do
    balances(reply, charge.account, allowed and 0 or max(1, charge.cost), -1)
  end
  return reply
end

-- T, P, R, H   take, peek, record, take and hold: the id of the receipt; of a call with an id the
--           digest of its question, else nothing; and if so that of its charges, and how long to remember it at least
--           (microseconds); then how many charges, and for each:
--           terms, cost, 1 if enforced, the number of its rule in the plan.
--           Reply {1 allowed or 0 denied, now, then for each charge: 0, or 1 and the cost if it was
--           taken; the end of the lock or 0;
--           and for each limit: remaining, retry after (-1 never), reset after, mark, mark's units}
local function plan(operation)
  local id, question = argument(), argument()
  if question == '' then
    return judge(operation, id, charges_of(number()))
  end
  key_cursor = key_cursor + 1
  local key, charged, at_least, n = KEYS[key_cursor], argument(), number(), number()
  local seen = recall(key, charged, n)
  local first_account = key_cursor + 1
  local undone = seen and seen.allowed and undone_suffix(first_account, n, id, seen.judged_at)
  local known = seen and now < seen.ends and not undone
  local repeats = known and now < seen.repeated and (seen.allowed or seen.judged_at <= now)
  local reused = known and seen.question ~= question
  if reused or (repeats and seen.charged == charged) then
    cursor, key_cursor = cursor + 4 * n, key_cursor + n
    return reused and {-3} or seen.reply
  end
  local charges = charges_of(n)
  if repeats or (known and seen.allowed) then
    return stand(seen.allowed, charges)
  end
  local reply = judge(operation, id, charges)
  if reply[1] ~= -2 then
    remember(key, question, charged, at_least, reply, charges)
    if undone then
      for i = first_account, first_account + n - 1 do
        redis.call('DEL', KEYS[i] .. undone)
      end
      -- Taken again in the same microsecond, the call has the same receipt: it is good again.
      redis.call('DEL', beside(first_account, n, '!done!' .. id .. '@' .. text(now)))
    end
  end
  return reply
end

-- Whether an account's string has nothing to tell, so that it need not be kept.
local function is_unused(account)
  for _, tally in ipairs(account.tallies) do
    if tally.kind == 'b' and bucket.is_shut(tally, tally) then
      return false
    end
  end
  return not account.aside and account.full_since == 0 and is_back(account, now)
end

-- S   settle: the receipt's id, when it was taken, actual cost, how long to remember it (microseconds),
--     0; or 1 if it undoes a take that no caller knows of, or 2 if it also forgets the call's id (whose
--     key comes first); how many accounts, then for each: terms, cost taken, and for each limit its mark and the mark's units.
--     Reply 1, or 0 if done before.
local function settle()
  local id, taken_at, actual, memory, kind = argument(), argument(), number(), number(), argument()
  local undoes, n = kind ~= '0', number()
  key_cursor = kind == '2' and key_cursor + 1 or key_cursor
  local call = kind == '2' and KEYS[key_cursor]
  local fresh = true
  if n > 0 then
    local done = beside(key_cursor + 1, n, '!done!' .. id .. '@' .. taken_at)
    local till = get(done)
    foreign = foreign + ((not till or whole(till)) and 0 or 1)
    fresh = now >= (till and whole(till) or 0)
    if fresh then
      local stays = ceil_div(memory + (undoes and 0 or SLACK), 1000)
      redis.call('SET', done, text(now + memory), 'PX', text(stays))
    end
  end
  if fresh and call then
    redis.call('DEL', call)
  end
  for _ = 1, n do
    local terms, cost = all_terms[number()], number()
    local marks, name = {}, id
    for i, limit in ipairs(terms.limits) do
      marks[i] = {number(), number()}
      name = limit.kind == 'l' and log.name(id, marks[i][1]) or name
    end
    local back = cost - actual
    if not fresh or back == 0 then
      key_cursor = key_cursor + 1
    elseif back < 0 then
      local account = next_account(terms)
      commit(account)
      count(account, -back, 'recording', name .. '+')
    else
      local account = next_account(nil)
      announce_gift(account.key)
      if actual == 0 and #id == NAMED_ID_LENGTH and not undoes then
        redis.call('SET', account.key .. '!undone!' .. id .. '@' .. taken_at, '1', 'PX',
          text(ceil_div(memory + SLACK, 1000)))
      end
      leave_terms(account, now)
      local used = {}
      for i, limit in ipairs(terms.limits) do
        for j, tally in ipairs(account.tallies) do
          local kind = KINDS[limit.kind]
          if kind and not used[j] and tally.kind == limit.kind and kind.same(limit, tally) then
            local effective = max(now, tally.indebted_at or kind.not_before(limit, tally))
            account.tallies[j] = kind.minus(limit, tally, effective, back, marks[i][1], marks[i][2])
            used[j] = true
            break
          end
        end
      end
      account.changed = #account.tallies > 0
      if terms.has_log then
        log.remove(account, name, cost, back)
        account.log_written = nil
      end
      if undoes and is_unused(account) then
        account.tallies = {}
      end
    end
  end
  return fresh and 1 or 0
end

local operations = {
  T = plan, P = plan, R = plan, H = plan, S = settle,
  -- C   every slot of a call has answered: id of its receipt, how many accounts. Reply 1
  C = function()
    local id = argument()
    for _ = 1, number() do
      key_cursor = key_cursor + 1
      release(KEYS[key_cursor], id)
    end
    return 1
  end,
  -- X   reset. Reply 1 if there was anything
  X = function()
    local account = next_account(nil)
    accounts[account.key] = nil
    local key = account.key
    lock_index.demand(key)
    local found = redis.call('DEL', key, key .. '!log', key .. '!lock', key .. '!aside',
      key .. '!log!aside', key .. '!held')
    lock_index.remove(key)
    announce_gift(key)
    return found > 0 and 1 or 0
  end,
  -- K   lock by hand: microseconds, reason (percent-encoded). Reply the end
  K = function()
    local account, length, reason = next_account(nil), number(), argument()
    lock_index.demand(account.key)
    announce_gift(account.key)
    local before = account.lock
    local remembered = before and now <= before.till + before.memory
    relock(account, {
      from = now, till = now + length,
      nth = remembered and before.nth or 0, memory = remembered and before.memory or 0,
    })
    announce_lock(account, now, reason)
    return account.lock.till
  end,
  -- U   lift the lock. Reply 1 if it was locked
  U = function()
    local account = next_account(nil)
    local was = lock_left(account, now) > 0
    lock_index.demand(account.key)
    redis.call('DEL', account.key .. '!lock')
    lock_index.remove(account.key)
    announce_gift(account.key)
    relock(account, nil)
    return was and 1 or 0
  end,
}

local replies = {now, 0}

local operation = argument()
while operation do
  replies[#replies + 1] = operations[operation](operation)
  operation = argument()
end

for _, account in pairs(accounts) do
  flush(account, now)
end
replies[2] = foreign
return replies
