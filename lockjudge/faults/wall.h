/* The wall clock of the victim jumps, and stays there. A library of ours in the victim does it
 * (lockjudge/clock). The row is not asked if a process of the victim has not loaded it: a static
 * program, or one in Go. */
#ifndef LOCKJUDGE_WALL_H
#define LOCKJUDGE_WALL_H

#include "fault.h"

int wall_prepare(struct fault_site *site, struct why *why);
int wall_ahead_begin(struct fault_site *site, struct why *why);
int wall_behind_begin(struct fault_site *site, struct why *why);
int wall_end(struct fault_site *site, struct why *why);
int wall_restore(struct fault_site *site, struct why *why);

#endif
