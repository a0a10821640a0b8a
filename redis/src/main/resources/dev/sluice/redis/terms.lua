-- What is decided: the terms of rules, and plans without their accounts, as the caller has encoded them.

local once, next_terms, charge_of, set_cost, next_plan
do

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

-- Parsed texts, which a library keeps between calls; a script does not. What was not used since the younger half
-- became full is forgotten, so a flood of new texts leaves those in use alone.
local MOST_CHARACTERS, OVERHEAD = 500000, 500 -- of the younger half; of a text, for what it takes beside its length
local younger, older, characters = {}, {}, 0

function once(parse, encoded)
  local found = younger[encoded]
  if not found then
    found = older[encoded] or parse(encoded)
    characters = characters + #encoded + OVERHEAD
    if characters > MOST_CHARACTERS then
      younger, older, characters = {}, younger, #encoded + OVERHEAD
    end
    younger[encoded] = found
  end
  return found
end

function next_terms()
  return once(parsed_terms, word())
end

-- A charge for any account; `set_cost` says of what.
--
-- Under `ceilings` a take locks nobody. A rule that locks when a limit is used up leaves room for one more.
function charge_of(terms)
  local form, ceilings = terms.form, {}
  local kept = terms.locks_on_limit and #terms.locks > 0 and 1 or 0
  for i, limit in ipairs(form.limits) do
    ceilings[i] = limit.most - kept * limit.scale
  end
  return {
    terms = terms, limits = form.limits, at = form.at, amounts = {}, cost = 0, asked = 0, never_fits = false,
    enforced = true, row = false, used = {}, fits = false, flags = 0, counts = false, marks = {}, uncharged = {},
    ceilings = ceilings, may_be_plain = form.is_plain, width = form.last - NUMBERS + 1,
  }
end

function set_cost(charge, cost)
  charge.cost, charge.asked, charge.never_fits = cost, max(1, cost), false
  for i, limit in ipairs(charge.limits) do
    charge.amounts[i] = charge.asked * limit.scale
    charge.never_fits = charge.never_fits or never_fits(limit, charge.asked)
  end
end

-- A plan without its accounts: lines
--   intent hold               T take, P peek, R record, V reserve; microseconds, or 0 without a reservation
--   enforced rule terms       for each charge; enforced is 1 or 0, rule its number in the plan
local function parsed_plan(encoded)
  local charges = {}
  for line in encoded:gmatch('[^\n]+') do
    local enforced, rule, text_of_terms = line:match('^(%d) (%d+) (.*)$')
    if enforced then
      local charge = charge_of(once(parsed_terms, text_of_terms))
      charge.enforced, charge.rule, charge.reserves = enforced == '1', rule, charges.hold > 0
      charges.may_be_plain = charges.may_be_plain and charge.enforced and charge.may_be_plain
      charges[#charges + 1] = charge
    else
      local intent, hold = line:match('^(%a) (%d+)$')
      charges.intent, charges.hold, charges.may_be_plain = intent, tonumber(hold), intent == 'T'
    end
  end
  return charges
end

-- A plan, with the costs of its charges, which are joined by blanks.
function next_plan()
  local charges, costs = once(parsed_plan, word()), word()
  if charges.costs ~= costs then
    charges.costs, charges.are_plain = costs, charges.may_be_plain
    local i = 0
    for cost in costs:gmatch('%d+') do
      i = i + 1
      set_cost(charges[i], tonumber(cost))
      charges.are_plain = charges.are_plain and charges[i].cost > 0
    end
  end
  return charges
end

end
