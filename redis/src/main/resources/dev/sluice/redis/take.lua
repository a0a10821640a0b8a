-- Sluice: judges plans, each taken whole or not at all, at one reading of the clock.
--
-- KEYS   the accounts, in the order in which ARGV speaks of them.
-- ARGV   now        microseconds to use as the clock, or 0 for Redis' own (the rule outside tests)
--        T          how many terms, then T texts: see `terms_of`
--        the rest   operations, each a letter and its arguments: see `operations`
-- Reply  {now, foreign, a reply for each operation}
--        `foreign` counts values under our keys that were not ours and have been replaced.
--        {-2, moment} instead of a plan's reply: nothing was done; send it again with the calendar
--        rounds around that moment.

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

local function balances(reply, account, asked, id, cost_taken)
  local left = lock_left(account, now)
  local n = #reply
  reply[n + 1], reply[n + 2] = cost_taken + 1, left == 0 and 0 or now + left
  n = n + 2
  local effective = account.effective
  for i, limit in ipairs(account.terms.limits) do
    local wait = 0
    if asked > 0 then
      wait = retry_after(account, i, now, asked, id)
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

-- What a refusal leaves: a lock on who overdrew, and the knock where knocks count.
local function refuse(charge, made_id)
  local account, terms = charge.account, charge.account.terms
  if lock_left(account, now) > 0 then
    return
  end
  if #terms.locks > 0 and charge.overdraws then
    local before = account.lock
    local nth = before and now <= before.till + terms.lock_memory and before.nth + 1 or 1
    local length = terms.locks[min(nth, #terms.locks)]
    relock(account, {from = now, till = now + length, nth = nth, memory = terms.lock_memory})
    announce_lock(account, now, terms.reason)
  end
  if terms.count_denied and charge.cost > 0 and (charge.overdraws or charge.has_room) then
    count(account, charge.cost, 'knocking', made_id, false)
  end
end

local function judge(operation, id, made_id, charges)
  local denied = false
  for _, charge in ipairs(charges) do
    charge.asked = max(1, charge.cost)
    charge.has_room, charge.overdraws = room(charge.account, now, charge.asked, id)
    charge.fits = charge.has_room and lock_left(charge.account, now) == 0
    denied = denied or (charge.enforced and not charge.fits)
  end
  if wanted then
    local moment = wanted
    wanted = nil
    for _, charge in ipairs(charges) do
      forget(charge.account)
    end
    return {-2, moment}
  end
  local reply = {denied and operation ~= 'R' and 0 or 1, now}
  if operation == 'P' then
    for _, charge in ipairs(charges) do
      balances(reply, charge.account, charge.asked, id, -1)
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
        refuse(charge, made_id)
      end
      balances(reply, charge.account, charge.asked, id, -1)
    else
      if charge.cost > 0 then
        count(charge.account, charge.cost, operation == 'R' and 'recording' or 'plus',
          id ~= '' and id or made_id, id ~= '')
      end
      balances(reply, charge.account, 0, '', operation == 'T' and charge.cost or -1)
    end
  end
  return reply
end

local CALL_MEMORY_MICROS = 60000000

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

-- T, P, R   take, peek, record: id or nothing, an id made for it, how many charges, then for each:
--           terms, cost, 1 if enforced, the number of its rule in the plan.
--           Reply {1 allowed or 0 denied, now, then for each charge: 0, or 1 and the cost if it was
--           taken; the end of the lock or 0;
--           and for each limit: remaining, retry after (-1 never), reset after, mark, mark's units}
local function plan(operation)
  local id, made_id = argument(), argument()
  local n = number()
  local first_key = key_cursor + 1
  if id == '' or operation == 'P' then
    return judge(operation, id, made_id, charges_of(n))
  end
  local memory = beside(first_key, n, '!call!' .. id)
  local seen = get(memory)
  if seen then
    local moment, numbers = seen:match('^(%d+)|(.*)$')
    if moment and now - tonumber(moment) < CALL_MEMORY_MICROS then
      local reply = {}
      for each in numbers:gmatch('%S+') do
        reply[#reply + 1] = tonumber(each)
      end
      local charges, length = charges_of(n), 2
      for _, charge in ipairs(charges) do
        length = length + 2 + 5 * #charge.account.terms.limits
      end
      if #reply == length then
        return reply
      end
      -- The rule has other limits by now: the first verdict stands, told by today's balances.
      local today = judge('P', id, made_id, charges)
      today[1] = today[1] == -2 and -2 or reply[1]
      return today
    end
  end
  local reply = judge(operation, id, made_id, charges_of(n))
  if reply[1] ~= -2 then
    local numbers = {}
    for i, each in ipairs(reply) do
      numbers[i] = text(each)
    end
    redis.call('SET', memory, text(now) .. '|' .. table.concat(numbers, ' '), 'PX',
      text(CALL_MEMORY_MICROS / 1000 + SLACK_MILLIS))
  end
  return reply
end

-- S   settle: id, when it was taken, actual cost, microseconds to remember it for, how many
--     accounts, then for each: terms, cost taken, and for each limit its mark and the mark's units. Reply 1, or 0 if done before.
local function settle()
  local id, taken_at, actual, memory, n = argument(), argument(), number(), number(), number()
  local done = beside(key_cursor + 1, n, '!done!' .. id .. '@' .. taken_at)
  local fresh = now >= (tonumber(get(done) or 0) or 0)
  if fresh then
    redis.call('SET', done, text(now + memory), 'PX', text(ceil_div(memory, 1000) + SLACK_MILLIS))
  end
  for _ = 1, n do
    local terms, cost = all_terms[number()], number()
    local marks = {}
    for i = 1, #terms.limits do
      marks[i] = {number(), number()}
    end
    local back = cost - actual
    if not fresh or back == 0 then
      key_cursor = key_cursor + 1
    elseif back < 0 then
      local account = next_account(terms)
      commit(account)
      count(account, -back, 'recording', id .. '+', false)
    else
      local account = next_account(nil)
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
        log.remove(account, id, cost, back)
        account.log_written = nil
      end
    end
  end
  return fresh and 1 or 0
end

local operations = {
  T = plan, P = plan, R = plan, S = settle,
  -- X   reset. Reply 1 if there was anything
  X = function()
    local account = next_account(nil)
    accounts[account.key] = nil
    local key = account.key
    return redis.call('DEL', key, key .. '!log', key .. '!lock', key .. '!aside', key .. '!log!aside')
      > 0 and 1 or 0
  end,
  -- K   lock by hand: microseconds, reason (percent-encoded). Reply the end
  K = function()
    local account, length, reason = next_account(nil), number(), argument()
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
    relock(account, nil)
    redis.call('DEL', account.key .. '!lock')
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
