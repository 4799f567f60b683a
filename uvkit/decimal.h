/* Numbers as decimal digits, like snprintf() with PRId64, for a hot path. */
#ifndef UVKIT_DECIMAL_H
#define UVKIT_DECIMAL_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define DECIMAL_BYTES 21 /* "-9223372036854775808" and its NUL */

/* Writes `number` and a NUL; returns the length. */
static inline size_t decimal_write(char text[DECIMAL_BYTES], int64_t number) {
    char digits[DECIMAL_BYTES];
    size_t at = sizeof digits - 1;
    uint64_t rest = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;

    digits[at] = '\0';
    do {
        digits[--at] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (number < 0)
        digits[--at] = '-';
    memcpy(text, digits + at, sizeof digits - at);
    return sizeof digits - 1 - at;
}

/* Thousandths, not negative, as "1.234". */
static inline size_t decimal_write_thousandths(char text[DECIMAL_BYTES + 2], int64_t number) {
    size_t at = decimal_write(text, number / 1000);
    char digits[DECIMAL_BYTES];

    (void)decimal_write(digits, 1000 + number % 1000); /* the 1 keeps leading zeros */
    digits[0] = '.';
    memcpy(text + at, digits, sizeof ".234");
    return at + 4;
}

#endif
