/* Durations as text for people. */
#include "duration.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>

static const struct {
    double ns;
    const char *name;
} units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}, {1, "ns"}};

#define UNITS (sizeof units / sizeof units[0])

static size_t unit_of(double ns) {
    size_t u = 0;

    while (u + 1 < UNITS && ns < units[u].ns * 0.9995)
        u++;
    return u;
}

static int decimals(double value, size_t u) {
    return value < 9.95 && u + 1 < UNITS ? 1 : 0;
}

const char *duration_text(char text[DURATION_TEXT], int64_t ns) {
    size_t u = unit_of((double)ns);
    double value = (double)ns / units[u].ns;

    snprintf(text, DURATION_TEXT, "%.*f %s", decimals(value, u), value, units[u].name);
    return text;
}

const char *duration_ms(char text[DURATION_TEXT], double ms) {
    return duration_text(text, llround(ms * 1e6));
}

const char *duration_exact(char text[DURATION_TEXT], int64_t ns) {
    size_t u = unit_of((double)ns);

    snprintf(text, DURATION_TEXT, "%.4g %s", (double)ns / units[u].ns, units[u].name);
    return text;
}

const char *duration_range(char text[DURATION_RANGE], double median_ms, double min_ms,
                           double max_ms) {
    size_t u = unit_of(median_ms * 1e6);
    double min = min_ms * 1e6 / units[u].ns, max = max_ms * 1e6 / units[u].ns;

    snprintf(text, DURATION_RANGE, "%.*f–%.*f", decimals(min, u), min, decimals(max, u), max);
    return text;
}
