-- The entry point of FCALL and EVALSHA.

local function run(given_keys, given_words)
  if not call then
    prepare()
  end
  begin(given_keys, given_words)
  local operation = word()
  while operation do
    operations[operation]()
    operation = word()
  end
  if may_write and (next(rows) or next(remembered_calls)) then
    write_all()
  end
  return packed()
end
