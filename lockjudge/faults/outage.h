/* Faults of the server itself: the user's command makes them (servers.h). For faults.c. */
#ifndef LOCKJUDGE_OUTAGE_H
#define LOCKJUDGE_OUTAGE_H

#include "fault.h"

int pause_begin(struct fault_site *site, struct why *why);
int pause_end(struct fault_site *site, struct why *why);
int down_begin(struct fault_site *site, struct why *why);
int down_end(struct fault_site *site, struct why *why);
int restart_begin(struct fault_site *site, struct why *why);
int empty_begin(struct fault_site *site, struct why *why);
int flush_begin(struct fault_site *site, struct why *why);
int evict_begin(struct fault_site *site, struct why *why);
int failover_prepare(struct fault_site *site, struct why *why);
int failover_begin(struct fault_site *site, struct why *why);
int failover_restore(struct fault_site *site, struct why *why);
int scripts_begin(struct fault_site *site, struct why *why);
/* For a fault that is over at once: it lasts only so that others can get the lock meanwhile. */
int nothing_end(struct fault_site *site, struct why *why);

#endif
