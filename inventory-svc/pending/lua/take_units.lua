-- Instance; "<order> <order> ..." without earlier calls; how many of the others have asked before; the others, these first: they
-- may be repeats.
-- Each order takes the next unit. Answers, in the order of the others and then of the first list:
--   "sold <row> <first unit> <units before> <half> <orders> <note>"  so many orders took a run of units, with this note;
--                                      half is 1 if half of the last row is left since
--   "again <row> <first unit> <units before> <instance>"  one order that had its unit
--   "empty" | "over"                   one order: nothing is loaded; or no row is left to load either
-- include parts/find.lua
local orders, instance, new, last_asked = KEYS[1] .. ':orders', ARGV[1], ARGV[2], 3 + ARGV[3]
local seen = redis.call('hmget', KEYS[1], 'shard', 'first', 'left', 'units', 'over')
local shard, first, left, units, over = seen[1], seen[2], tonumber(seen[3] or 0), tonumber(seen[4] or 0), seen[5]
local answers, places, fields, begun = {}, {}, {}, 0
-- The ledger is far behind. A call makes 256 notes at most.
local is_behind = redis.call('xlen', KEYS[1] .. ':notes') + 256 > notes_to_read

local function remember(order, place) fields[#fields + 1], fields[#fields + 2] = order, place end

if #ARGV > 3 then
  local known, asked = redis.call('hmget', orders, unpack(ARGV, 4)), {}
  for i = 4, #ARGV do
    places[ARGV[i]] = known[i - 3] or nil
    if i <= last_asked and not known[i - 3] then asked[ARGV[i]] = true end
  end
  if next(asked) then find(asked, places) end
end

local function has_unit()
  if left > 0 then return true end
  local segment = redis.call('lindex', KEYS[1] .. ':segments', begun)
  if not segment then return false end
  begun = begun + 1
  shard, first, units = segment:match('(%d+) (%d+) (%d+)')
  left, units = tonumber(units), tonumber(units)
  return true
end

-- Sell to `count` orders. ids(i, n) is the text of n of them, from the i-th. note_place(i, place) is told each place; or nil.
-- Returns how many got a unit.
local function sell(count, ids, note_place)
  local at = 0
  while at < count and has_unit() do
    local run, half = math.min(left, count - at), math.floor(units / 2)
    local is_half = left > half and left - run <= half and not over and redis.call('llen', KEYS[1] .. ':segments') == begun
    local note = redis.call('xadd', KEYS[1] .. ':notes', '*', 'at', shard .. ' ' .. first .. ' ' .. left, 'by', instance,
      'orders', ids(at, run))
    answers[#answers + 1] = table.concat({'sold', shard, first, left, is_half and 1 or 0, run, note}, ' ')
    for i = at, note_place and at + run - 1 or -1 do
      note_place(i, shard .. ' ' .. first .. ' ' .. left - (i - at) .. ' ' .. instance)
    end
    left, at = left - run, at + run
  end
  return at
end

-- No unit is left for the others from the i-th to the one before the j-th. But a note may have one of them, from a sale that was
-- no repeat.
local function refuse(i, j)
  local wanted = {}
  for at = i, j - 1 do wanted[ARGV[at]], places[ARGV[at]] = true, nil end
  if i < j then find(wanted, places) end
  for at = i, j - 1 do
    local place = places[ARGV[at]]
    answers[#answers + 1] = place and 'again ' .. place or over and 'over' or 'empty'
  end
end

local i = 4
while i <= #ARGV do
  if places[ARGV[i]] then
    answers[#answers + 1] = 'again ' .. places[ARGV[i]]
    i = i + 1
  else
    local from = i
    repeat
      places[ARGV[i]] = true
      i = i + 1
    until i > #ARGV or places[ARGV[i]]
    local sold = sell(i - from, function(at, run) return table.concat(ARGV, ' ', from + at, from + at + run - 1) end,
      function(at, place)
        places[ARGV[from + at]] = place
        remember(ARGV[from + at], place)
      end)
    refuse(from + sold, i)
  end
end
local count = math.floor((#new + 1) / 37)
local sold = sell(count, function(at, run) return new:sub(37 * at + 1, 37 * (at + run) - 1) end,
  is_behind and function(at, place) remember(new:sub(37 * at + 1, 37 * at + 36), place) end)
for _ = sold, count - 1 do
  answers[#answers + 1] = over and 'over' or 'empty'
end
-- A full Redis has refused the first note by now. So no segment is lost.
for _ = 1, begun do redis.call('lpop', KEYS[1] .. ':segments') end
if begun > 0 or left ~= tonumber(seen[3] or 0) then
  redis.call('hset', KEYS[1], 'shard', shard, 'first', first, 'left', left, 'units', units)
end
if #fields > 0 then redis.call('hset', orders, unpack(fields)) end
return answers
