/* What a program does to its own client while it holds the lock: it forks, or it asks for many other
 * locks. The worker does it, when it is asked (docs/lockjudge.md). */
#ifndef LOCKJUDGE_CLIENT_H
#define LOCKJUDGE_CLIENT_H

#include "fault.h"

/* The child is asked whether it holds the lock, and then it ends. */
int client_fork_begin(struct fault_site *site, struct why *why);
/* The child is asked, and then it releases. It ends with the fault. */
int client_fork_free_begin(struct fault_site *site, struct why *why);
int client_fork_end(struct fault_site *site, struct why *why);
/* The worker goes on for longer than the fault lasts. */
int client_load_begin(struct fault_site *site, struct why *why);
/* Notes for how long the worker waited for a processor. */
int client_load_end(struct fault_site *site, struct why *why);

#endif
