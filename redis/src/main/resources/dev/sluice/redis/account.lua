-- Account: what happens to one, by the clock and by its terms. How it is written: form.lua.
--
-- Time never runs backwards: an account knows the earliest moment that could have written it, and
-- while the clock shows less, that moment stands still. State from further ahead than the account's
-- memory is set aside and the strictest state of the present takes its place; it returns when the
-- clock comes within one memory of its time. If the present has used anything by then, the strictest
-- state of that time returns instead: both together might be too much.

local SLACK_MILLIS = SLACK / 1000

-- How long the state of these terms can matter.
local function horizon(terms, now)
  local longest = terms.memory
  for _, limit in ipairs(terms.calendar) do
    local start, finish = round(limit, now)
    longest = max(longest, finish - start)
  end
  return longest
end

-- Writes an account that has changed, with a TTL that outlives what it remembers.
local function flush(account, now)
  local terms, lock = account.terms, account.lock
  if account.log_written then
    local left = ceil_div(max(0, log.not_before(account) - now) + terms.log_memory, 1000)
    redis.call('PEXPIRE', account.log_key, text(left + SLACK_MILLIS))
    account.log_written = nil
  end
  if not account.changed then
    return
  end
  account.changed = nil
  local value = write(account)
  if value == '' then
    if account.is_written then
      redis.call('DEL', account.key)
      account.is_written = false
    end
    return
  end
  local ends = now
  if lock then
    ends = max(ends, lock.till + lock.memory)
  end
  if terms then
    for i, limit in ipairs(terms.counted) do
      ends = max(ends, KINDS[limit.kind].ends(limit, account.tallies[i]))
    end
    ends = max(ends, account.full_since + terms.memory)
    ends = account.aside and max(ends, account.aside + horizon(terms, now)) or ends
  end
  local stays = ends + SLACK - EPOCH
  local millis = ceil_div(stays - stays % GRAIN + GRAIN + EPOCH - now, 1000)
  if not terms and account.is_written then
    millis = max(millis, redis.call('PTTL', account.key))
  end
  redis.call('SET', account.key, value, 'PX', text(millis))
  account.is_written = true
  if account.aside_written then
    redis.call('PEXPIRE', account.key .. '!aside', text(millis))
    redis.call('PEXPIRE', account.key .. '!log!aside', text(millis))
    account.aside_written = nil
  end
end

-- Takes an account out of the terms it was brought under.
local function leave_terms(account, now)
  if account.terms then
    flush(account, now)
    account.terms = nil
  end
end

-- Forgets what this call has learnt of an account; what it changed is written.
local function forget(account)
  accounts[account.key] = nil
end

-- Gives each limit its tally: the one with its parameters, else one of its kind, else a fresh one.
local function match(account, terms)
  local left, found, leftover = account.tallies, {}, {}
  for i, limit in ipairs(terms.counted) do
    for j, tally in ipairs(left) do
      if tally.kind == limit.kind and not leftover[j]
        and KINDS[limit.kind].same(limit, tally) then
        found[i], leftover[j] = tally, true
        break
      end
    end
  end
  local changes = {}
  for i, limit in ipairs(terms.counted) do
    if not found[i] then
      for j, tally in ipairs(left) do
        if tally.kind == limit.kind and not leftover[j] then
          found[i], leftover[j], changes[i] = tally, true, true
          break
        end
      end
    end
  end
  for j = 1, #left do
    account.converted = account.converted or not leftover[j]
  end
  return found, changes
end

-- The earliest moment that could have written the tallies that were found.
local function earliest(account, terms, found, changes)
  local moment = terms.has_log and log.not_before(account) or 0
  for i, limit in ipairs(terms.counted) do
    local tally = found[i]
    if tally and changes[i] and tally.kind == 'b' then
      moment = max(moment, tally.indebted_at)
    elseif tally then
      moment = max(moment, KINDS[limit.kind].not_before(limit, tally))
    end
  end
  return moment
end

local function later(a, b)
  if not a or not b then
    return a or b
  end
  return a.till >= b.till and a or b
end

-- Whether everything that its tallies counted has come back, or was never taken from a bucket that is
-- shut.
local function is_back(account, now)
  for _, tally in ipairs(account.tallies) do
    local used
    if tally.kind == 'b' then
      used = bucket.coming(tally, tally, now) > 0 and not bucket.is_shut(tally, tally)
    elseif tally.kind == 'f' then
      used = tally.start > now or (tally.used > 0 and tally.finish > now)
    else
      used = parts.not_before(nil, tally) > now or parts.reset_after(tally, tally, now) > 0
    end
    if used then
      return false
    end
  end
  return true
end

-- Whether the present has nothing to tell: all has come back, the log after the given memory.
local function is_untouched(account, memory, now)
  local newest = is_back(account, now) and log.not_before(account)
  return newest and (newest == 0 or newest <= now - memory)
end

-- The strictest state of a moment, in place of all that is known.
local function fill(account, terms, moment)
  account.full_since = terms.has_log and moment or 0
  account.newest, account.log_hidden, account.converted = 0, true, true
  account.tallies = {}
  for i, limit in ipairs(terms.counted) do
    account.tallies[i] = KINDS[limit.kind].full(limit, moment)
  end
