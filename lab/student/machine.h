/* Tells what to do about a machine that lacks something. */
#ifndef LAB_MACHINE_H
#define LAB_MACHINE_H

#include <stddef.h>

/* Add "; " and the mend to a text, which may quote several lines of other programs, if one of them
 * is the system's text about a lack of processes, room, memory or files. */
void machine_advise(char *text, size_t size);
/* The first line of `text` with such a text of the system, or else its first line. `length` becomes
 * its length. */
const char *machine_reason(const char *text, size_t *length);

#endif
