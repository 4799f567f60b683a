/* Tells what to do about a machine that lacks something. */
#ifndef LAB_MACHINE_H
#define LAB_MACHINE_H

#include <stddef.h>
#include <stdint.h>

/* What takes longer than this stands still, and so does the machine: there is no grade. Tests
 * shorten it. */
extern int64_t machine_wall_ms;

/* Add "; " and the mend to a text, which may quote several lines of other programs, if one of them
 * is the system's text about a lack of processes, room, memory or files. */
void machine_advise(char *text, size_t size);
/* The first line of `text` with such a text of the system, or else its first line. `length` becomes
 * its length. */
const char *machine_reason(const char *text, size_t *length);

#endif
