-- What cannot be handed over now, without memory or rights, must not hide that it was given back: who waits asks again.
pcall(hand_over)
return {is_ours and 1 or 0, here}
