/* Compiles the files of the page into the program, as texts that end with a NUL. */
    .section .rodata
    .global page_html, page_style, page_script
page_html:
    .incbin "loadgen/page/page.html"
    .byte 0
page_style:
    .incbin "loadgen/page/palette.css"
    .incbin "loadgen/page/page.css"
    .byte 0
page_script:
    .incbin "loadgen/page/dom.js"
    .incbin "loadgen/page/axes.js"
    .incbin "loadgen/page/shop.js"
    .incbin "loadgen/page/overview.js"
    .incbin "loadgen/page/tables.js"
    .incbin "loadgen/page/charts.js"
    .incbin "loadgen/page/lanes.js"
    .incbin "loadgen/page/page.js"
    .byte 0
    .section .note.GNU-stack, "", @progbits
