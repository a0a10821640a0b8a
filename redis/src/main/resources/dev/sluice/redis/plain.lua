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
local argv, keys, since = ARGV, KEYS, now - EPOCH
local SLACKS = GRAIN / SLACK -- in a GRAIN

local all_terms = {}
local a = 3
for t = 1, argv[2] do
  local terms = {
    head = argv[a], behind = #argv[a] + 1, offset = #argv[a] .. '', form = argv[a + 1],
    tag = argv[a + 2] ~= '' and argv[a + 2], locks = argv[a + 3] == '1', limits = argv[a + 4] + 0,
    low = {}, high = {}, unit = {}, R = {}, grain = {},
    ends = 0, -- when the last of its rounds ends, after EPOCH
    is_slow = since < 1, size = 0,
  }
  a = a + 5
  for i = 1, terms.limits do
    local most, third, fourth = argv[a + 1] + 0, argv[a + 2] + 0, argv[a + 3] + 0
    if argv[a] == 'b' then
      terms.unit[i], terms.low[i], terms.R[i], terms.grain[i] = third, since * fourth, fourth, GRAIN * fourth
    else
      local start = now - now % third
      terms.unit[i], terms.low[i], terms.R[i], terms.grain[i] = 1, start / third * fourth, false, false
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
  if not (terms.tag or terms.is_slow) then
    terms.size = #terms.head + 8 * terms.limits
  end
  all_terms[t] = terms
end

local values = call('MGET', unpack(keys))

-- The numbers of an account that is not packed, or false if that is not for this script to say.
local function read(key, value, terms)
  if terms.is_slow then
    return false
  elseif value then
    local full_at = terms.tag and sub(value, -4) == terms.tag and find(value, '^[1-9]%d*$')
      and tonumber(sub(value, 1, -5))
    return full_at and {full_at, full_at} -- as it will be, and as it was
  elseif call('EXISTS', key) > 0 then
    return false -- MGET finds nothing where a value is of another type
  end
  local numbers = {}
  for i = 1, terms.limits do
    numbers[i] = 0
  end
  return numbers
end

-- By where an account's key stands first: its numbers, its terms, whether it is written, and anew.
local places, numbers_at, terms_at, is_written, renews = {}, {}, {}, {}, {}
local replies, r, k = {now}, 1, 0
while argv[a] do
  local plans, n = argv[a] + 0, argv[a + 1] + 0
  local terms, adding, locks = {}, {}, false
  for j = 1, n do
    local its, cost, adds = all_terms[argv[a + 2 * j] + 0], argv[a + 2 * j + 1] + 0, {}
    for i = 1, its.limits do
      adds[i] = its.unit[i] * cost
    end
    terms[j], adding[j] = its, adds
    locks = locks or its.locks
  end
  a = a + 2 + 2 * n
  for _ = 1, plans do
    local fits, is_slow, at, judged = true, false, r + 1, 0
    for j = 1, n do
      local its, adds, key = terms[j], adding[j], keys[k + j]
      local place, numbers = places[key], nil
      if not place then
        place = k + j
        local value = values[place]
        if value and #value == its.size and find(value, its.head, 1, true) == 1 then
          numbers = {unpack_from(its.form, value, its.behind)}
        else
          numbers = read(key, value, its)
        end
        places[key], numbers_at[place], terms_at[place] = place, numbers, its
      else
        numbers = terms_at[place] == its and numbers_at[place]
      end
      if not numbers then
        is_slow = true
        break
      end
      judged = j
      -- As if it fitted; if not, it is taken back below.
      local low, high, grain = its.low, its.high, its.grain
      for i = 1, its.limits do
        local number, least, add = numbers[i], low[i], adds[i]
        if number < least then
          number, renews[place] = least, true
        end
        number = number + add
        if not (number <= high[i]) then
          fits = false
          is_slow = is_slow or not (number - add <= high[i]) -- in debt, or from ahead of the clock
        end
        local each = grain[i]
        if each and add > (number + each / SLACKS) % each and number / its.R[i] > its.ends then
          renews[place] = true -- the TTL that it has may be too short
        end
        numbers[i] = number
        at = at + 1
        replies[at] = number - least
      end
    end
    is_slow = is_slow or (locks and not fits)
    r = r + 1
    replies[r] = is_slow and SLOW or fits and 1 or 0
    if fits and not is_slow then
      r = at
      for j = 1, n do
        is_written[places[keys[k + j]]] = true
      end
    else
      at = r
      for j = 1, judged do
        local numbers, adds = numbers_at[places[keys[k + j]]], adding[j]
        for i = 1, terms[j].limits do
          numbers[i] = numbers[i] - adds[i]
          at = at + 1
          replies[at] = not is_slow and replies[at] - adds[i] or nil
        end
      end
      r = is_slow and r or at
    end
    k = k + n
  end
end

for place = 1, #keys do
  if is_written[place] then
    local key, numbers, terms = keys[place], numbers_at[place], terms_at[place]
    if renews[place] then
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
      call('INCRBY', key, format('%.0f0000', numbers[1] - numbers[2]))
    else
      call('SETRANGE', key, terms.offset, pack(terms.form, unpack(numbers, 1, terms.limits)))
    end
  end
end
return replies
