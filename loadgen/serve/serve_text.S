/* The head of the list of runs in the program: a text that ends with a NUL. */
    .section .rodata
    .global serve_index_head
serve_index_head:
    .incbin "loadgen/serve/index_head.html"
    .incbin "loadgen/page/palette.css"
    .incbin "loadgen/serve/index.css"
    .asciz "</style>\n</head>\n<body>\n<h1>Runs</h1>\n"
    .section .note.GNU-stack, "", @progbits
