/* A parameter of a URL. */
#ifndef LOCKKIT_PARAMETER_H
#define LOCKKIT_PARAMETER_H

#include <stdbool.h>
#include <stddef.h>

/* Take `name=value` out of the query of `url`, so that later parsers need not know it. True if it
 * was there; then `value` has it, cut to `size`. */
bool parameter_take(char *url, const char *name, char *value, size_t size);

/* The same for a number. False if the value is not a number from 1 to `most`. Then, and if there is
 * no such parameter, `*number` stays as it was. */
bool parameter_take_number(char *url, const char *name, unsigned most, unsigned *number);

/* Whether `url` has a parameter other than `name`. */
bool parameter_has_others(const char *url, const char *name);

#endif
