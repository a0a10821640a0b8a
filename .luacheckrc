-- For ./sluice lint. It checks the Lua files joined, as Redis runs them: they are one scope.

stds.redis = {
  read_globals = {'ARGV', 'KEYS', 'cmsgpack', 'redis', 'struct'},
}
std = 'lua51+redis'

-- Redis has none of these.
not_globals = {'debug', 'dofile', 'io', 'loadfile', 'module', 'os', 'package', 'print', 'require'}

-- Every kind of limit has the same functions with the same arguments, whether it uses them or not.
unused_args = false

ignore = {
  -- A kind of limit is handed the time, which can be another than that of the call.
  '431/now',
}

max_line_length = 120
