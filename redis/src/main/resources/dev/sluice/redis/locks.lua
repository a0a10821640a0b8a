-- Locks: an index of the locks of a partition, for lists; and messages to all nodes about refunds.
--
-- Index:  s2:{tag}:locks, a sorted set; score = the end of the lock, member = rule:identity of the
--         account, with ! behind it if the rule is colocated
-- Notice: key!lock, "end reason&begin", while the lock lasts, for lists and for reads from a replica. The reason
--         is percent-encoded, so it has no & itself. The begin is that of the first of several locks that follow
--         each other without a gap; the row has that of the last one
-- Refund: a message on the channel s2:refunds: + or - (colocated or not), then rule:identity
--
-- All accounts of a partition share the index. While its slot moves to another node, the index and an
-- account can be on different nodes. A write to the index on this node would then create a second index,
-- which Redis would not merge. So each write to it follows a command on both keys: Redis refuses that
-- command if the slot moves and not both keys are here.

local MOST_TRIMMED = 64 -- expired members that one write removes at most

-- How long the lock of a row still lasts.
local function lock_left(row)
  local lock = row.lock
  if not lock or lock.till <= now then
    return 0
  end
  return min(lock.till - now, lock.till - lock.from)
end

-- The parts of the key of an account: up to the braces, + or nothing, rule:identity.
local function key_parts(key)
  return key:match('^([^}]*})(%+?):(.*)$')
end

local function index_of(key)
  local prefix, mark, name = key_parts(key)
  return prefix .. ':locks', mark == '+' and name .. '!' or name
end

-- Whether the index can be written on this node. If not, a denial does not lock.
local function has_index(key)
  return unless_away('EXISTS', key, (index_of(key))) and true or false
end

-- Fails if the index cannot be written on this node, with an error after which the call is sent again.
local function demand_index(key)
  call('EXISTS', key, (index_of(key)))
end

-- Adds a member to a set whose scores are expiry times, and removes some expired members. The set outlives the
-- member by `slack`.
local function keep_until(set, member, till, slack)
  on_set('ZADD', set, text(till), member)
  local ended = call('ZCOUNT', set, '-inf', text(now))
  if ended > 0 then
    call('ZREMRANGEBYRANK', set, 0, min(ended, MOST_TRIMMED) - 1)
  end
  local millis = ceil_div(till - now + slack, 1000)
  if call('PTTL', set) < millis then
    call('PEXPIRE', set, text(millis))
  end
end

-- Since when a row has been locked; now if it is not.
local function locked_since(row)
  if lock_left(row) == 0 then
    return now
  end
  local notice = try('GET', keys[row[PLACE]] .. '!lock')
  local since = type(notice) == 'string' and notice:match('&(%d+)$')
  return min(tonumber(since or now), row.lock.from, now)
end

local function announce_lock(row, reason, since)
  local till, key = row.lock.till, keys[row[PLACE]]
  local notice = text(till) .. ' ' .. reason .. '&' .. text(since)
  unless_away('SET', key .. '!lock', notice, 'PX', text(ceil_div(till - now, 1000) + 1000))
  local index, member = index_of(key)
  keep_until(index, member, till, SLACK)
end

local function withdraw_lock(key)
  unless_away('DEL', key .. '!lock')
  on_set('ZREM', index_of(key))
end

-- Announces a refund. If the user may not publish, nothing happens; the node logs that when it cannot
-- subscribe.
local function announce_refund(key)
  local _, mark, name = key_parts(key)
  try('PUBLISH', 's2:refunds', (mark == '+' and mark or '-') .. name)
end

-- Locks the account by the rule; longer if it was locked lately.
local function lock(row, terms)
  local before = row.lock
  local nth = before and now <= before.till + terms.lock_memory and before.nth + 1 or 1
  local length = terms.locks[min(nth, #terms.locks)]
  row.lock = {from = now, till = now + length, nth = nth, memory = terms.lock_memory}
  row.tail, row.odd = true, true
  announce_lock(row, terms.reason, now)
end

-- Removes a lock as if it had never been.
local function unlock(row)
  if row.lock then
    local nth, memory = row.lock.nth, row.lock.memory
    row.lock = nth > 1 and {from = now, till = now, nth = nth - 1, memory = memory} or nil
    withdraw_lock(keys[row[PLACE]])
    change(row)
    row.tail = true
  end
end
