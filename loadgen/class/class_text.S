/* Compiles the files of the page into the program, as texts that end with a NUL. */
    .section .rodata
    .global class_html, class_css, class_dom_js, class_steps_js, class_js
class_html:
    .incbin "loadgen/class/class.html"
    .byte 0
class_css:
    .incbin "loadgen/page/palette.css"
    .incbin "loadgen/page/steps.css"
    .incbin "loadgen/class/class.css"
    .byte 0
class_dom_js:
    .incbin "loadgen/page/dom.js"
    .byte 0
class_steps_js:
    .incbin "loadgen/page/steps.js"
    .byte 0
class_js:
    .incbin "loadgen/class/class.js"
    .byte 0
    .section .note.GNU-stack, "", @progbits
