-- Calls with an id: the first answer is repeated.
--
-- A call is remembered under a key of its own (MessagePack): until when its answer is repeated, when it may be
-- decided again, digests of its question and of its charges, when it was decided, then the reply. An answer is
-- repeated for a minute; a denial no longer than its wait. A call that was counted is not decided again while
-- any of its limits counts it.

local NAMED_ID_LENGTH = 40 -- length of the receipt id of a call with an id; others are shorter
local CALL_DIGITS = 24 -- how many of these characters identify the call

local judge_named, forget_call, recall, settled_place, write_remembered_calls
do

local CALL_MEMORY = 60000000 -- how long the answer to a call with an id is repeated, in microseconds
-- The number of numbers in the reply to these charges.
local function reply_length(charges)
  local length = 2
  for _, charge in ipairs(charges) do
    length = length + OF_CHARGE + OF_LIMIT * #charge.limits
  end
  return length
end

-- What is remembered of a call, or nil. A value that Sluice did not write counts as nil.
function recall(key, charged, charges)
  local value = remembered_calls[key] and remembered_calls[key].value or get(key)
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
    reply = seen[6], allowed = seen[6][1] == ALLOWED,
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
      place = place + OF_CHARGE
      for _ = 1, #charge.limits do
        local each = answer[place + 2]
        wait = charge.enforced and max(wait, each == NEVER and CALL_MEMORY or each) or wait
        place = place + OF_LIMIT
      end
    end
    repeated = min(repeated, wait)
  end
  local value = cmsgpack.pack({now + repeated, now + remembered, question, charged, now, answer})
  remembered_calls[key] = {value = value, millis = ceil_div(remembered + slack, 1000)}
end

-- Forgets a call that was refunded.
function forget_call(key)
  remembered_calls[key] = nil
  call('DEL', key)
end

-- Repeats the first verdict on a call, with the current balances. Nothing is counted.
local function stand(allowed, charges, places)
  look(charges, places, 1)
  if lacking_round then
    reply_lacks_round(charges)
    return
  end
  reply(allowed and ALLOWED or DENIED, now)
  for _, charge in ipairs(charges) do
    report(charge, not allowed)
  end
end

-- The key and the member that record that a receipt was settled. The key is key!done of the first account, a
-- sorted set: score = when the member may be forgotten, member = id@taken. A receipt of several accounts adds a
-- digest of the other keys.
function settled_place(id, taken_at, places, first)
  local name, others = id .. '@' .. text(taken_at), {}
  for i = first + 1, #places do
    others[#others + 1] = keys[places[i]]
  end
  if #others > 0 then
    name = name .. '!' .. sha1(table.concat(others, ' '))
  end
  return keys[places[first]] .. '!done', name
end

-- Decides a call with an id. The first place is that of its own key.
function judge_named(charges, places, question, charged, at_least)
  local key = keys[places[1]]
  local seen = recall(key, charged, charges)
  local known = seen and now < seen.ends
  local repeats = known and now < seen.repeated and (seen.allowed or seen.judged_at <= now)
  if known and seen.question ~= question then
    reply(ID_REUSED)
  elseif repeats and seen.charged == charged then
    reply(unpack(seen.reply))
  elseif repeats or (known and seen.allowed) then
    stand(seen.allowed, charges, places)
  else
    local first = filled + 1
    local allowed = judge(charges, places, 1)
    if allowed ~= nil and may_write then
      remember(key, question, charged, at_least, allowed, charges, first)
      local done, name = settled_place(sub(key, -CALL_DIGITS) .. question, now, places, 2)
      remembered_calls[key].done, remembered_calls[key].name = done, name
    end
  end
end

function write_remembered_calls()
  for key, each in pairs(remembered_calls) do
    call('SET', key, each.value, 'PX', text(each.millis))
    -- A call that was refunded and taken again in the same microsecond has the same receipt: make it valid
    -- again.
    on_set('ZREM', each.done, each.name)
  end
end

end
