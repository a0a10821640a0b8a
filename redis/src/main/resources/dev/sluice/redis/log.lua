-- Sliding log: at most `limit` in any `window`, exact to the microsecond.
--
-- A sorted set beside the account's string, under the same key with !log behind it: score = the
-- moment (microseconds), member = the call's name. A call of cost c is c members: the name, and the
-- name with a unit separator (0x1F) and a number, 2 to c. All logs of an account share the set: a shorter
-- window looks at the end of a longer one. `full_since` stands in the account's string: the log
-- counts as full for one window from that moment (after a clock came back from far ahead).

local log = {}

local function log_call(...)
  local reply = redis.pcall(...)
  if type(reply) == 'table' and reply.err then
    if reply.err:find('WRONGTYPE', 1, true) then
      return nil
    end
    return redis.call(...) -- raises the same error
  end
  return reply
end

function log.not_before(account)
  if not account.newest then
    local reply = log_call('ZRANGE', account.log_key, -1, -1, 'WITHSCORES')
    local newest = reply and tonumber(reply[2] or 0) or -1
    account.foreign_log = not (newest >= 0 and newest <= EXACT)
    account.newest = account.foreign_log and 0 or newest
  end
  return max(account.newest, account.full_since)
end

local function is_full(account, limit, now)
  return account.full_since ~= 0 and account.full_since > now - limit.W
end

local function used(account, limit, now)
  if account.newest == 0 then
    return 0
  end
  return redis.call('ZCOUNT', account.log_key, '(' .. text(now - limit.W), '+inf')
end

function log.retry_after(account, limit, now, cost)
  if cost > limit.limit then
    return NEVER
  end
  local opens = is_full(account, limit, now) and account.full_since + limit.W - now or 0
  local over = used(account, limit, now) + cost - limit.limit
  if over <= 0 then
    return opens
  end
  local leaving = redis.call('ZRANGEBYSCORE', account.log_key, '(' .. text(now - limit.W), '+inf',
    'WITHSCORES', 'LIMIT', over - 1, 1)
  return max(opens, tonumber(leaving[2]) + limit.W - now)
end

function log.remaining(account, limit, now)
  return is_full(account, limit, now) and 0 or max(0, limit.limit - used(account, limit, now))
end

function log.reset_after(account, limit, now)
  local newest = log.not_before(account)
  return newest == 0 and 0 or max(0, newest + limit.W - now)
end

local LONGEST_MADE_ID = 13

-- The name of a call in the log, by the id of its receipt and the moment at which it was counted. An
-- id that was made for one call is a name. A longer one stands for an id that the caller chose: once
-- that is forgotten it may come again while its first call is still in the log.
function log.name(id, moment)
  return #id > LONGEST_MADE_ID and id .. '@' .. text(moment) or id
end

-- Forgets so many of the oldest members; members of one moment have no order, so the newest call is
-- spared by its name.
local function forget_oldest(account, name, cost, excess)
  if excess <= 0 then
    return
  end
  local newest = {[name] = true}
  for i = 2, cost do
    newest[name .. '\31' .. i] = true
  end
  for _, member in ipairs(redis.call('ZRANGE', account.log_key, 0, excess + cost - 1)) do
    if excess > 0 and not newest[member] then
      redis.call('ZREM', account.log_key, member)
      excess = excess - 1
    end
  end
end

function log.add(account, now, cost, name, since, most, trims)
  if account.foreign_log then
    redis.call('DEL', account.log_key)
    account.foreign_log = false
  elseif account.newest ~= 0 then
    redis.call('ZREMRANGEBYSCORE', account.log_key, '-inf', text(since))
  end
  local score = text(now)
  cost = min(cost, most)
  local members = {score, name}
  for i = 2, cost do
    members[#members + 1] = score
    members[#members + 1] = name .. '\31' .. i
    if #members >= 4000 then
      redis.call('ZADD', account.log_key, unpack(members))
      members = {}
    end
  end
  if #members > 0 then
    redis.call('ZADD', account.log_key, unpack(members))
  end
  if trims then
    forget_oldest(account, name, cost, redis.call('ZCARD', account.log_key) - most)
  end
  account.newest = now
  account.log_written = true
end

function log.remove(account, name, cost, back)
  for i = cost, max(1, cost - back + 1), -1 do
    redis.call('ZREM', account.log_key, i == 1 and name or name .. '\31' .. i)
  end
  account.newest = nil
  account.log_written = true
end
