/* Reads a flat JSON object without a tree or an allocation, for the small messages of a hot path.
 *
 * Flat is an object of strings in printable ASCII, integers, true and false, each name once.
 * Strings have no escapes other than of a quote, a backslash or a slash. Anything else is rejected:
 * pass it to json_read(), which reports the error. */
#ifndef UVKIT_JSON_FLAT_H
#define UVKIT_JSON_FLAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JSON_FLAT_MEMBERS 16
#define JSON_FLAT_BYTES   768 /* names and strings, each with its NUL */

enum json_flat_kind { JSON_FLAT_STRING, JSON_FLAT_INTEGER, JSON_FLAT_BOOLEAN };

/* May be copied. Zeroed, it is an empty object. */
struct json_flat {
    unsigned count, used;
    struct {
        enum json_flat_kind kind;
        unsigned name, text; /* where they begin in `bytes`; text only of a string */
        int64_t number;      /* an integer, or 1 for true */
    } members[JSON_FLAT_MEMBERS];
    char bytes[JSON_FLAT_BYTES];
};

/* False: it is not flat, or too large, or bytes follow it; then `flat` is empty. */
bool json_flat_read(struct json_flat *flat, const char *bytes, size_t length);
/* Read an object that others may follow. Returns the place behind it, or NULL. */
const char *json_flat_read_next(struct json_flat *flat, const char *bytes, const char *end);

/* NULL when no string has this name. */
const char *json_flat_text(const struct json_flat *flat, const char *name);
/* False when no integer has this name. */
bool json_flat_integer(const struct json_flat *flat, const char *name, int64_t *number);
bool json_flat_is_true(const struct json_flat *flat, const char *name);

#endif
