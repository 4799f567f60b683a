/* Between lockjudge and the library lockjudge-clock.so in its worker (lockjudge/clock): the page
 * that tells how far the worker's wall clock is from the real one. lockjudge makes it without a
 * path, so nothing is left of it when lockjudge has ended. */
#ifndef LOCKJUDGE_CLOCK_PAGE_H
#define LOCKJUDGE_CLOCK_PAGE_H

#include <stdint.h>

#define CLOCK_PAGE_VARIABLE "LOCKJUDGE_CLOCK"  /* a path of the page, for the worker */
#define CLOCK_PAGE_NAME     "lockjudge-clock-" /* and the judge's process id: in /proc/PID/maps */

struct clock_page {
    int64_t shift_ns; /* atomic */
};

#endif
