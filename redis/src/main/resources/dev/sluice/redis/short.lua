-- Whether the general way is there, too: see Library.java.
local is_whole = false
