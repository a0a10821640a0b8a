-- Sliding window: at most `limit` in any `window`, counted in parts of `precision` microseconds.
--
-- A part counts in full while any moment of it lies within the window, so the bound is strict and a
-- slot comes back up to one precision late.
--
-- Text:   sprecision/window,total,part,count,older
-- `part` and `count` are the newest part (its start divided by the precision) and what it counted,
-- `older` the others that counted anything, oldest first, as part:count with a blank after each.
-- `total` is the sum of all, also of parts that have left the window since. A call touches the two
-- ends of that text and no more, so its work does not grow with the number of parts.

local parts = {}
local MOST_PARTS = 3602 -- 3600 in a window, and one at either end

local function parts_of(limit, total, part, count, older)
  return {
    kind = 's', p = limit.p, W = limit.W, total = total, part = part, count = count, older = older,
  }
end

function parts.fresh(limit)
  return parts_of(limit, 0, 0, 0, '')
end

function parts.full(limit, now)
  return parts_of(limit, limit.limit, div(now, limit.p), limit.limit, '')
end

-- The oldest part that still counts.
local function oldest_part(limit, now)
  local moment = now - limit.W + 1
  return moment < 0 and -1 or div(moment, limit.p)
end

-- The same tally without the parts that have left the window.
local function live(limit, tally, now)
  local oldest = oldest_part(limit, now)
  if tally.count == 0 or tally.part < oldest then
    return parts.fresh(limit)
  end
  local older, total = tally.older, tally.total
  while older ~= '' do
    local part, count, rest = older:match('^(%d+):(%d+) (.*)$')
    if tonumber(part) >= oldest then
      break
    end
    older, total = rest, total - tonumber(count)
  end
  return parts_of(limit, total, tally.part, tally.count, older)
end

-- The newest counts that make up at most so much: older ones could not change a decision.
local function at_most(limit, tally, most)
  local excess = tally.total - most
  if excess <= 0 then
    return tally
  end
  local older = tally.older
  while excess > 0 and older ~= '' do
    local part, count, rest = older:match('^(%d+):(%d+) (.*)$')
    count = tonumber(count)
    if count <= excess then
      older, excess = rest, excess - count
    else
      older, excess = part .. ':' .. text(count - excess) .. ' ' .. rest, 0
    end
  end
  return parts_of(limit, most, tally.part, tally.count - excess, older)
end

local function adding(limit, tally, now, cost, most)
  tally = live(limit, tally, now)
  local part = div(now, limit.p)
  if tally.count == 0 then
    tally = parts_of(limit, cost, part, cost, '')
  elseif tally.part == part then
    tally = parts_of(limit, tally.total + cost, part, tally.count + cost, tally.older)
  else
    local older = tally.older .. text(tally.part) .. ':' .. text(tally.count) .. ' '
    tally = parts_of(limit, tally.total + cost, part, cost, older)
  end
  return at_most(limit, tally, most)
end

local function leaves_at(limit, part)
  return (part + 1) * limit.p - 1 + limit.W
end

function parts.not_before(_, tally)
  return tally.count == 0 and 0 or tally.part * tally.p
end

function parts.same(limit, tally)
  return limit.p == tally.p
end

-- Each count moves to the part of its latest possible moment, so it leaves no sooner.
function parts.under(limit, tally, now)
  local moved = parts.fresh(limit)
  if tally.count > 0 then
    local all = tally.older .. text(tally.part) .. ':' .. text(tally.count) .. ' '
    for part, count in all:gmatch('(%d+):(%d+) ') do
      local latest = min(now, (tonumber(part) + 1) * tally.p - 1)
      moved = adding(limit, moved, latest, tonumber(count), LARGEST)
    end
  end
  return moved
end

function parts.retry_after(limit, tally, now, cost)
  if cost > limit.limit then
    return NEVER
  end
  tally = live(limit, tally, now)
  local over = tally.total + cost - limit.limit
  if over <= 0 then
    return 0
  end
  for part, count in tally.older:gmatch('(%d+):(%d+) ') do
    over = over - tonumber(count)
    if over <= 0 then
      return leaves_at(limit, tonumber(part)) - now
    end
  end
  return leaves_at(limit, tally.part) - now
end

function parts.remaining(limit, tally, now)
  return max(0, limit.limit - live(limit, tally, now).total)
end

function parts.reset_after(limit, tally, now)
  tally = live(limit, tally, now)
  return tally.count == 0 and 0 or leaves_at(limit, tally.part) - now
end

function parts.plus(limit, tally, now, cost)
  return adding(limit, tally, now, cost, LARGEST)
end

function parts.recording(limit, tally, now, cost)
  return adding(limit, tally, now, min(cost, limit.limit), limit.limit)
end

parts.knocking = parts.recording

function parts.minus(limit, tally, now, back, mark)
  local at = div(mark, limit.p)
  if tally.count == 0 or at > tally.part or at < oldest_part(limit, now) then
    return tally
  end
  if at == tally.part then
    local less = min(back, tally.count)
    if less < tally.count then
      return parts_of(limit, tally.total - less, at, tally.count - less, tally.older)
    end
    local older, part, count = tally.older:match('^(.-)(%d+):(%d+) $')
    if not part then
      return parts.fresh(limit)
    end
    return parts_of(limit, tally.total - less, tonumber(part), tonumber(count), older)
  end
  local before, count, after = (' ' .. tally.older):match('^(.* )' .. text(at) .. ':(%d+) (.*)$')
  if not count then
    return tally
  end
  local less = min(back, tonumber(count))
  local kept = less < tonumber(count) and text(at) .. ':' .. text(tonumber(count) - less) .. ' ' or ''
  return parts_of(limit, tally.total - less, tally.part, tally.count, before:sub(2) .. kept .. after)
end

function parts.mark(_, _, now)
  return now, 0
end

function parts.ends(limit, tally)
  return tally.count == 0 and 0 or leaves_at(limit, tally.part) + 1
end

function parts.write(_, tally)
  return 's' .. text(tally.p) .. '/' .. text(tally.W) .. ',' .. text(tally.total) .. ',' .. text(tally.part) .. ','
    .. text(tally.count) .. ',' .. tally.older
end

-- Whether a text is that of older parts, and not of more than a limit may have.
local function are_parts(older)
  local rest, many = older:gsub('%d+:%d+ ', '')
  return rest == '' and many <= MOST_PARTS
end

function parts.read(value)
  local p, W, total, part, count, older = value:match(
    '^s(%d+)/(%d+),(%d+),(%d+),(%d+),([%d: ]*)$')
  p, W = tonumber(p or 0), tonumber(W or 0)
  return p > 0 and W > 0 and are_parts(older) and {
    kind = 's', p = p, W = W, total = tonumber(total), part = tonumber(part),
    count = tonumber(count), older = older,
  }
end
