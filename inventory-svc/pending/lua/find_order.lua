-- Order. Answers like read_notes.lua: {0, note, ...}: all notes with this order. If Redis remembers the order, but has no such note,
-- or too many to read: as if a note 0-0 had it alone. The ledger may have it.
-- include parts/find.lua
local order, answer = ARGV[1], {0}
for _, note in ipairs(redis.call('xrange', KEYS[1] .. ':notes', '-', '+', 'count', notes_to_read)) do
  if note[2][6]:find(order, 1, true) then
    answer[#answer + 1] = note[1]
    for i = 2, 6, 2 do answer[#answer + 1] = note[2][i] end
  end
end
if #answer > 1 then return answer end
local place, instance = (redis.call('hget', KEYS[1] .. ':orders', order) or ''):match('^(%d+ %d+ %d+) (.*)$')
return place and {0, '0-0', place, instance, order} or answer
