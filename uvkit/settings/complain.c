/* One call per line, so that lines of several processes do not mix. */
#include "complain.h"

#include "utf8.h"

#include <stdio.h>

#define LINE_BYTES 2048

void complain_list(const char *program, const char *format, va_list args) {
    char line[LINE_BYTES];

    (void)vsnprintf(line, sizeof line, format, args);
    utf8_make_printable(line);
    (void)fprintf(stderr, "%s: %s\n", program, line);
}

void complain(const char *program, const char *format, ...) {
    va_list args;

    va_start(args, format);
    complain_list(program, format, args);
    va_end(args);
}
