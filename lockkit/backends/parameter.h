/* A parameter of a URL. */
#ifndef LOCKKIT_PARAMETER_H
#define LOCKKIT_PARAMETER_H

#include <stdbool.h>
#include <stddef.h>

/* Takes `name=value` out of the query of `url`, so that others need not know it. True when it was
 * there, and then `value` has it, cut to `size`. */
bool parameter_take(char *url, const char *name, char *value, size_t size);

/* The same for a number; false when what stands there is none from 1 to `most`. Then, and when
 * nothing stands there, `*number` stays. */
bool parameter_take_number(char *url, const char *name, unsigned most, unsigned *number);

/* Whether `url` has another one than `name`. */
bool parameter_has_others(const char *url, const char *name);

#endif
