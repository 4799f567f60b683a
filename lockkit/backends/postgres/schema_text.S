/* The text of lockkit.sql, in the library: what it makes by itself is what people can make. */
    .section .rodata
    .global lockkit_schema_text
    .hidden lockkit_schema_text
lockkit_schema_text:
    .incbin "lockkit/backends/postgres/lockkit.sql"
    .byte 0
    .section .note.GNU-stack, "", @progbits
