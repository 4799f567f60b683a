/* The lesser and the greater of two numbers. And numbers and durations as people write them: plain,
 * without exponent, hex, nan or inf. */
#ifndef UVKIT_NUMBER_H
#define UVKIT_NUMBER_H

#include <stdint.h>

static inline int64_t number_min(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static inline int64_t number_max(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* Read digits, perhaps with a point. Returns the rest of the text, or NULL when it is not a number.
 */
const char *number_read(const char *text, double *value);

/* Read the whole of `text` as a part of something, 0..1: "5%" or "0.05". 0, or -1 for any other
 * text. */
__attribute__((warn_unused_result)) int number_read_part(const char *text, double *part);
/* Read the whole of `text` as a number, perhaps in thousands or millions: "100", "20k", "1.5m". */
__attribute__((warn_unused_result)) int number_read_scaled(const char *text, double *value);

/* Read the whole of `text` as a whole number: "-3", "100", "20k", "2m". 0, or -1 for any other
 * text. */
int number_read_int(const char *text, int64_t *value);
/* Read the whole of `text` as a duration in ns, us, ms, s, m or h: "0", "1.5ms", "2s". 0, or -1 for
 * any other text, or for one finer than a nanosecond. */
int number_read_duration(const char *text, int64_t *ns);

#endif
