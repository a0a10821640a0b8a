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
  if may_write and write_all then
    write_all()
  end
  return packed()
end
