/* The strikes of a trial: its fault, or the two faults of a pair.
 *
 *     awaited   the second one, until a part of the first one's length has passed (plan.h)
 *     due       it strikes when its moment comes to a worker that it may hit
 *     lasts     it has begun
 *     over      it has ended, or it had no length
 *
 * The contenders bring the moments `held` (of the first), `write`, `release` and `reply`, and ask
 * strike_due() there. A fiber of the strike itself watches for `wait`, and for a holder that the
 * second one may hit. The trial goes on to its next phase when all strikes are over. */
#ifndef LOCKJUDGE_STRIKE_H
#define LOCKJUDGE_STRIKE_H

#include "stage.h"

/* Before the workers start. 0; or -1, and the trial is spoilt. strikes_restore() in any case. */
__attribute__((warn_unused_result)) int strikes_prepare(struct stage *stage);
/* How the worker of this number starts, for the faults that hit it. */
struct worker_options strikes_options(const struct stage *stage, unsigned number);
/* When the workers are ready. */
void strikes_start(struct stage *stage);
/* When all workers have ended. */
void strikes_restore(struct stage *stage);

/* The strike that begins here, at this moment of this contender; or NULL. */
struct strike *strike_due(const struct contender *one, enum fault_moment moment);
/* Begin. Returns when the fault has begun, or earlier. */
void strike_begin(struct strike *strike, struct contender *one);
/* Its victim does not go on: it lasts, and the victim is not about to wake. */
bool strike_blocks(const struct strike *strike);
/* How long the acquire waits that begins with this strike, or with none (NULL). */
int64_t strike_wait_ms(const struct stage *stage, const struct strike *strike);

/* ---- the strikes that hit a contender */

bool strikes_have_hit(const struct contender *one);
/* One of them lasts, or the contender has not yet shown for long enough what it believes. */
bool strikes_keep(const struct contender *one);
/* They are not about the TTL. So its holder, if nobody renews, ends before its TTL does, however
 * long a server takes: else the row would only show again that the TTL ends. */
bool strikes_are_short(const struct contender *one);
/* It has shown what it believes; or it never will. */
void strikes_have_shown(struct contender *one);

/* ---- the strikes of others */

/* The fault needs a holder, so that its victim has to wait. */
bool strikes_need_holder(const struct contender *one);
/* The fault is to hit the acquire of its victim that is on its way, so the others do not ask. */
bool strikes_need_peace(const struct contender *one);

#endif
