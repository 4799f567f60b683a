/* The style of the page, in the program: a text that ends with a NUL. */
    .section .rodata
    .global report_style
report_style:
    .incbin "loadgen/page/palette.css"
    .incbin "lockjudge/report/page.css"
    .byte 0
    .section .note.GNU-stack, "", @progbits
