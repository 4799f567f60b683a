/* Faults between a worker and its server: the proxy of the victim makes them. For faults.c. */
#ifndef LOCKJUDGE_NETWORK_H
#define LOCKJUDGE_NETWORK_H

#include "fault.h"

int freeze_begin(struct fault_site *site, struct why *why);
int drop_begin(struct fault_site *site, struct why *why);
int delay_begin(struct fault_site *site, struct why *why);
int cut_begin(struct fault_site *site, struct why *why);
int tear_begin(struct fault_site *site, struct why *why);
int network_end(struct fault_site *site, struct why *why);

#endif
