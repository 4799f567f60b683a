-- If the hand-over fails, for lack of memory or rights, the lock is still given back, and the waiters ask again.
pcall(hand_over)
return {is_ours and 1 or 0, here}
