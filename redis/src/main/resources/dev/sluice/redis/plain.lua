-- Sluice: judges plain plans, any number of charges on token buckets and fixed windows.
--
-- KEYS   the accounts, plan by plan.
-- ARGV   now        microseconds to use as the clock, or 0 for Redis' own (the rule outside tests)
--        T          how many terms, then for each:
--                     head, form       of its account's packed form: see form.lua
--                     tag              of its bucket's rate, if the short form is used (see bucket.lua)
--                     locks            1 if a refusal locks
--                     L                how many limits, then for each:
--                       b, full, P, R           a bucket: what an empty one lacks, in units
--                       f, limit, length, base  a window of rounds that are aligned to the epoch
--        groups     each: count, n, then n times terms and cost. A group is `count` plans of n
--                   charges, of the same terms and costs. It takes the next count * n keys.
-- Reply  {now, then for each plan: 1 allowed or 0 denied, and for each limit of each charge what is
--        used of it now (units a bucket lacks, calls in a window); or SLOW alone if the plan needs the
--        whole script, and nothing was done to it}
--
-- An account is one number for each limit, as it is packed. At a moment, such a number is at least
-- `low`, where nothing is used, and a call fits if what it adds leads no further than `high`.

local call, find, sub, format = redis.call, string.find, string.sub, string.format
local pack, unpack_from = struct.pack, struct.unpack
local since = now - EPOCH

local all_terms = {}
local a = 3
for t = 1, ARGV[2] do
  local limits = tonumber(ARGV[a + 4])
  local terms = {
    head = ARGV[a], offset = #ARGV[a], size = #ARGV[a] + 8 * limits, form = ARGV[a + 1],
    tag = ARGV[a + 2] ~= '' and ARGV[a + 2], locks = ARGV[a + 3] == '1', limits = limits,
    low = {}, high = {}, unit = {}, R = {},
    ends = 0, -- when the last of its rounds ends, after EPOCH
    is_slow = since < 1,
  }
  a = a + 5
  for i = 1, limits do
    local most, third, fourth = tonumber(ARGV[a + 1]), tonumber(ARGV[a + 2]), tonumber(ARGV[a + 3])
    if ARGV[a] == 'b' then
      terms.unit[i], terms.R[i], terms.low[i] = third, fourth, since * fourth
    else
      local start = now - now % third
      terms.unit[i], terms.low[i] = 1, start / third * fourth
      if start + third - EPOCH > terms.ends then
        terms.ends = start + third - EPOCH
      end
    end
    terms.high[i] = terms.low[i] + most
    if terms.high[i] > (terms.tag and LATEST or EXACT) then
      terms.is_slow = true
    end
    a = a + 4
  end
  all_terms[t] = terms
end

local values = call('MGET', unpack(KEYS))

-- The numbers of an account, or false if that is not for this script to say.
local function read(key, value, terms)
  local numbers
  if terms.is_slow then
    return false
  elseif not value then
    if call('EXISTS', key) > 0 then
      return false -- MGET finds nothing where a value is of another type
    end
    numbers = {}
    for i = 1, terms.limits do
      numbers[i] = 0
    end
  elseif terms.tag then
    local full_at = sub(value, -4) == terms.tag and find(value, '^[1-9]%d*$') and tonumber(sub(value, 1, -5))
    if not full_at then
      return false
    end
    numbers = {full_at, was = full_at}
  elseif #value == terms.size and sub(value, 1, terms.offset) == terms.head then
    numbers = {unpack_from(terms.form, value, terms.offset + 1)}
  else
    return false
  end
  local low, high = terms.low, terms.high
  for i = 1, terms.limits do
    if numbers[i] < low[i] then
      numbers[i], numbers.renews = low[i], true
    elseif not (numbers[i] <= high[i]) then
      return false -- in debt, or from ahead of the clock
    end
  end
  numbers.terms = terms
  return numbers
end

local replies, accounts, written = {now}, {}, {}
local r, k = 1, 0
while ARGV[a] do
  local plans, n = tonumber(ARGV[a]), tonumber(ARGV[a + 1])
  local terms, adding, locks = {}, {}, false
  for j = 1, n do
    local its, cost = all_terms[tonumber(ARGV[a + 2 * j])], tonumber(ARGV[a + 2 * j + 1])
    terms[j], adding[j] = its, {}
    for i = 1, its.limits do
      adding[j][i] = its.unit[i] * cost
    end
    locks = locks or its.locks
  end
  a = a + 2 + 2 * n
  for _ = 1, plans do
    local fits, is_slow = true, false
    for j = 1, n do
      local its, key = terms[j], KEYS[k + j]
      local numbers = accounts[key]
      if numbers == nil then
        numbers = read(key, values[k + j], its)
        accounts[key] = numbers
      end
      if not numbers or numbers.terms ~= its then
        is_slow = true
        break
      end
      local high, add = its.high, adding[j]
      for i = 1, its.limits do
        if numbers[i] + add[i] > high[i] then
          fits = false
        end
      end
    end
    r = r + 1
    if is_slow or (locks and not fits) then
      replies[r] = SLOW
    else
      replies[r] = fits and 1 or 0
      for j = 1, n do
        local its, key, add = terms[j], KEYS[k + j], adding[j]
        local numbers, low, R, ends = accounts[key], its.low, its.R, its.ends
        for i = 1, its.limits do
          local number = numbers[i]
          if fits then
            number = number + add[i]
            numbers[i] = number
            local full_at = R[i] and number / R[i]
            if full_at and full_at > ends and add[i] / R[i] > (full_at + SLACK) % GRAIN then
              numbers.renews = true -- the TTL that it has may be too short
            end
          end
          r = r + 1
          replies[r] = number - low[i]
        end
        if fits and not numbers.key then
          numbers.key = key
          written[#written + 1] = numbers
        end
      end
    end
    k = k + n
  end
end

for w = 1, #written do
  local numbers = written[w]
  local terms, key = numbers.terms, numbers.key
  if numbers.renews then
    local ends = terms.ends
    for i = 1, terms.limits do
      if terms.R[i] and numbers[i] / terms.R[i] > ends then
        ends = numbers[i] / terms.R[i]
      end
    end
    local stays = ends + SLACK
    local millis = (stays - stays % GRAIN + GRAIN + EPOCH - now) / 1000
    local text = terms.tag and format('%.0f', numbers[1]) .. terms.tag
      or terms.head .. pack(terms.form, unpack(numbers, 1, terms.limits))
    call('SET', key, text, 'PX', format('%.0f', millis))
  elseif terms.tag then
    call('INCRBY', key, format('%.0f0000', numbers[1] - numbers.was))
  else
    call('SETRANGE', key, terms.offset, pack(terms.form, unpack(numbers, 1, terms.limits)))
  end
end
return replies
