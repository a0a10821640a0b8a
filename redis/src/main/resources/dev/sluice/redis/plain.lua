-- Sluice: judges plain plans, any number of charges on token buckets and fixed windows.
--
-- KEYS   the accounts, plan by plan.
-- ARGV   now        microseconds to use as the clock, or 0 for Redis' own (the rule outside tests)
--        T          how many terms, then for each:
--                     pattern, shape   what its account's text looks like, to read and to write
--                     tag              of its bucket's rate, if the short form is used (see bucket.lua)
--                     locks            1 if a refusal locks
--                     L                how many limits, then for each:
--                       b, full, P, R      a bucket: what an empty one lacks, in units; see bucket.lua
--                       f, limit, length, 1    a window of rounds that are aligned to the epoch
--        groups     each: count, n, then n times terms and cost. A group is `count` plans of n
--                   charges, of the same terms and costs. It takes the next count * n keys.
-- Reply  {now, then for each plan: 1 allowed or 0 denied, and for each limit of each charge what is
--        used of it now (units a bucket lacks, calls in a window); or SLOW alone if the plan needs the
--        whole script, and nothing was done to it}

local match, fmod = string.match, math.fmod

local all_terms = {}
local a = 3
for t = 1, ARGV[2] do
  local terms = {
    pattern = ARGV[a], shape = ARGV[a + 1], tag = ARGV[a + 2], locks = ARGV[a + 3] == '1',
    most = {}, unit = {}, rate = {}, length = {}, start = {},
  }
  if digits ~= '%d' then
    terms.shape = terms.shape:gsub('%%d', digits)
  end
  local limits = tonumber(ARGV[a + 4])
  a = a + 5
  for i = 1, limits do
    terms.most[i] = tonumber(ARGV[a + 1])
    if ARGV[a] == 'b' then
      terms.unit[i], terms.rate[i] = tonumber(ARGV[a + 2]), tonumber(ARGV[a + 3])
    else
      local length = tonumber(ARGV[a + 2])
      terms.unit[i], terms.length[i], terms.start[i] = 1, length, now - fmod(now, length)
    end
    a = a + 4
  end
  terms.has_short_form = since >= 0 and since + terms.most[1] < LATEST
  all_terms[t] = terms
end

local values, is_foreign = find(1, #KEYS)

-- What is used of each limit of an account, then its terms (and later, whether it is to be written);
-- or false if that is not for this script to say.
local function read(value, terms)
  local limits = #terms.most
  if not value then
    local used = {}
    for i = 1, limits do
      used[i] = 0
    end
    used[limits + 1] = terms
    return not is_foreign and (terms.tag == '' or terms.has_short_form) and used
  end
  if terms.tag ~= '' then
    if sub(value, -4) ~= terms.tag or byte(value) > 57 or not terms.has_short_form then
      return false
    end
    local lacks = sub(value, 1, -5) - since
    return lacks <= terms.most[1] and {lacks < 0 and 0 or lacks, terms}
  end
  local used = {match(value, terms.pattern)} -- the numbers of the text, each replaced by what it says
  if not used[1] then
    return false
  end
  local f = 1
  for i = 1, limits do
    local length, rate = terms.length[i], terms.rate[i]
    if length then
      -- The round that the text tells of: start, end, used.
      if tonumber(used[f]) > now then
        return false
      end
      used[i] = tonumber(used[f + 1]) > terms.start[i] and tonumber(used[f + 2]) or 0
      f = f + 3
    else
      local left, units = used[f] - now, 0
      if rate > 1 then
        units = tonumber(used[f + 1])
        f = f + 1
      end
      used[i] = left < 0 and 0 or left * rate + units
      if used[i] > terms.most[i] or units >= rate then
        return false -- in debt, or shut
      end
      f = f + 1
    end
  end
  used[limits + 1], used[limits + 2] = terms, nil
  return used
end

local replies, accounts, written, terms_of = {now}, {}, {}, {}
local r, k = 1, 0
while ARGV[a] do
  local plans, n = tonumber(ARGV[a]), tonumber(ARGV[a + 1])
  local terms, cost = {}, {}
  for j = 1, n do
    terms[j], cost[j] = all_terms[tonumber(ARGV[a + 2 * j])], tonumber(ARGV[a + 2 * j + 1])
  end
  a = a + 2 + 2 * n
  for _ = 1, plans do
    local fits, is_slow, locks = true, false, false
    for j = 1, n do
      local its, key = terms[j], KEYS[k + j]
      local used = accounts[key]
      if used == nil then
        used = read(values[k + j], its)
        accounts[key] = used
      end
      if not used or used[#its.most + 1] ~= its then
        is_slow = true
        break
      end
      locks = locks or its.locks
      local most, unit, c = its.most, its.unit, cost[j]
      for i = 1, #most do
        if used[i] + c * unit[i] > most[i] then
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
        local its, key = terms[j], KEYS[k + j]
        local used, unit, c = accounts[key], its.unit, cost[j]
        for i = 1, #unit do
          if fits then
            used[i] = used[i] + c * unit[i]
          end
          r = r + 1
          replies[r] = used[i]
        end
        if fits and not used[#unit + 2] then
          used[#unit + 2] = true
          written[#written + 1] = key
          terms_of[#written] = its
        end
      end
    end
    k = k + n
  end
end

local numbers = {}
for w = 1, #written do
  local key, terms = written[w], terms_of[w]
  local used = accounts[key]
  local ends, text = 0, nil
  if terms.tag ~= '' then
    ends = now + used[1]
    text = format(digits, ends - EPOCH) .. terms.tag
  else
    local f = 0
    for i = 1, #terms.most do
      local length, rate = terms.length[i], terms.rate[i]
      local last
      if length then
        last = terms.start[i] + length
        numbers[f + 1], numbers[f + 2], numbers[f + 3] = terms.start[i], last, used[i]
        f = f + 3
      else
        local units = rate > 1 and fmod(used[i], rate) or 0
        last = now + (used[i] - units) / rate
        numbers[f + 1], numbers[f + 2] = last, units
        f = f + (rate > 1 and 2 or 1)
      end
      if last > ends then
        ends = last
      end
    end
    text = format(terms.shape, unpack(numbers, 1, f))
  end
  write(key, text, ends + 1 - EPOCH)
end
return replies
