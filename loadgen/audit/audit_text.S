/* The text of sql/audit.sql, in the program: the queries that judge are the ones that people run. */
    .section .rodata
    .global audit_text
audit_text:
    .incbin "sql/audit.sql"
    .byte 0
    .section .note.GNU-stack, "", @progbits
