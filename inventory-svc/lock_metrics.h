/* lockkit's own counts as metrics, which are asked for when they are printed. */
#ifndef INVENTORY_LOCK_METRICS_H
#define INVENTORY_LOCK_METRICS_H

#include <lockkit.h>

/* Both clients must live as long as metrics may be printed. */
void lock_metrics_register(lk_client *local, lk_client *redis);

#endif
