/* The text of sql/audit.sql, in the program: the queries that judge are the ones that people run. */
    .section .rodata
    .global audit_text
    .global audit_text_end
audit_text:
    .incbin "sql/audit.sql"
audit_text_end:
    .byte 0
    .section .note.GNU-stack, "", @progbits
