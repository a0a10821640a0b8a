-- Token bucket: at most `capacity` at once, `refill` more every period.
--
-- Kept as the moment at which it will be full, full_at + units / R, where a token is P units and a
-- microsecond R of them (P and R are the period and the refill without their common divisor). What
-- it lacks at a moment is (full_at - now) * R + units; a cost c fits while lacking + c * P is at most
-- capacity * P. A missing tally is a full bucket.
--
-- Text:   bP/R,full_at,units,indebted_at
-- `indebted_at` is the moment at which it went below empty, or 0. A whole microsecond written as units
-- (R of them, or more) says that the bucket is shut: it gives nothing until it is full.
--
-- A bucket that is alone in its account, with neither debt nor lock, R = 1 and P = m * 10^e (m below
-- 1000, e below 10) is written as one whole number instead, which Redis keeps without a string:
--   27216000000000 0017   the bucket is full 27216000000000 us after 2026-01-01T00:00:00Z,
--                  ^^^^   and P is 1 * 10^7: one token every ten seconds
-- (without the blank between them).
--
-- Packed (see form.lua), its part of the head is bP/R and its number is the moment at which it is
-- full, in units since EPOCH; 0 is a full bucket.

local bucket = {}

-- What is still to come, in units.
function bucket.coming(limit, tally, now)
  if tally.full_at < now - 1 then
    return 0
  end
  return max(0, (tally.full_at - now) * limit.R + tally.units)
end

function bucket.is_shut(limit, tally)
  return tally.units >= limit.R
end

-- What the bucket lacks, in units.
local function lacking_of(limit, tally, now)
  local coming = bucket.coming(limit, tally, now)
  return bucket.is_shut(limit, tally) and coming > 0 and max(coming, limit.capacity * limit.P) or coming
end

local function bucket_lacking(limit, now, lacking)
  local units = fmod(lacking, limit.R)
  return {
    kind = 'b', P = limit.P, R = limit.R,
    full_at = now + (lacking - units) / limit.R, units = units,
    indebted_at = lacking > limit.capacity * limit.P and now or 0,
  }
end

function bucket.fresh(limit)
  return {kind = 'b', P = limit.P, R = limit.R, full_at = 0, units = 0, indebted_at = 0}
end

function bucket.full(limit, now)
  local shut = bucket_lacking(limit, now, limit.capacity * limit.P)
  shut.full_at, shut.units = shut.full_at - 1, shut.units + limit.R
  return shut
end

function bucket.not_before(limit, tally)
  if tally.indebted_at ~= 0 then
    return tally.indebted_at
  end
  return tally.full_at - div(limit.capacity * limit.P - tally.units, limit.R)
end

function bucket.same(limit, tally)
  return limit.P == tally.P and limit.R == tally.R
end

-- Tokens keep their number when the rate changes; one that is partly back counts as still out.
function bucket.under(limit, tally, now)
  local out = min(ceil_div(bucket.coming(tally, tally, now), tally.P), limit.capacity)
  return out == 0 and bucket.fresh(limit) or bucket_lacking(limit, now, out * limit.P)
end

function bucket.retry_after(limit, tally, now, cost)
  if cost > limit.capacity then
    return NEVER
  end
  local over = lacking_of(limit, tally, now) + cost * limit.P - limit.capacity * limit.P
  if over > 0 and bucket.is_shut(limit, tally) then
    over = bucket.coming(limit, tally, now)
  end
  return over <= 0 and 0 or ceil_div(over, limit.R)
end

function bucket.remaining(limit, tally, now)
  return div(max(0, limit.capacity * limit.P - lacking_of(limit, tally, now)), limit.P)
end

function bucket.reset_after(limit, tally, now)
  return ceil_div(bucket.coming(limit, tally, now), limit.R)
end

function bucket.plus(limit, tally, now, cost)
  return bucket_lacking(limit, now, lacking_of(limit, tally, now) + cost * limit.P)
end

function bucket.recording(limit, tally, now, cost)
  local units = min(cost, div(LARGEST, limit.P)) * limit.P
  return bucket_lacking(limit, now, min(lacking_of(limit, tally, now) + units, LARGEST))
end

function bucket.knocking(limit, tally, now, cost)
  local lacking = lacking_of(limit, tally, now)
  local full = limit.capacity * limit.P
  return bucket_lacking(limit, now, max(lacking, min(lacking + cost * limit.P, full)))
end

function bucket.minus(limit, tally, now, back, mark, mark_units)
  local coming = mark < now and 0 or (mark - now) * limit.R + mark_units
  local most = min(back, div(LARGEST, limit.P)) * limit.P
  local lacking = lacking_of(limit, tally, now)
  if lacking == 0 then
    return tally
  end
  local rest = max(0, lacking - min(most, coming))
  local units = fmod(rest, limit.R)
  return {
    kind = 'b', P = limit.P, R = limit.R, full_at = now + (rest - units) / limit.R, units = units,
    indebted_at = rest == 0 and 0 or tally.indebted_at,
  }
end

function bucket.mark(_, tally)
  return tally.full_at, tally.units
end

function bucket.ends(_, tally)
  return tally.full_at + 1
end

function bucket.write(_, tally)
  return 'b' .. text(tally.P) .. '/' .. text(tally.R) .. ',' .. text(tally.full_at) .. ','
    .. text(tally.units) .. ',' .. text(tally.indebted_at)
end

function bucket.read(part)
  local P, R, full_at, units, indebted_at = part:match('^b(%d+)/(%d+),(%d+),(%d+),(%d+)$')
  P, R = tonumber(P or 0), tonumber(R or 0)
  return P > 0 and R > 0 and {
    kind = 'b', P = P, R = R, full_at = tonumber(full_at),
    units = tonumber(units), indebted_at = tonumber(indebted_at),
  }
end

-- The short form, or nil if this tally needs the long one.
function bucket.short(limit, tally)
  local since = tally.full_at - EPOCH
  if limit.tag and tally.units == 0 and tally.indebted_at == 0 and since >= 1 and since < LATEST then
    return text(since) .. limit.tag
  end
end

function bucket.read_short(value)
  local since, m, e = value:match('^([1-9]%d*)(%d%d%d)(%d)$')
  return since and m ~= '000' and {
    kind = 'b', P = tonumber(m) * 10 ^ tonumber(e), R = 1, full_at = tonumber(since) + EPOCH,
    units = 0, indebted_at = 0,
  }
end

function bucket.packed(_, tally)
  if tally.full_at == 0 then
    return 0
  end
  local since = tally.full_at - EPOCH
  return since > 0 and tally.units < tally.R and tally.indebted_at == 0 and since * tally.R + tally.units
end

function bucket.unpacked(part, number)
  local P, R = part:match('^b(%d+)/(%d+)$')
  local limit = {P = tonumber(P), R = tonumber(R)}
  if not P or limit.P == 0 or limit.R == 0 or limit.P > EXACT or limit.R > EXACT then
    return nil
  end
  local tally = bucket.fresh(limit)
  if number > 0 then
    tally.units = fmod(number, tally.R)
    tally.full_at = EPOCH + (number - tally.units) / tally.R
  end
  return tally
end
