-- The plain way: takes by enforced rules, from rows that have the form of their terms, were written no later than
-- now and have nothing behind their numbers: no lock, reservation or forgotten usage. That is nearly every call.
--
-- Numbers stay in locals, or in one array that the next plan uses again. Tables for rows and charges, as the general
-- way makes them (judge.lua), take Redis longer than all arithmetic. Each kind has one function for the plain way,
-- which works on the numbers of a row that was `written` some time ago:
--
--   take(limit, amount, ceiling, written, used, …)
--
-- It returns how long until the whole limit is available again, the number of the mark, and the numbers as of now;
-- or nothing if the amount does not fit below the ceiling, or if more must be looked at. Then the plan goes the
-- general way, in the same call.

do

local numbers = {} -- of the rows of a plan

-- Puts what was read from a row behind `at`. Returns the rest.
local function keep(at, shape, lives, written, ...)
  numbers[at + 1], numbers[at + 2], numbers[at + 3], numbers[at + 4], numbers[at + 5], numbers[at + 6], numbers[at + 7],
    numbers[at + 8] = ...
  return shape, lives, written
end

-- Writes the numbers of a row. `back` is how long until all is available again.
local function write_plainly(place, form, raw, lives, back, ...)
  local key, last = keys[place], now + back
  values[place] = STALE
  if last + SLACK <= lives * 1000000 then
    call('SETRANGE', key, form.before_written, pack(form.from_written, now, ...))
    return
  end
  local new_lives, millis = life(last)
  local value = pack(form.format, form.prefix, new_lives, now, ...)
  if raw then
    call('SET', key, value .. sub(raw, form.bytes + 1), 'PX', text(millis))
  elseif not call('SET', key, value, 'PX', text(millis), 'NX') then
    foreign = foreign + 1 -- the key has another type
    call('SET', key, value, 'PX', text(millis))
  end
end

-- The general way, for a plan whose accounts follow the k-th place.
local function judge_from(charges, encoded, k)
  if not judge then
    reply(NOT_PLAIN)
    return
  end
  local spots = {}
  for j = 1, #charges do
    spots[j] = place_in(encoded, k + j)
  end
  judge(charges, spots, 0)
end

-- Plans of one charge on one limit. An account that comes again keeps its numbers.
local function take_one(charges, encoded, count)
  local charge = charges[1]
  local limit, amount, ceiling, form = charge.limits[1], charge.amounts[1], charge.ceilings[1], charge.terms.form
  local take, prefix, bytes = limit.take, form.prefix, form.bytes
  local row_format = form.format
  local place, raw, lives, written, a, b, c, back, is_plain
  local is_changed, n = false, filled
  for i = 1, count do
    local next_place = encoded == '' and i or place_in(encoded, i)
    if next_place ~= place then
      if is_changed then
        write_plainly(place, form, raw, lives, back, a, b, c)
        is_changed = false
      end
      place = next_place
      raw = value_of(place)
      is_plain = not rows[place]
      if not raw then
        lives, written, a, b, c = 0, 0, 0, 0, 0
      elseif #raw == bytes then
        local shape
        shape, lives, written, a, b, c = read_packed(row_format, raw)
        is_plain = is_plain and shape == prefix and written <= now and a <= EXACT
      else
        is_plain = false
      end
    end
    local resets, mark, a_now, b_now, c_now
    if is_plain then
      resets, mark, a_now, b_now, c_now = take(limit, amount, ceiling, written, a, b, c)
    end
    if resets then
      back, written, a, b, c, is_changed = resets, now, a_now, b_now, c_now, true
      out[n + 1], out[n + 2], out[n + 3], out[n + 4] = PLAINLY, remaining(limit, a), resets, mark
      n = n + 4
    else
      if is_changed then
        write_plainly(place, form, raw, lives, back, a, b, c)
        is_changed = false
      end
      filled = n
      judge_from(charges, encoded, i - 1)
      n = filled
      is_plain = false
    end
  end
  if is_changed then
    write_plainly(place, form, raw, lives, back, a, b, c)
  end
  filled = n
end

local spots, strings, lifetimes, backs = {}, {}, {}, {} -- of the charges of a plan

local function take_all(charges, k, encoded)
  local n, at = filled + 1, 0
  out[n] = PLAINLY
  for j = 1, #charges do
    local charge, place = charges[j], place_in(encoded, k + j)
    local form, raw = charge.terms.form, value_of(place)
    local shape, lives, written = form.prefix, 0, 0
    if rows[place] then
      return false
    elseif not raw then
      for i = 1, form.last - NUMBERS + 1 do
        numbers[at + i] = 0
      end
    elseif #raw == form.bytes then
      shape, lives, written = keep(at, read_packed(form.format, raw))
    else
      return false
    end
    if shape ~= form.prefix or written > now then
      return false
    end
    for i = 1, j - 1 do
      if spots[i] == place then
        return false
      end
    end
    local limits, amounts, ceilings, last = charge.limits, charge.amounts, charge.ceilings, 0
    for i = 1, #limits do
      local limit = limits[i]
      local a = numbers[at + 1]
      if a > EXACT then
        return false
      end
      local resets, mark
      resets, mark, a = limit.take(limit, amounts[i], ceilings[i], written, a, numbers[at + 2], numbers[at + 3])
      if not resets then
        return false
      end
      numbers[at + 1] = a
      if resets > last then
        last = resets
      end
      out[n + 1], out[n + 2], out[n + 3] = remaining(limit, a), resets, mark
      n, at = n + 3, at + 1
    end
    spots[j], strings[j], lifetimes[j], backs[j] = place, raw, lives, last
  end
  at = 0
  for j = 1, #charges do
    local form = charges[j].terms.form
    local width = form.last - NUMBERS + 1
    write_plainly(spots[j], form, strings[j], lifetimes[j], backs[j], unpack(numbers, at + 1, at + width))
    at = at + width
  end
  filled = n
  return true
end

-- Plans of several charges or limits.
local function take_several(charges, encoded, count)
  for k = 0, count - 1, #charges do
    if not take_all(charges, k, encoded) then
      judge_from(charges, encoded, k)
    end
  end
end

-- J   decide plans that differ only in their accounts: a plan; the places of the accounts of each plan in turn.
--     Reply for each plan PLAINLY, and for each limit what remains, how long until all is available, and the number
--     of the mark; or ALLOWED or DENIED, the time of the decision, and for each charge the numbers of `report`; or
--     why nothing was done
function operations.J()
  local charges, encoded = next_plan(), word()
  local count = count_in(encoded)
  if not (charges.are_plain and may_write) then
    for k = 0, count - 1, max(1, #charges) do
      judge_from(charges, encoded, k)
    end
  elseif #charges == 1 and #charges[1].limits == 1 then
    take_one(charges, encoded, count)
  else
    take_several(charges, encoded, count)
  end
end

end
