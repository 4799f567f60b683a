/* Mends a process that its launcher started with a state it cannot work with: standard descriptors
 * that are closed, an ignored SIGCHLD, and blocked signals. Cron jobs, supervisors and daemons
 * start programs like that. */
#ifndef UVKIT_INHERITED_H
#define UVKIT_INHERITED_H

/* The first call in main(), before libuv opens a descriptor or a child starts. Exits with 71 and a
 * line on stderr when a standard descriptor is closed and /dev/null cannot take its place. */
void inherited_mend(void);

#endif
