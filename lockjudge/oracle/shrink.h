/* The shortest history that still shows a finding: without the workers, requests and faults that it
 * does not need. The finding stays the same one, with the same workers, moments and length. */
#ifndef LOCKJUDGE_SHRINK_H
#define LOCKJUDGE_SHRINK_H

#include "history.h"
#include "oracle.h"

/* Make `shortest` from `history`, which has this finding. 0, or -1 without memory. */
__attribute__((warn_unused_result)) int shrink(const struct history *history, int64_t slack_ms,
                                               enum oracle_word word, struct history *shortest);

#endif
