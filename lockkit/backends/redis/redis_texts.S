/* The Lua scripts, in the program: texts that end with a NUL. */
    .section .rodata
    .global redis_acquire, redis_renew, redis_renew_shared, redis_release, redis_inspect, redis_break
    .hidden redis_acquire, redis_renew, redis_renew_shared, redis_release, redis_inspect, redis_break
redis_acquire:
    .incbin "lockkit/backends/redis/lua/acquire_free.lua"
    .incbin "lockkit/backends/redis/lua/clock.lua"
    .incbin "lockkit/backends/redis/lua/mint.lua"
    .incbin "lockkit/backends/redis/lua/acquire_new.lua"
    .incbin "lockkit/backends/redis/lua/line.lua"
    .incbin "lockkit/backends/redis/lua/acquire_line.lua"
    .byte 0
redis_renew:
    .incbin "lockkit/backends/redis/lua/renew.lua"
    .byte 0
redis_renew_shared:
    .incbin "lockkit/backends/redis/lua/clock.lua"
    .incbin "lockkit/backends/redis/lua/renew_shared.lua"
    .byte 0
redis_release:
    .incbin "lockkit/backends/redis/lua/release_alone.lua"
    .incbin "lockkit/backends/redis/lua/clock.lua"
    .incbin "lockkit/backends/redis/lua/mint.lua"
    .incbin "lockkit/backends/redis/lua/line.lua"
    .incbin "lockkit/backends/redis/lua/release_line.lua"
    .incbin "lockkit/backends/redis/lua/hand_over.lua"
    .byte 0
redis_inspect:
    .incbin "lockkit/backends/redis/lua/clock.lua"
    .incbin "lockkit/backends/redis/lua/inspect.lua"
    .byte 0
redis_break:
    .incbin "lockkit/backends/redis/lua/clock.lua"
    .incbin "lockkit/backends/redis/lua/mint.lua"
    .incbin "lockkit/backends/redis/lua/line.lua"
    .incbin "lockkit/backends/redis/lua/break.lua"
    .incbin "lockkit/backends/redis/lua/hand_over.lua"
    .byte 0
    .section .note.GNU-stack, "", @progbits
