/* The processes of a process group, as /proc shows them. A process that has ended, and that its
 * parent has not reaped, is none. */
#ifndef LOCKJUDGE_GROUP_H
#define LOCKJUDGE_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

bool group_has(pid_t group, pid_t pid);
/* Up to `room` processes of the group. Returns how many; processes that begin or end meanwhile may
 * be missing. */
size_t group_members(pid_t group, pid_t *pids, size_t room);

#endif
