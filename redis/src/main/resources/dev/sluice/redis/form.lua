-- Form: what the numbers of a row mean, for some limits. The shape at the beginning of a row gives its form, so that a
-- row can be read after its rule has changed.

local KINDS = { -- by the letter in terms, and by the code in a row
  b = token_bucket, f = fixed_window, s = sliding_window, l = sliding_log,
  token_bucket, fixed_window, sliding_window, sliding_log,
}

local MOST_NUMBERS = 9 -- in a row that goes the plain way: see plain.lua

-- The form of a row with these limits.
local function form_of(limits)
  local form = {limits = limits, at = {}, last = NUMBERS - 1, format = '', has_totals = false, logs = 0, suffixes = {},
    is_plain = #limits > 0}
  local shape, bytes = {}, 0
  for i, limit in ipairs(limits) do
    local kind = limit.kind
    form.at[i] = form.last + 1
    form.last, bytes = form.last + kind.width, bytes + kind.bytes
    form.format = form.format .. kind.format
    form.has_totals = form.has_totals or kind == sliding_window
    form.is_plain = form.is_plain and kind.take and form.last - NUMBERS < MOST_NUMBERS
    shape[#shape + 1] = kind.code
    for _, parameter in ipairs(limit.shape) do
      shape[#shape + 1] = parameter
    end
    if kind == sliding_log then
      form.logs = form.logs + 1
      form.suffixes[form.at[i]] = '!log' .. form.logs
    end
    limit.is_alone = kind.width == 1 -- its number is all it has
    for name, what in pairs(kind) do
      if type(what) == 'function' then
        limit[name] = what -- copied, so that calling a limit needs no second look-up
      end
    end
  end
  shape = #shape > 0 and cmsgpack.pack(unpack(shape)) or ''
  form.prefix = #shape < 255 and string.char(#shape) .. shape or '\255' .. pack('<I2', #shape) .. shape
  form.from_written, form.before_written = '<I7' .. form.format, text(#form.prefix + 5)
  form.format, form.bytes = '<c' .. #form.prefix .. 'I5I7' .. form.format, #form.prefix + 12 + bytes
  return form
end

local form_in
if is_whole then -- the rest is for the general way

-- The form of a row that was written under other terms, or nil if Sluice did not write it.
function form_in(raw)
  local length, start = byte(raw, 1), 2
  if length == 255 and #raw > 2 then
    length, start = read_packed('<I2', raw, 2), 4
  end
  local numbers = {true}
  if not length or #raw < start + length - 1 then
    return nil
  elseif length > 0 then
    numbers = {pcall(cmsgpack.unpack, sub(raw, start, start + length - 1))}
  end
  local limits, i = {}, 2
  while numbers[1] and i <= #numbers do
    local kind = type(numbers[i]) == 'number' and KINDS[numbers[i]]
    for j = i + 1, i + (kind and kind.parameters or 0) do
      local parameter = numbers[j]
      if type(parameter) ~= 'number' or parameter < 1 and kind ~= fixed_window or parameter > EXACT then
        return nil
      end
    end
    local limit = kind and kind.of_shape(numbers[i + 1], numbers[i + 2], numbers[i + 3])
    if not limit then
      return nil
    end
    limits[#limits + 1] = limit
    i = i + 1 + kind.parameters
  end
  local form = numbers[1] and form_of(limits)
  return form and sub(raw, 1, #form.prefix) == form.prefix and form or nil
end

end
