-- Token bucket: admits at most capacity + refill * t / period in any interval of length t.
--
-- A token is `units_per_token` units, so many that a whole number of them, `units_per_micro`, comes back in each
-- microsecond. One number: the units that the bucket lacked when the row was written. A bucket in debt lacks more than
-- its capacity.

local token_bucket = {letter = 'b', code = 1, width = 1, format = 'I7', bytes = 7, parameters = 2}

-- Arguments: capacity, units per token, units per microsecond, debt.
function token_bucket.limit(capacity, units_per_token, units_per_micro, debt)
  return {
    kind = token_bucket, quota = capacity, scale = units_per_token, most = capacity * units_per_token,
    debt = debt * units_per_token, units_per_micro = units_per_micro,
    horizon = ceil_div(capacity * units_per_token, units_per_micro),
    shape = {units_per_token, units_per_micro},
  }
end

-- The units that a bucket lacks some time after it lacked `units`, at a rate of units per microsecond.
local function lacking(units, elapsed, rate)
  local left = units - elapsed * rate
  return left > 0 and left or 0
end

-- How long until a bucket that lacks `units` is full.
local function full_in(units, rate)
  return rate == 1 and units or ceil_div(units, rate)
end

function token_bucket.take(limit, amount, ceiling, written, used)
  local rate = limit.units_per_micro
  used = lacking(used, now - written, rate) + amount
  if used <= ceiling then
    return full_in(used, rate), used, used
  end
end

if is_whole then -- the rest is for the general way

function token_bucket.of_shape(units_per_token, units_per_micro)
  return token_bucket.limit(0, units_per_token, units_per_micro, 0)
end

function token_bucket.used(limit, row, at, now)
  return lacking(row[at], now - row[WRITTEN], limit.units_per_micro)
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
  return full_in(used, limit.units_per_micro)
end

-- Units less those of some tokens. A negative number of tokens means that the row was lost and its counter
-- began again.
local function without(limit, units, tokens)
  return tokens < 0 and 0 or max(0, units - tokens * limit.scale)
end

-- What was taken and has not refilled is the least that the bucket has lacked since the take. That is at least
-- what it lacked after the take, less refunds to others and refills since. It is also at least what was taken,
-- less refills since. `mark` is when it was taken, `number` what the bucket lacked then; `cost` is in tokens, all else
-- in units. Returns the tokens that the marks of later takes must be told of.
function token_bucket.give_back(limit, row, at, now, amount, mark, number, cost, given_since)
  local elapsed = max(0, now - mark)
  local rate = limit.units_per_micro
  local left = lacking(without(limit, number, given_since), elapsed, rate)
  local own = lacking(cost * limit.scale, elapsed, rate)
  local lacks = token_bucket.used(limit, row, at, now)
  local back = min(lacks, amount, max(left, own))
  row[at] = max(0, row[at] - back)
  local is_last_take = lacks == left
  return is_last_take and 0 or ceil_div(back, limit.scale)
end

-- What another bucket lacked in whole tokens, as units of this one.
local function as_tokens(limit, from, units)
  return min(ceil_div(units, from.scale), div(limit.most + limit.debt, limit.scale)) * limit.scale
end

-- The number of missing tokens stays the same; a token that is partly back counts as missing. For the time
-- since the row was written, the faster of the old and new rates applies. So the wait that a denial reported is
-- long enough, although a denial writes nothing.
function token_bucket.convert(limit, row, at, from, old, old_at, now)
  local before = lacking(as_tokens(limit, from, old[old_at]), now - old[WRITTEN], limit.units_per_micro)
  row[at] = min(before, as_tokens(limit, from, token_bucket.used(from, old, old_at, now)))
end

end
