/* One trial: workers that contend for one lock, one fault or two at the moments that the plan chose,
 * and the history of all that.
 *
 *     calm     each worker acquires, checks and writes, releases, thinks, and begins again
 *     struck   a fault has begun; the others go on until one of them has written, or a limit
 *     after    all faults are over; their victims check and write for a while, and release
 *     settled  until the lock was granted a few times more, or could be STUCK */
#ifndef LOCKJUDGE_TRIAL_H
#define LOCKJUDGE_TRIAL_H

#include "setup.h"
#include "why.h"

/* Run it, in a fiber. All its processes have ended when it returns. 0; or -1 with the reason: a
 * worker is broken, or a fault could not strike, or cannot be asked. `outcome` holds a history in
 * any case. */
__attribute__((warn_unused_result)) int trial_run(const struct trial_setup *setup,
                                                  struct trial_outcome *outcome, struct why *why);

/* Kill the workers of the trial that runs now, if any. For the end by a signal. */
void trial_kill(void);

#endif
