/* Until when servers were down. */
#ifndef LOADGEN_OUTAGE_H
#define LOADGEN_OUTAGE_H

#include "event.h"
#include "record.h"

#include <stdint.h>

/* On the round's clock: until when a server was known to be down without which nothing can be sold,
 * or a request did not reach the target; EVENT_OPEN when it was at the end, 0 for never. An
 * instance is such a server only while each other that sold anything is down, too. `events` may be
 * NULL. */
int64_t outage_end(const struct event_list *events, const struct recorder *recorder);

#endif
