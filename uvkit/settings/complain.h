/* What a program says on stderr when something is wrong. */
#ifndef UVKIT_COMPLAIN_H
#define UVKIT_COMPLAIN_H

#include <stdarg.h>

/* "PROGRAM: ..." in one printable line (utf8.h), so that what it repeats of an argument or a file
 * commands no terminal and forges no line. */
__attribute__((format(printf, 2, 3))) void complain(const char *program, const char *format, ...);
__attribute__((format(printf, 2, 0))) void complain_list(const char *program, const char *format,
                                                         va_list args);

#endif
