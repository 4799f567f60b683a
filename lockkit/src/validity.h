/* How long a grant may be believed: pure functions of moments, on the boot-time clock. */
#ifndef LOCKKIT_VALIDITY_H
#define LOCKKIT_VALIDITY_H

#include "lockkit.h"

#define NS_PER_MS        1000000
#define VALIDITY_FOREVER INT64_MAX /* on a backend without TTL */
#define VALIDITY_NONE    0         /* the server said that it is not ours: over at any time */

/* The moment up to which a grant that was asked for at `sent_ns` is valid: the TTL from then, minus
 * what the two clocks may drift apart meanwhile, 1 % + 2 ms; VALIDITY_NONE when that is nothing. */
int64_t validity_until(int64_t sent_ns, uint32_t ttl_ms);

enum lk_state validity_state(int64_t until_ns, uint32_t suspect_ms, int64_t now_ns);

/* Milliseconds left, rounded down; 0 when over; INT64_MAX for ever. */
int64_t validity_left_ms(int64_t until_ns, int64_t now_ns);

#endif
