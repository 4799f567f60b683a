/* Real-time priority while a round is sent: the generator shares the machine with the servers that
 * it loads, and a request that is due goes before their work. */
#ifndef LOADGEN_PUNCTUAL_H
#define LOADGEN_PUNCTUAL_H

#include <stdbool.h>
#include <stdint.h>

/* Exact timers; and, if `is_wanted`, real-time priority, until punctual_stop() or until this
 * process has computed for 200 ms without a pause, so that no bug can freeze the machine, or has
 * filled its processor for 400 ms: then the priority is ordinary again. False when there is no such
 * priority, because it is not wanted or not permitted. */
bool punctual_start(bool is_wanted);
/* To be called often while there is work, at `now_ns` on the monotonic clock: pauses for a moment
 * when this process has not paused for long, because it always finds something to do, and so keeps
 * the priority that a bug would lose. */
void punctual_rest(int64_t now_ns);
/* Whether there was such a priority to the end. */
bool punctual_stop(void);

#endif
