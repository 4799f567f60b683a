/* The files of the page, in the program: texts that end with a NUL. */
    .section .rodata
    .global tell_page_html, tell_page_style, tell_page_script
tell_page_html:
    .incbin "lab/tell/page.html"
    .byte 0
tell_page_style:
    .incbin "loadgen/page/palette.css"
    .incbin "lab/tell/page.css"
    .incbin "loadgen/page/steps.css"
    .byte 0
tell_page_script:
    .incbin "loadgen/page/steps.js"
    .byte 0
    .section .note.GNU-stack, "", @progbits
