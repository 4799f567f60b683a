/* Real-time priority while a round is sent: the generator shares the machine with the servers that
 * it loads, and a request that is due goes before their work. */
#ifndef LOADGEN_PUNCTUAL_H
#define LOADGEN_PUNCTUAL_H

#include <stdbool.h>
#include <stdint.h>

/* Exact timers; and, if `is_wanted`, real-time priority, until punctual_stop() or until this
 * process has computed for 200 ms without a pause, so that no bug can freeze the machine, or needs
 * all of its processor for some 400 ms: then the priority is ordinary again. False when there is no
 * such priority, because it is not wanted or not permitted. */
bool punctual_start(bool is_wanted);
/* To be called often, at `now_ns` on the monotonic clock. Keeps what this process takes of its
 * processor below what the kernel lets it have at that priority: it pauses, for 0.05 to 0.2 ms and
 * the time to wake up, when it `has_time`, as nothing is due; else as seldom as it may. */
void punctual_rest(int64_t now_ns, bool has_time);
/* Whether there was such a priority to the end. */
bool punctual_stop(void);

#endif
