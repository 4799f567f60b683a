/* Reads numbers: strtod() for what it and we both take. */
#include "number.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

const char *number_read(const char *text, double *value) {
    size_t length = strspn(text, "0123456789.");
    char digits[32], *end;

    *value = 0;
    if (length == 0 || length >= sizeof digits)
        return NULL;
    memcpy(digits, text, length);
    digits[length] = '\0';
    if (!isdigit((unsigned char)digits[0]) || !isdigit((unsigned char)digits[length - 1]))
        return NULL;
    *value = strtod(digits, &end);
    return *end == '\0' ? text + length : NULL;
}

int number_read_part(const char *text, double *part) {
    const char *rest = number_read(text, part);

    if (rest == NULL)
        return -1;
    if (*rest == '%') {
        *part /= 100;
        rest++;
    }
    return *rest == '\0' && *part <= 1 ? 0 : -1;
}

int number_read_scaled(const char *text, double *value) {
    const char *rest = number_read(text, value);

    if (rest == NULL)
        return -1;
    if (*rest == 'k' || *rest == 'm')
        *value *= *rest++ == 'k' ? 1e3 : 1e6;
    return *rest == '\0' ? 0 : -1;
}
