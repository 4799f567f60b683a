/* The file to start from: a text in the program, which ends with a NUL. */
    .section .rodata
    .global draft_text
draft_text:
    .incbin "loadgen/shop/draft.shop"
    .byte 0
    .section .note.GNU-stack, "", @progbits
