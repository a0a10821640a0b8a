-- The plain way: takes by enforced rules, from rows that have the layout of these limits, were written no later than
-- now, and have no lock, reservation or forgotten usage behind their numbers. That is nearly every call.
--
-- Numbers stay in locals, or in one array that the next plan uses again. Tables for rows and charges, as the general
-- way makes them (judge.lua), take Redis longer than all arithmetic. Each kind of limit has one function for the plain
-- way, on the numbers of a row that was `written` some time ago (a missing row: 0, and numbers of 0):
--
--   take(limit, amount, ceiling, written, used, b, c, beside, from)
--
-- `beside` is what the limit has beside its numbers: of a sliding window, a string in which its totals begin at `from`;
-- of a sliding log, the key of its entries. The results are: how long until the whole limit is available again, the
-- number of the receipt's mark, the numbers as of now, and what has changed beside them: the new totals, or how many
-- entries have left the window and a list that begins with them. No result means that the amount does not fit below the
-- ceiling, or that more must be looked at. Then the plan goes the general way, in the same call; a short script does
-- not have it and says so (NOT_PLAIN).

do

local numbers = {} -- of the rows of a plan

-- Puts the numbers of a row, at most MOST_NUMBERS, into numbers[at + 1] and after. Returns the rest.
local function keep(at, shape, lives, written, ...)
  numbers[at + 1], numbers[at + 2], numbers[at + 3], numbers[at + 4], numbers[at + 5], numbers[at + 6], numbers[at + 7],
    numbers[at + 8], numbers[at + 9] = ...
  return shape, lives, written
end

-- Writes the numbers of a row, and its totals if they have changed. `back` is how long until all is available again.
-- Returns when the key ends. A row that is missing has no totals yet: a window begins with its newest part.
local function write_plainly(place, form, raw, lives, back, totals, ...)
  local key, last = keys[place], now + back
  values[place] = STALE
  if last + SLACK <= lives * 1000000 then
    if not totals then
      call('SETRANGE', key, form.before_written, pack(form.from_written, now, ...))
    elseif form.bytes + #totals == #raw then
      call('SETRANGE', key, form.before_written, pack(form.from_written, now, ...) .. totals)
    else
      call('SET', key, pack(form.format, form.prefix, lives, now, ...) .. totals, 'KEEPTTL')
    end
    return lives
  end
  local new_lives, millis = life(last)
  local value = pack(form.format, form.prefix, new_lives, now, ...)
  if raw then
    call('SET', key, value .. (totals or sub(raw, form.bytes + 1)), 'PX', text(millis))
  elseif not call('SET', key, value, 'PX', text(millis), 'NX') then
    foreign = foreign + 1 -- the key has another type
    call('SET', key, value, 'PX', text(millis))
  end
  return new_lives
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
  local take, prefix, bytes, row_format = limit.take, form.prefix, form.bytes, form.format
  local is_log, total_bytes, is_simple = form.logs > 0, form.has_totals and limit.bytes, form.last == NUMBERS
  local place, raw, lives, written, a, b, c, back, beside_it, totals, is_plain
  local left, entries, adds, added = 0, nil, nil, 0
  local is_changed, n = false, filled

  local function write()
    local ends = write_plainly(place, form, raw, lives, back, totals, a, b, c)
    if is_log then
      write_plain_entries(beside_it, ends, ends ~= lives, left, entries, added, adds)
    end
    is_changed = false
  end

  for i = 1, count do
    local next_place = encoded == '' and i or place_in(encoded, i)
    if next_place ~= place then
      if is_changed then
        write()
      end
      place = next_place
      raw = value_of(place)
      is_plain = not rows[place]
      if not raw then
        lives, written, a, b, c = 0, 0, 0, 0, 0
      elseif #raw >= bytes then
        local shape
        shape, lives, written, a, b, c = read_packed(row_format, raw)
        is_plain = is_plain and shape == prefix and written <= now and a <= EXACT
          and #raw == bytes + (total_bytes and c * total_bytes or 0) and (is_simple or b <= EXACT and c <= EXACT)
      else
        is_plain = false
      end
      if not is_simple and is_plain then
        beside_it = is_log and keys[place] .. form.suffixes[NUMBERS] or raw
        totals, left, entries, adds, added = nil, 0, nil, {}, 0
      end
    end
    local resets, mark, a_now, b_now, c_now, changed, those
    if is_plain then
      resets, mark, a_now, b_now, c_now, changed, those =
        take(limit, amount, ceiling, written, a, b, c, beside_it, bytes + 1)
    end
    if resets then
      back, written, a, b, c, is_changed = resets, now, a_now, b_now, c_now, true
      if is_log then
        adds[added + 1], adds[added + 2], added = mark, amount, added + 2
        if changed > 0 then
          left, entries = changed, those
        end
      else
        totals = changed or totals -- which no other call at this moment reads again
      end
      out[n + 1], out[n + 2], out[n + 3], out[n + 4] = PLAINLY, remaining(limit, a), resets, mark
      n = n + 4
    else
      if is_changed then
        write()
      end
      filled = n
      judge_from(charges, encoded, i - 1)
      n = filled
      is_plain = false
    end
  end
  if is_changed then
    write()
  end
  filled = n
