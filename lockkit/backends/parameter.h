/* A parameter of a URL. */
#ifndef LOCKKIT_PARAMETER_H
#define LOCKKIT_PARAMETER_H

#include <stdbool.h>
#include <stddef.h>

/* Takes `name=value` out of the query of `url`, so that others need not know it. True when it was
 * there, and then `value` has it, cut to `size`. */
bool parameter_take(char *url, const char *name, char *value, size_t size);

#endif
