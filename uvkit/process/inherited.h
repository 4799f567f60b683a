/* Mends the state that the launcher left to this process: closed standard descriptors, an ignored
 * SIGCHLD, and blocked signals. Cron jobs, supervisors and daemons start programs like that. */
#ifndef UVKIT_INHERITED_H
#define UVKIT_INHERITED_H

/* Call it first in main(), before libuv opens a descriptor or a child starts. Exits with 71 and a
 * line on stderr when a standard descriptor is closed and /dev/null cannot take its place. */
void inherited_mend(void);

#endif
