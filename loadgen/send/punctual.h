/* Real-time priority while a round is sent. The generator shares the machine with the servers that
 * it loads, and a due request must go before their work. */
#ifndef LOADGEN_PUNCTUAL_H
#define LOADGEN_PUNCTUAL_H

#include <stdbool.h>
#include <stdint.h>

/* Sets exact timers; and, if `is_wanted`, real-time priority. The priority becomes ordinary again
 * at punctual_stop(), after 200 ms of computing without a pause (so that no bug can freeze the
 * machine), or if this process needs all of its processor for about 400 ms. Returns false if the
 * priority is not wanted or not permitted. */
bool punctual_start(bool is_wanted);
/* Call it often, with the monotonic clock. The kernel limits the share of a processor at that
 * priority; this keeps the process below the limit. It pauses for 0.05 to 0.2 ms, plus the time to
 * wake up: whenever it `has_time` because nothing is due, else as seldom as possible. */
void punctual_rest(int64_t now_ns, bool has_time);
/* Returns whether the priority lasted to the end. */
bool punctual_stop(void);

#endif
