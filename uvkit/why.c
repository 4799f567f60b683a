/* See why.h. */
#include "why.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

int why_set(struct why *why, const char *format, ...) {
    va_list list;

    assert(why != NULL);
    va_start(list, format);
    (void)vsnprintf(why->text, sizeof why->text, format, list);
    va_end(list);
    return -1;
}
