-- Fixed window: admits at most its limit in each window of a cycle. In the code a window is called a round.
--
-- One number: the usage in the round in which the row was written. Rounds have a fixed length since the epoch,
-- or follow a calendar; then the caller sends the rounds around now.

local fixed_window = {letter = 'f', code = 2, width = 1, format = 'I7', bytes = 7, parameters = 1}

-- Arguments: limit, a number for the cycle, the length of a round or 0; if 0, start and end of some rounds.
function fixed_window.limit(quota, cycle, length, ...)
  return {
    kind = fixed_window, quota = quota, scale = 1, most = quota, debt = 0, length = length,
    rounds = length == 0 and {...} or nil, horizon = length, shape = {cycle},
  }
end

-- The start and the end of the round of a time. If the caller did not send it, nothing may be written.
local function round(limit, moment)
  if limit.length > 0 then
    local start = moment - rest(moment, limit.length)
    return start, start + limit.length
  end
  local rounds = limit.rounds
  for i = 1, #rounds, 2 do
    if rounds[i] <= moment and moment < rounds[i + 1] then
      return rounds[i], rounds[i + 1]
    end
  end
  lacking_round = moment
  return moment, moment + 1
end

function fixed_window.take(limit, amount, ceiling, written, used)
  local start, finish = round(limit, now)
  if lacking_round then
    lacking_round = nil -- the general way notes it again, and says so
    return
  end
  used = written >= start and used + amount or amount
  if used <= ceiling then
    return finish - now, 0, used
  end
end

if is_whole then -- the rest is for the general way

-- Of a stored shape. The cycle of a calendar is a negative number; its rounds are not known here.
function fixed_window.of_shape(cycle)
  local limit = fixed_window.limit(0, cycle, max(1, cycle))
  limit.lacks_rounds = cycle < 0
  return limit
end

function fixed_window.used(limit, row, at, now)
  return row[WRITTEN] >= round(limit, now) and row[at] or 0
end

function fixed_window.advance(limit, row, at, now, used)
  row[at] = used
end

function fixed_window.add(limit, row, at, now, amount)
  row[at] = row[at] + amount
  return 0
end

function fixed_window.drop(limit, row, at, amount)
  row[at] = row[at] - amount
end

function fixed_window.opens_after(limit, row, at, now, amount)
  local _, finish = round(limit, now)
  return finish - now
end

function fixed_window.reset_after(limit, row, at, now, used)
  local _, finish = round(limit, now)
  return used > 0 and finish - now or 0
end

function fixed_window.give_back(limit, row, at, now, amount, mark)
  local start = round(limit, now)
  if mark >= start and row[WRITTEN] >= start then
    row[at] = max(0, row[at] - amount)
  end
end

-- If a longer round replaces the one that was written, its usage counts in the longer one.
function fixed_window.convert(limit, row, at, from, old, old_at, now)
  row[at] = old[WRITTEN] >= round(limit, now) and old[old_at] or 0
end

end
