/* A program's message on stderr when something is wrong. */
#ifndef UVKIT_COMPLAIN_H
#define UVKIT_COMPLAIN_H

#include <stdarg.h>

/* Print "PROGRAM: ..." in one printable line (utf8.h), so that a quoted argument or file cannot
 * command a terminal or forge a line. */
__attribute__((format(printf, 2, 3))) void complain(const char *program, const char *format, ...);
__attribute__((format(printf, 2, 0))) void complain_list(const char *program, const char *format,
                                                         va_list args);

#endif
