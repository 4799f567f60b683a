/* lockkit's own counts as metrics, which are asked for when they are printed. */
#ifndef INVENTORY_LOCK_METRICS_H
#define INVENTORY_LOCK_METRICS_H

#include "lock_servers.h"

/* Of each that has a URL. They must live as long as metrics may be printed. */
void lock_metrics_register(const struct lock_servers *servers);

#endif
