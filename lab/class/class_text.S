/* The files of the page, in the program: texts that end with a NUL. */
    .section .rodata
    .global class_wrong_html, class_wrong_style
class_wrong_html:
    .incbin "lab/class/wrong.html"
    .byte 0
class_wrong_style:
    .incbin "loadgen/page/palette.css"
    .incbin "lab/class/wrong.css"
    .byte 0
    .section .note.GNU-stack, "", @progbits
