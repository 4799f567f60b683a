/* Why a test failed is said at once, in place of cmocka's own function, which says it once the
 * tear-down is over: of a test that ended in the middle that may crash or hang, and hide it. */
#include "test.h"

/* Of the library, and in no header. */
void cm_print_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

void cm_print_error(const char *format, ...) {
    va_list args;

    va_start(args, format);
    vprint_error(format, args);
    va_end(args);
    if (format[strlen(format) - 1] != '\n')
        print_error("\n");
}
