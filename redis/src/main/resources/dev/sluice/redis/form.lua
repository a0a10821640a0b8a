-- Form: how an account, the state of one rule for one identity, is written under its key.
--
-- Text:   the parts that are there, joined by ';'
--   Lfrom,until,nth,memory   the lock: when it began, when it ends, the how many-th in a row it is,
--                      and how long after its end it is remembered
--   Amoment            other books are set aside under key!aside (and key!log!aside), written no
--                      earlier than that moment
--   lmoment            the sliding logs count as full since that moment
--   b… f… s…           one tally for each limit, in the order of the rule (see bucket, window, parts)
-- or a single whole number: see bucket.lua. Times are microseconds since the epoch.
-- Packed: buckets and windows alone, without debt, lock and the like, are a head that says what they
-- are, and one number for each, a double of eight bytes with the lowest first:
--   #b36000000/1;f1h,3600000000,10000# then numbers: see bucket and window
-- Beside it: key!log (see log.lua); key!lock, "until reason", while the lock lasts, for those who
-- list locks or look at a replica (see also locks.lua); key!done!ID@TAKEN, a receipt that was settled
-- (with ! and a digest of its other accounts' keys, if it has any). Calls with an id, and what they
-- hold: see take.lua. Every key has a TTL.

local KINDS = {b = bucket, f = window, s = parts}

local accounts = {} -- those this call has looked at, by key
local foreign = 0 -- values under our keys that were not ours

-- The string under a key. A value of another type is not ours: it counts as none and is replaced.
local function get(key)
  local value = redis.pcall('GET', key)
  if type(value) ~= 'table' then
    return value or nil, false
  end
  if not value.err:find('WRONGTYPE', 1, true) then
    redis.call('GET', key) -- no right to, or the slot is on its way: raises that error
  end
  foreign = foreign + 1
  return nil, true
end

-- Whether arithmetic can bear what a tally says: a number too large would end in no TTL at all.
local function is_sane(tally)
  local ends = tally and KINDS[tally.kind].ends(tally, tally)
  return ends and ends >= 0 and ends <= EXACT
end

-- The tallies of a packed account, or nil if it is not ours.
local function read_packed(value)
  local head = value:match('^#([^#]*)#') or ''
  local place, tallies = #head + 3, {}
  for part in head:gmatch('[^;]+') do
    local unpacked = (KINDS[part:sub(1, 1)] or {}).unpacked
    local number = #value >= place + 7 and struct.unpack('<d', value, place)
    local is_whole = number and number >= 0 and number <= EXACT and fmod(number, 1) == 0
    local tally = unpacked and is_whole and unpacked(part, number)
    if not is_sane(tally) then
      return nil
    end
    tallies[#tallies + 1], place = tally, place + 8
  end
  return place == #value + 1 and #tallies > 0 and tallies or nil
end

-- The packed form, or nil if an account needs the long one.
local function write_packed(account)
  local terms, numbers = account.terms, {}
  for i, limit in ipairs(terms.counted) do
    local number = KINDS[limit.kind].packed(limit, account.tallies[i])
    if not number or number > EXACT then
      return nil
    end
    numbers[i] = number
  end
  return terms.head .. struct.pack('<' .. ('d'):rep(#numbers), unpack(numbers))
end

-- A whole number that is a moment, or nil.
local function moment_of(digits)
  return digits:find('^%d+$') and tonumber(digits)
end

local TOO_LONG = ('%d'):rep(17) -- no number of ours has that many digits

local function read(account, value)
  account.tallies = {}
  account.full_since = 0
  if not value then
    return
  end
  local first = value:byte() or 0
  if first == 0 then
    foreign = foreign + 1
    return
  elseif first >= 48 and first <= 57 then
    local tally = bucket.read_short(value)
    account.tallies[1] = is_sane(tally) and tally or nil
    foreign = foreign + (account.tallies[1] and 0 or 1)
    return
  elseif first == 35 then
    local tallies = read_packed(value)
    account.tallies = tallies or {}
    foreign = foreign + (tallies and 0 or 1)
    return
  end
  local too_long = value:find(TOO_LONG)
  for part in value:gmatch('[^;]+') do
    local letter = part:sub(1, 1)
    local ours
    if too_long then
      ours = nil
    elseif KINDS[letter] then
      ours = KINDS[letter].read(part)
      ours = is_sane(ours) and ours
      account.tallies[#account.tallies + 1] = ours
    elseif letter == 'L' then
      local from, till, nth, memory = part:match('^L(%d+),(%d+),(%d+),(%d+)$')
      ours = from
      account.lock = from and {
        from = tonumber(from), till = tonumber(till), nth = tonumber(nth), memory = tonumber(memory),
      }
    elseif letter == 'A' or letter == 'l' then
      ours = moment_of(part:sub(2))
      account[letter == 'A' and 'aside' or 'full_since'] = ours
    end
    if not ours then
      foreign = foreign + 1
      account.tallies, account.full_since, account.lock, account.aside = {}, 0, nil, nil
      return
    end
  end
end

local function load(key, value)
  local account = {key = key, log_key = key .. '!log', is_written = value and true or false}
  read(account, value)
  accounts[key] = account
  return account
end

local function write(account)
  local written = {}
  if account.lock then
    local lock = account.lock
    written[1] = 'L' .. text(lock.from) .. ',' .. text(lock.till) .. ',' .. text(lock.nth) .. ','
      .. text(lock.memory)
  end
  if account.aside then
    written[#written + 1] = 'A' .. text(account.aside)
  end
  if account.full_since ~= 0 then
    written[#written + 1] = 'l' .. text(account.full_since)
  end
  local terms = account.terms
  if terms and #written == 0 then
    local limit = terms.counted[1]
    local brief
    if terms.head then
      brief = write_packed(account)
    elseif #terms.counted == 1 and limit.kind == 'b' then
      brief = bucket.short(limit, account.tallies[1])
    end
    if brief then
      return brief
    end
  end
  for _, tally in ipairs(account.tallies) do
    written[#written + 1] = KINDS[tally.kind].write(nil, tally)
  end
  return table.concat(written, ';')
end
