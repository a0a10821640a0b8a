-- Fixed window: at most `limit` in each round of a cycle.
--
-- Text:   fcycle,start,end,used     what was used in the round from start to end (microseconds)
-- Packed (see form.lua), its part of the head is fcycle,length,base and its number is that of the
-- round, counted from the epoch, times base, and what was used in it; 0 is a fresh window. Base is a
-- power of ten that is more than the limit.
--
-- A cycle of one length is aligned to the epoch. The rounds of a calendar cycle come with the call,
-- a few around now; a moment outside them is asked for (see `wanted`) and the call is
-- sent again with the rounds around that moment.

local window = {}
local wanted -- a moment whose round the call did not bring

-- The round that a moment falls into.
local function round(limit, now)
  if limit.length then
    local start = now - fmod(now, limit.length)
    return start, start + limit.length
  end
  local rounds = limit.rounds
  for i = 1, #rounds, 2 do
    if rounds[i] <= now and now < rounds[i + 1] then
      return rounds[i], rounds[i + 1]
    end
  end
  wanted = now
  return now, now + 1
end

-- What counts: a round that still lasts does, and one cut short by a longer cycle.
local function used_in(tally, start)
  return tally.finish > start and tally.used or 0
end

local function using(limit, start, finish, used)
  return {kind = 'f', cycle = limit.cycle, start = start, finish = finish, used = used}
end

function window.fresh(limit)
  return using(limit, 0, 0, 0)
end

function window.full(limit, now)
  local start, finish = round(limit, now)
  return using(limit, start, finish, limit.limit)
end

function window.not_before(_, tally)
  return tally.start
end

function window.same(limit, tally)
  return limit.cycle == tally.cycle
end

function window.under(limit, tally, now)
  local start, finish = round(limit, now)
  return using(limit, start, finish, used_in(tally, start))
end

function window.retry_after(limit, tally, now, cost)
  if cost > limit.limit then
    return NEVER
  end
  local start, finish = round(limit, now)
  return used_in(tally, start) + cost <= limit.limit and 0 or finish - now
end

function window.remaining(limit, tally, now)
  return max(0, limit.limit - used_in(tally, (round(limit, now))))
end

function window.reset_after(limit, tally, now)
  local start, finish = round(limit, now)
  return used_in(tally, start) == 0 and 0 or finish - now
end

function window.plus(limit, tally, now, cost)
  local start, finish = round(limit, now)
  return using(limit, start, finish, used_in(tally, start) + cost)
end

function window.recording(limit, tally, now, cost)
  local start, finish = round(limit, now)
  return using(limit, start, finish, min(used_in(tally, start) + cost, LARGEST))
end

function window.knocking(limit, tally, now, cost)
  local start, finish = round(limit, now)
  local used = used_in(tally, start)
  return using(limit, start, finish, max(used, min(used + cost, limit.limit)))
end

function window.minus(limit, tally, now, back, mark)
  if tally.start <= mark and mark < tally.finish and now < tally.finish then
    return using(limit, tally.start, tally.finish, max(0, tally.used - back))
  end
  return tally
end

function window.mark(_, _, now)
  return now, 0
end

function window.ends(_, tally)
  return tally.finish
end

function window.write(_, tally)
  return 'f' .. tally.cycle .. ',' .. text(tally.start) .. ',' .. text(tally.finish) .. ','
    .. text(tally.used)
end

function window.read(part)
  local cycle, start, finish, used = part:match('^f([^,]+),(%d+),(%d+),(%d+)$')
  return cycle and {
    kind = 'f', cycle = cycle, start = tonumber(start), finish = tonumber(finish),
    used = tonumber(used),
  }
end

function window.packed(limit, tally)
  if tally.finish == 0 then
    return 0
  end
  local length = limit.length
  return length and fmod(tally.start, length) == 0 and tally.finish == tally.start + length
    and tally.used <= limit.limit and tally.start / length * limit.base + tally.used
end

function window.unpacked(part, number)
  local cycle, length, base = part:match('^f([^,]+),(%d+),(%d+)$')
  local limit = {cycle = cycle}
  length, base = tonumber(length), tonumber(base)
  if not cycle or length == 0 or base == 0 or length > EXACT or base > EXACT then
    return nil
  end
  if number == 0 then
    return window.fresh(limit)
  end
  local used = fmod(number, base)
  local start = (number - used) / base * length
  return using(limit, start, start + length, used)
end
