-- Locks: an index of those of a partition, for lists; and word to all nodes of what ends a denial early.
--
-- Index:  s1:{tag}:locks, a sorted set; score = the end of the lock, member = rule:identity of the
--         account, with ! behind it if the rule is colocated
-- Word:   on the channel s1:gifts, + or - (colocated or not), then rule:identity
--
-- The index is shared by all accounts of a partition. While its slot moves to another node, the index
-- and an account can be on different nodes. If this node wrote to the index then, there would be two
-- of it, and Redis would not merge them. So before each write to it comes a command on both keys: Redis
-- refuses that unless both are here, or the slot does not move.

local lock_index = {}
local MOST_TRIMMED = 64 -- ended locks that a new one removes, so that its work is bounded

-- The parts of an account's key: what is up to the braces, + or nothing, rule:identity.
local function key_parts(key)
  return key:match('^([^}]*})(%+?):(.*)$')
end

local function index_of(key)
  local prefix, mark, name = key_parts(key)
  return prefix .. ':locks', mark == '+' and name .. '!' or name
end

-- Runs a command, but gives nil if a key of it may be on another node. Any other error is raised.
local function unless_away(...)
  local reply = redis.pcall(...)
  local fault = type(reply) == 'table' and reply.err
  if not fault then
    return reply
  elseif fault:find('non local key', 1, true) then
    return nil
  end
  return redis.call(...)
end

-- Runs a command on the index. A value of another type is not ours and is replaced.
local function on_index(command, index, ...)
  local reply = redis.pcall(command, index, ...)
  local fault = type(reply) == 'table' and reply.err
  if not fault then
    return reply
  elseif fault:find('WRONGTYPE', 1, true) then
    foreign = foreign + 1
    redis.call('DEL', index)
  end
  return redis.call(command, index, ...)
end

-- Whether the index can be written here: if not, a denial does not lock.
function lock_index.is_here(key)
  return unless_away('EXISTS', key, (index_of(key))) and true or false
end

-- Fails if the index cannot be written here, with an error after which the call is sent again.
function lock_index.demand(key)
  redis.call('EXISTS', key, (index_of(key)))
end

function lock_index.add(key, till, now)
  local index, member = index_of(key)
  on_index('ZADD', index, text(till), member)
  local ended = redis.call('ZCOUNT', index, '-inf', text(now))
  if ended > 0 then
    redis.call('ZREMRANGEBYRANK', index, 0, min(ended, MOST_TRIMMED) - 1)
  end
  local millis = ceil_div(till - now + SLACK, 1000)
  if redis.call('PTTL', index) < millis then
    redis.call('PEXPIRE', index, text(millis))
  end
end

function lock_index.remove(key)
  on_index('ZREM', index_of(key))
end

-- A node that may not use the channel goes on without it, as it says when it cannot subscribe.
local function announce_gift(key)
  local _, mark, name = key_parts(key)
  redis.pcall('PUBLISH', 's1:gifts', (mark == '+' and mark or '-') .. name)
end
