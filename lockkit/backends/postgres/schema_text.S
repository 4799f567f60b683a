/* The text of lockkit.sql, in the library: both ways to make the table are the same. */
    .section .rodata
    .global lockkit_schema_text
    .hidden lockkit_schema_text
lockkit_schema_text:
    .incbin "lockkit/backends/postgres/lockkit.sql"
    .byte 0
    .section .note.GNU-stack, "", @progbits
