/* A moment of the wall clock as text: ISO 8601, UTC. */
#ifndef UVKIT_ISO_TIME_H
#define UVKIT_ISO_TIME_H

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define ISO_TIME 40

/* "2026-11-21T10:01:02.123Z" from microseconds since 1970; "" for a moment without a date. Returns
 * `text`. */
static inline const char *iso_time(char text[ISO_TIME], int64_t us) {
    time_t seconds = (time_t)(us / 1000000);
    struct tm utc;
    size_t used;

    text[0] = '\0';
    if (us < 0 || gmtime_r(&seconds, &utc) == NULL)
        return text;
    used = strftime(text, ISO_TIME, "%Y-%m-%dT%H:%M:%S", &utc);
    assert(used > 0 && used + sizeof ".123Z" <= ISO_TIME);
    snprintf(text + used, ISO_TIME - used, ".%03dZ", (int)(us / 1000 % 1000));
    return text;
}

/* Reads "2026-11-21T10:01:02.123Z", also without the fraction, into microseconds since 1970. Returns
 * 0, or -1 for another text. */
static inline int iso_time_read(const char *text, int64_t *us) {
    struct tm utc = {.tm_isdst = 0};
    const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &utc);
    int64_t scale = 100000;

    if (rest == NULL)
        return -1;
    *us = (int64_t)timegm(&utc) * 1000000;
    if (*rest == '.')
        for (rest++; *rest >= '0' && *rest <= '9'; rest++, scale /= 10)
            *us += (*rest - '0') * scale;
    return strcmp(rest, "Z") == 0 && *us > 0 ? 0 : -1;
}

#endif