end

local spots, strings, lifetimes, backs, tails, logs = {}, {}, {}, {}, {}, {} -- of the charges of a plan

-- Takes a charge from the j-th account of a plan, whose numbers go behind `at`. Returns false if it must go the general
-- way.
local function take_charge(charge, j, place, at)
  local form, raw = charge.terms.form, value_of(place)
  local shape, lives, written = form.prefix, 0, 0
  if rows[place] or raw and #raw < form.bytes then
    return false
  elseif raw then
    shape, lives, written = keep(at, read_packed(form.format, raw))
  else
    for i = 1, form.last - NUMBERS + 1 do
      numbers[at + i] = 0
    end
  end
  if shape ~= form.prefix or written > now then
    return false
  end
  for i = 1, j - 1 do
    if spots[i] == place then
      return false
    end
  end
  local limits, amounts, ceilings = charge.limits, charge.amounts, charge.ceilings
  local n, last, end_of_totals, tail, its_logs = filled, 0, form.bytes, false, false
  for i = 1, #limits do
    local limit, a = limits[i], numbers[at + 1]
    local resets, mark
    if a > EXACT then
      return false
    elseif limit.is_alone then
      resets, mark, a = limit.take(limit, amounts[i], ceilings[i], written, a)
      if not resets then
        return false
      end
      at = at + 1
      numbers[at] = a
    else
      local b, c, suffix = numbers[at + 2], numbers[at + 3], form.suffixes[form.at[i]]
      local from, bytes = end_of_totals + 1, limit.bytes and c * limit.bytes or 0
      end_of_totals = end_of_totals + bytes
      if b > EXACT or c > EXACT or raw and #raw < end_of_totals then
        return false
      end
      local beside_it, changed, those = suffix and keys[place] .. suffix or raw
      resets, mark, a, b, c, changed, those =
        limit.take(limit, amounts[i], ceilings[i], written, a, b, c, beside_it, from)
      if not resets then
        return false
      elseif suffix then
        its_logs = its_logs or {}
        its_logs[#its_logs + 1] = {beside_it, changed, those, {mark, amounts[i]}}
      else
        if changed and not tail then
          tail = raw and sub(raw, form.bytes + 1, from - 1) or ''
        end
        tail = tail and tail .. (changed or raw and sub(raw, from, end_of_totals) or '')
      end
      numbers[at + 1], numbers[at + 2], numbers[at + 3] = a, b, c
      at = at + 3
    end
    if resets > last then
      last = resets
    end
    out[n + 1], out[n + 2], out[n + 3] = remaining(limit, a), resets, mark
    n = n + 3
  end
  if raw and #raw ~= end_of_totals then
    return false
  end
  filled = n
  spots[j], strings[j], lifetimes[j], backs[j], tails[j], logs[j] = place, raw, lives, last, tail, its_logs
  return true
end

-- Takes a plan whose accounts follow the k-th place, if all fits. Returns whether it did.
local function take_all(charges, k, encoded)
  local before, at = filled, 0
  filled = before + 1
  out[filled] = PLAINLY
  for j = 1, #charges do
    if not take_charge(charges[j], j, place_in(encoded, k + j), at) then
      filled = before
      return false
    end
    at = at + charges[j].width
  end
  at = 0
  for j = 1, #charges do
    local width = charges[j].width
    local ends = write_plainly(spots[j], charges[j].terms.form, strings[j], lifetimes[j], backs[j], tails[j],
      unpack(numbers, at + 1, at + width))
    for i = 1, logs[j] and #logs[j] or 0 do
      local log, left, entries, adds = unpack(logs[j][i], 1, 4)
      write_plain_entries(log, ends, ends ~= lifetimes[j], left, entries, 2, adds)
    end
    at = at + width
  end
  return true
end

-- Plans of several charges or limits.
local function take_several(charges, encoded, count)
  for k = 0, count - 1, max(1, #charges) do
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
