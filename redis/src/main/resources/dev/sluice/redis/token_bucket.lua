-- Token bucket: in any interval of length t it admits at most capacity + refill * t / period.
--
-- One number: the units that the bucket lacked when the row was written. It gains `units_per_micro` of
-- them a microsecond until it lacks none. A bucket in debt lacks more than its capacity.

local token_bucket = {letter = 'b', code = 1, width = 1, format = 'I7', bytes = 7, parameters = 2}

-- capacity, units per token, units per microsecond, debt
function token_bucket.limit(capacity, units_per_token, units_per_micro, debt)
  return {
    kind = token_bucket, quota = capacity, scale = units_per_token, most = capacity * units_per_token,
    debt = debt * units_per_token, units_per_micro = units_per_micro,
    horizon = ceil_div(capacity * units_per_token, units_per_micro),
    shape = {units_per_token, units_per_micro},
  }
end

function token_bucket.of_shape(units_per_token, units_per_micro)
  return token_bucket.limit(0, units_per_token, units_per_micro, 0)
end

-- What a bucket lacks some time after it lacked so much.
local function lacking(limit, units, elapsed)
  local left = units - elapsed * limit.units_per_micro
  return left > 0 and left or 0
end

function token_bucket.used(limit, row, at, now)
  return lacking(limit, row[at], now - row[WRITTEN])
end

function token_bucket.advance(limit, row, at, now, used)
  row[at] = used
end

function token_bucket.add(limit, row, at, now, amount)
  row[at] = row[at] + amount
  return row[at]
end

function token_bucket.drop(limit, row, at, amount)
  row[at] = row[at] - amount
end

function token_bucket.opens_after(limit, row, at, now, amount)
  return ceil_div(amount, limit.units_per_micro)
end

function token_bucket.reset_after(limit, row, at, now, used)
  return limit.units_per_micro == 1 and used or ceil_div(used, limit.units_per_micro)
end

-- Units without those of so many tokens. Fewer given back than before: the row was lost.
local function without(limit, units, tokens)
  return tokens < 0 and 0 or max(0, units - tokens * limit.scale)
end

-- The least that the bucket has lacked since the take has not come back by itself. It is at least what was
-- lacking after the take, less what was given back to others and refilled since; and at least what was taken
-- less what refilled since.
function token_bucket.give_back(limit, row, at, now, amount, mark, number, cost, given_since)
  local elapsed = max(0, now - mark)
  local left = lacking(limit, without(limit, number, given_since), elapsed)
  local own = lacking(limit, cost * limit.scale, elapsed)
  local lacks = token_bucket.used(limit, row, at, now)
  local back = min(lacks, amount, max(left, own))
  row[at] = max(0, row[at] - back)
  local is_last_take = lacks == left
  return is_last_take and 0 or ceil_div(back, limit.scale)
end

-- What another bucket lacked, as tokens of this one.
local function as_tokens(limit, from, units)
  return min(ceil_div(units, from.scale), div(limit.most + limit.debt, limit.scale)) * limit.scale
end

-- Tokens keep their number; one partly back counts as still out. Since the row was written they have come back at
-- the rate of then or at that of now, whichever is more: so the wait that a denial tells is over when it says,
-- although a denial writes nothing.
function token_bucket.convert(limit, row, at, from, old, old_at, now)
  local before = lacking(limit, as_tokens(limit, from, old[old_at]), now - old[WRITTEN])
  row[at] = min(before, as_tokens(limit, from, token_bucket.used(from, old, old_at, now)))
end
