/* See sql_time.h. */
#include "sql_time.h"

#include <stdio.h>
#include <string.h>

#define SECONDS  (sizeof "2026-11-21T10:01:02" - 1)
#define FRACTION 6

int64_t sql_time(const char *text) {
    char digits[] = "000000", at[LEDGER_TIME];
    const char *zone = text;
    size_t count = 0;

    if (strlen(text) <= SECONDS || (text[10] != ' ' && text[10] != 'T'))
        return 0;
    zone += SECONDS;
    if (*zone == '.') {
        count = strspn(zone + 1, "0123456789");
        memcpy(digits, zone + 1, count < FRACTION ? count : FRACTION);
        zone += 1 + count;
    }
    if (strcmp(zone, "Z") != 0 && strcmp(zone, "+00") != 0 && strcmp(zone, "+00:00") != 0)
        return 0;
    (void)snprintf(at, LEDGER_TIME, "%.10sT%.8s.%sZ", text, text + 11, digits);
    return ledger_time_us(at);
}
