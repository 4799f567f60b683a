/* Explore a strategy that is one function of a test, judged by what is in the ledger. */
#ifndef TEST_LAB_TRIAL_H
#define TEST_LAB_TRIAL_H

#include "explore.h"

enum flaw {
    FLAW_TWIN = 1,  /* two sales of one unit */
    FLAW_STUCK = 2, /* who comes last, when all has ended, cannot buy what is left */
};

struct trial {
    enum outcome (*sell)(struct sale *sale);
    int orders, instances, machines; /* 0: 3, 2, 1 */
    unsigned faults;                 /* 1 << FAULT_ of model.h */
    int64_t ttl_ms, work_ms;         /* 0: 10 s, none */
    int replicas;
    bool is_naive; /* without a table of states */
};

/* All schedules of sales of 2 units, within 3 preemptions. The flaws that were found, as bits;
 * asserts that the search was complete. */
unsigned explore_trial(const struct trial *trial);
/* As said by the last of these. */
extern struct exploration trial_result;

#endif
