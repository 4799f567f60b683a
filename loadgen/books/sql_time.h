/* Moments as databases print them. */
#ifndef LOADGEN_SQL_TIME_H
#define LOADGEN_SQL_TIME_H

#include "ledger.h"

/* A moment in microseconds since 1970. `text` has the zone UTC (Z, +00 or +00:00), and a T or a
 * blank between date and time. 0 for any other text. */
int64_t sql_time(const char *text);

#endif
