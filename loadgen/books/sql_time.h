/* Moments as databases print them. */
#ifndef LOADGEN_SQL_TIME_H
#define LOADGEN_SQL_TIME_H

#include "ledger.h"

/* Writes a moment in the form of a ledger: "2026-11-21T10:01:02.123456Z". `text` has the zone UTC
 * (Z, +00 or +00:00), and a T or a blank between date and time. False for any other text; then `at`
 * is "". */
bool sql_time(char at[LEDGER_TIME], const char *text);

#endif
