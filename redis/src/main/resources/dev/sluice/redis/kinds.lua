-- What all kinds of limits share. A kind counts in amounts. A token is cut into units, so that any rate is
-- exact; other kinds count costs as they are. The same functions as in Kind.java.
--
-- A limit:  kind, quota, scale (the amount of a cost of 1), most (the amount of the whole limit), debt
--           (how far below empty it can go), and what its kind needs.
-- A row:    see row.lua. A limit's numbers begin at the index `at`; the first of them is the amount used.
-- The usage at a time is computed once and passed as `used` to the functions that need it.
-- All times are microseconds. `now` is never before the row was written.

-- The fields of a row that every decision needs have fixed indices, which are fastest in Lua. From SHAPE on
-- they are what is stored: see row.lua.
local PLACE, FORM, TERMS, RAW, CHANGED, BACK = 1, 2, 3, 4, 5, 6
local SHAPE, LIVES, WRITTEN, NUMBERS = 7, 8, 9, 10

-- Defined in row.lua, change.lua and flush.lua: the totals of sliding windows, and writing a row.
local totals_of, set_totals, change, advance, flush

local function never_fits(limit, cost)
  return cost > limit.quota
end

local function remaining(limit, used)
  local left = limit.most - used
  if left <= 0 then
    return 0
  end
  local part = left % limit.scale
  return (left - (part < 0 and part + limit.scale or part)) / limit.scale
end

local fits, retry_after, record
if is_whole then -- the rest is for the general way

function fits(limit, used, cost)
  return cost <= limit.quota and used + cost * limit.scale <= limit.most
end

-- 0 if a cost fits; else how long until it does, or NEVER.
function retry_after(limit, row, at, now, used, cost)
  if never_fits(limit, cost) then
    return NEVER
  end
  local over = used + cost * limit.scale - limit.most
  return over <= 0 and 0 or limit:opens_after(row, at, now, over)
end

-- Counts a cost that need not fit. Returns what could not be charged.
function record(limit, row, at, now, cost, into_debt)
  local used, scale = row[at], limit.scale
  local ceiling = max(used, into_debt and limit.most + limit.debt or limit.most)
  local counted = min(cost, div(ceiling, scale) + 1)
  local excess = max(0, used + counted * scale - ceiling)
  limit:add(row, at, now, counted * scale)
  if excess > 0 then
    limit:drop(row, at, excess)
  end
  return cost - counted + ceil_div(excess, scale)
end

end
