-- What every script begins with: the constants of the layout.

local EXACT = 9007199254740991 -- up to here, every whole number is a double
local SLOW = -EXACT -- says of a plan that it needs the whole script, and nothing was done
local EPOCH = 1767225600000000 -- 2026-01-01T00:00:00Z
local LATEST = 900000000000000 -- beyond that many microseconds after it, no short form (see bucket.lua)

-- A key outlives what it must remember by SLACK and up to a GRAIN more: it ends on a whole GRAIN since
-- EPOCH, or within a second after it where it is written in whole seconds, so a bucket alone says
-- whether a later moment needs a later end.
local SLACK, GRAIN = 60000000, 300000000
