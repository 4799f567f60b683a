/* Reads numbers. strtod() reads texts of the form that we accept. */
#include "number.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define US_NS INT64_C(1000)
#define MS_NS (1000 * US_NS)
#define S_NS  (1000 * MS_NS)

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

static int parse_digits(const char **text, int64_t *value) {
    const char *at = *text;

    *value = 0;
    for (; isdigit((unsigned char)*at); at++)
        if (__builtin_mul_overflow(*value, 10, value) ||
            __builtin_add_overflow(*value, *at - '0', value))
            return -1;
    if (at == *text)
        return -1;
    *text = at;
    return 0;
}

int number_read_int(const char *text, int64_t *value) {
    bool is_negative = *text == '-';
    int64_t scale = is_negative ? -1 : 1;
    int64_t number;

    text += is_negative;
    if (parse_digits(&text, &number) != 0)
        return -1;
    if (*text == 'k' || *text == 'm')
        scale *= *text++ == 'k' ? 1000 : 1000000;
    if (*text != '\0' || __builtin_mul_overflow(number, scale, &number))
        return -1;
    *value = number;
    return 0;
}

/* The length of the unit `name` in nanoseconds, or 0. */
static int64_t unit_ns(const char *name) {
    static const struct {
        const char *name;
        int64_t ns;
    } units[] = {{"ns", 1},   {"us", US_NS},    {"ms", MS_NS},
                 {"s", S_NS}, {"m", 60 * S_NS}, {"h", 3600 * S_NS}};

    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(units[i].name, name) == 0)
            return units[i].ns;
    return 0;
}

/* Add the decimals at *text, of a unit of `ns` nanoseconds; -1 when they are finer than a
 * nanosecond. */
static int add_decimals(const char **text, int64_t ns, int64_t *total) {
    if (!isdigit((unsigned char)**text))
        return -1;
    for (; isdigit((unsigned char)**text); ++*text) {
        if (ns % 10 != 0)
            return -1;
        ns /= 10;
        if (__builtin_add_overflow(*total, (**text - '0') * ns, total))
            return -1;
    }
    return 0;
}

int number_read_duration(const char *text, int64_t *ns) {
    int64_t unit = strcmp(text, "0") == 0 ? 1 : unit_ns(text + strspn(text, "0123456789."));
    int64_t total;

    if (unit == 0 || parse_digits(&text, &total) != 0 ||
        __builtin_mul_overflow(total, unit, &total))
        return -1;
    if (*text == '.') {
        text++;
        if (add_decimals(&text, unit, &total) != 0 || *text == '.')
            return -1;
    }
    *ns = total;
    return 0;
}
