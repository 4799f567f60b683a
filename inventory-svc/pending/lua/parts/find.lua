-- So many notes are read at most. take_units.lua lists the orders of all notes behind them.
local notes_to_read = 1000

-- Sets found[order] = "<row> <first unit> <units before> <instance>" for each order with a key in `wanted` that is in a note.
local function find(wanted, found)
  for _, note in ipairs(redis.call('xrange', KEYS[1] .. ':notes', '-', '+', 'count', notes_to_read)) do
    local segment, before = note[2][2]:match('^(%d+ %d+ )(%d+)$')
    for order in note[2][6]:gmatch('%S+') do
      if segment and wanted[order] then found[order] = segment .. before .. ' ' .. note[2][4] end
      before = segment and before - 1
    end
  end
end
