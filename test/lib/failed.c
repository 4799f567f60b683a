/* Replaces a function of cmocka, and prints at once why a test failed. cmocka prints it after the
 * tear-down, which may crash or hang after a test that ended in the middle, and so hide it. */
#include "test.h"

/* It is in cmocka's library, but in no header. */
void cm_print_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

void cm_print_error(const char *format, ...) {
    va_list args;

    va_start(args, format);
    vprint_error(format, args);
    va_end(args);
    if (format[strlen(format) - 1] != '\n')
        print_error("\n");
}
