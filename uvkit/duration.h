/* Durations as text for people. */
#ifndef UVKIT_DURATION_H
#define UVKIT_DURATION_H

#include <stdint.h>

#define DURATION_TEXT 16
/* "850 µs", "4.1 ms", "12 ms", "1.2 s"; returns `text`, which may be a table's cell. */
const char *duration_text(char text[DURATION_TEXT], int64_t ns);
const char *duration_ms(char text[DURATION_TEXT], double ms);
/* The same with four digits, "250.3 ms", to print beside a limit. */
const char *duration_exact(char text[DURATION_TEXT], int64_t ns);

#define DURATION_RANGE 32
/* A range of times, in the unit in which duration_text() prints their median: "12–19". Returns
 * `text`. */
const char *duration_range(char text[DURATION_RANGE], double median_ms, double min_ms,
                           double max_ms);

#endif