end

-- Brings an account to a moment and under terms. Writes nothing by itself.
local function at(account, terms, now)
  if account.terms == terms then
    return
  end
  leave_terms(account, now)
  local memory = horizon(terms, now)
  if account.aside and now >= account.aside - memory then
    local lock, moment = account.lock, account.aside
    local untouched = is_untouched(account, memory, now)
    account.lock, account.aside = nil, nil
    read(account, (get(account.key .. '!aside')))
    account.lock = later(lock, account.lock)
    if untouched then
      account.log_key, account.newest = account.key .. '!log!aside', nil
      account.restored, account.converted = true, true
    else
      fill(account, terms, moment)
      account.drops_aside = true
    end
  end
  local found, changes = match(account, terms)
  local moment = earliest(account, terms, found, changes)
  if moment > now and moment - memory > now then
    if not (account.aside and account.aside > moment) then
      local lock, aside = account.lock, account.aside
      account.aside, account.terms = nil, nil
      account.set_aside = write(account)
      account.lock, account.aside = lock, aside
      account.aside = moment
    end
    local lock = account.lock
    if lock and lock.from > now then
      account.lock = {
        from = now, till = now + lock.till - lock.from, nth = lock.nth, memory = lock.memory,
      }
    end
    fill(account, terms, now)
    found, changes, moment = account.tallies, {}, now
  end
  local effective = max(now, moment)
  for i, limit in ipairs(terms.counted) do
    if changes[i] then
      found[i] = KINDS[limit.kind].under(limit, found[i], effective)
      account.converted = true
    elseif not found[i] then
      found[i] = KINDS[limit.kind].fresh(limit)
    end
  end
  account.tallies, account.terms = found, terms
  account.effective = max(now, earliest(account, terms, found, {}))
  for _, limit in ipairs(terms.calendar) do
    round(limit, account.effective) -- asks for the round now if it is not there
  end
end

-- Does what `at` put off: moves books aside or back. Called before an account is changed.
local function commit(account)
  local key = account.key
  account.changed = account.changed or account.converted
  account.converted = nil
  if account.set_aside then
    redis.call('SET', key .. '!aside', account.set_aside)
    if redis.call('EXISTS', account.log_key) == 1 then
      redis.call('RENAME', account.log_key, key .. '!log!aside')
    else
      redis.call('DEL', key .. '!log!aside')
    end
    account.set_aside, account.aside_written = nil, true
  elseif account.log_hidden then
    redis.call('DEL', account.log_key)
  elseif account.restored then
    redis.call('DEL', key .. '!aside')
    if redis.call('EXISTS', account.log_key) == 1 then
      redis.call('RENAME', account.log_key, key .. '!log')
    else
      redis.call('DEL', key .. '!log')
    end
  end
  if account.drops_aside then
    redis.call('DEL', key .. '!aside', key .. '!log!aside')
  end
  account.log_key = key .. '!log'
  account.log_hidden, account.restored, account.drops_aside = nil, nil, nil
end

local function lock_left(account, now)
  local lock = account.lock
  if not lock or lock.till <= now then
    return 0
  end
  return min(lock.till - now, lock.till - lock.from)
end

local function relock(account, lock)
  account.lock, account.changed = lock, true
end

local function announce_lock(account, now, reason)
  local lock = account.lock
  unless_away('SET', account.key .. '!lock', text(lock.till) .. ' ' .. reason, 'PX',
    text(ceil_div(lock.till - now, 1000) + 1000))
  lock_index.add(account.key, lock.till, now)
end

-- How long until a cost fits at the i-th limit, were it not for the lock.
local function retry_after(account, i, now, cost)
  local limit = account.terms.limits[i]
  local effective = account.effective
  local wait
  if limit.kind == 'l' then
    wait = log.retry_after(account, limit, effective, cost)
  else
    wait = KINDS[limit.kind].retry_after(limit, account.tallies[limit.place], effective, cost)
  end
  return wait <= 0 and wait or wait + effective - now
end

-- Whether every limit has room; whether one is overdrawn by a cost that would fit another time.
local function room(account, now, cost)
  local over, never = false, false
  for i = 1, #account.terms.limits do
    local wait = retry_after(account, i, now, cost)
    never = never or wait == NEVER
    over = over or wait > 0
  end
  return not over and not never, over and not never
end

-- Counts a cost; `manner` is plus, recording or knocking, `name` is the call's in a log.
local function count(account, cost, manner, name)
  local terms, effective = account.terms, account.effective
  for i, limit in ipairs(terms.counted) do
    account.tallies[i] = KINDS[limit.kind][manner](limit, account.tallies[i], effective, cost)
  end
  if terms.has_log then
    log.add(account, effective, cost, name, effective - terms.log_memory, terms.log_most, manner ~= 'plus')
  end
  account.changed = true
  if effective > now then -- what was in debt may not be any more, under a larger limit
    account.effective = max(now, earliest(account, terms, account.tallies, {}))
  end
end
