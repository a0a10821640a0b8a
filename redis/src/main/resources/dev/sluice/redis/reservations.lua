-- Reservations: takes that stay open until they are settled, or until their time is over. A row has the sum of their
-- costs and the end of the last one.

-- The cost of the reservations that are open.
local function open(row)
  return row.open_until and row.open_until > now and row.open or 0
end

local function reserve(row, cost, till)
  local others = open(row)
  row.open, row.open_until = others + cost, others == 0 and till or max(till, row.open_until)
  row.tail, row.odd = true, true
end

-- Closes a reservation, unless it has ended.
local function close(row, cost, till)
  if till > now and row.open_until then
    row.open, row.tail = max(0, open(row) - cost), true
  end
end

-- Whether a cost would fit every limit if all open reservations were refunded.
local function fits_without_open(row, cost)
  local time, held, form = time_of(row), open(row), row[FORM]
  for i, limit in ipairs(form.limits) do
    local used = limit:used(row, form.at[i], time)
    if not fits(limit, used - min(used, held * limit.scale), cost) then
      return false
    end
  end
  return true
end
