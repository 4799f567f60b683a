/* Compiles the file to start from into the program, as a text that ends with a NUL. */
    .section .rodata
    .global draft_text
draft_text:
    .incbin "loadgen/shop/draft.shop"
    .byte 0
    .section .note.GNU-stack, "", @progbits
