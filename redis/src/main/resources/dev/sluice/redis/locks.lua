-- Locks: an index of those of a partition, for lists; and word to all nodes of what ends a denial early.
--
-- Index:  s2:{tag}:locks, a sorted set; score = the end of the lock, member = rule:identity of the
--         account, with ! behind it if the rule is colocated
-- Notice: key!lock, "end reason", while the lock lasts, for lists and for looks at a replica
-- Word:   on the channel s2:refunds, + or - (colocated or not), then rule:identity
--
-- The index is shared by all accounts of a partition. While its slot moves to another node, the index
-- and an account can be on different nodes. If this node wrote to the index then, there would be two
-- of it, and Redis would not merge them. So before each write to it comes a command on both keys: Redis
-- refuses that unless both are here, or the slot does not move.

local MOST_TRIMMED = 64 -- members that a new one removes, so that its work is bounded

-- The parts of an account's key: what is up to the braces, + or nothing, rule:identity.
local function key_parts(key)
  return key:match('^([^}]*})(%+?):(.*)$')
end

local function index_of(key)
  local prefix, mark, name = key_parts(key)
  return prefix .. ':locks', mark == '+' and name .. '!' or name
end

-- Whether the index can be written here: if not, a denial does not lock.
local function has_index(key)
  return unless_away('EXISTS', key, (index_of(key))) and true or false
end

-- Fails if the index cannot be written here, with an error after which the call is sent again.
local function demand_index(key)
  call('EXISTS', key, (index_of(key)))
end

-- Adds a member to a set whose scores say when each may go, and removes some that may. The set outlives
-- the member by `slack`.
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

local function announce_lock(row, reason)
  local till, key = row.lock.till, keys[row[PLACE]]
  unless_away('SET', key .. '!lock', text(till) .. ' ' .. reason, 'PX', text(ceil_div(till - now, 1000) + 1000))
  local index, member = index_of(key)
  keep_until(index, member, till, SLACK)
end

local function withdraw_lock(key)
  unless_away('DEL', key .. '!lock')
  on_set('ZREM', index_of(key))
end

-- A node that may not use the channel goes on without it, as it says when it cannot subscribe.
local function announce_refund(key)
  local _, mark, name = key_parts(key)
  try('PUBLISH', 's2:refunds', (mark == '+' and mark or '-') .. name)
end

-- Locks for what a call has done, longer if that happened lately.
local function lock(row, terms)
  local before = row.lock
  local nth = before and now <= before.till + terms.lock_memory and before.nth + 1 or 1
  local length = terms.locks[min(nth, #terms.locks)]
  row.lock = {from = now, till = now + length, nth = nth, memory = terms.lock_memory}
  row.tail, row.odd = true, true
  announce_lock(row, terms.reason)
end

-- Takes back a lock as if it had never been.
local function unlock(row)
  if row.lock then
    local nth, memory = row.lock.nth, row.lock.memory
    row.lock = nth > 1 and {from = now, till = now, nth = nth - 1, memory = memory} or nil
    withdraw_lock(keys[row[PLACE]])
    change(row)
    row.tail = true
  end
end
