/* Explore a strategy that is one function of a test, judged by what is in the ledger. */
#ifndef TEST_LAB_TRIAL_H
#define TEST_LAB_TRIAL_H

#include "explore.h"

enum flaw {
    FLAW_TWIN = 1,  /* two sales of one unit */
    FLAW_STUCK = 2, /* who comes last, when all has ended, cannot buy what is left */
    FLAW_WRONG = 4, /* is_right() says no */
};

struct trial {
    enum outcome (*sell)(struct sale *sale);
    int orders, instances, machines; /* 0: 3, 2, 1 */
    int stock, shards;               /* 0: 2, 1 */
    unsigned faults;                 /* 1 << FAULT_ of strategy.h */
    int64_t wait_ms, ttl_ms;         /* 0: 5 s, 10 s */
    int64_t work_ms;
    int replicas;
    bool returns_to_count;
    bool is_naive; /* without a table of states */
    /* Or NULL. With it FLAW_STUCK is not looked for. */
    bool (*is_right)(const struct model_world *world);
};

/* All schedules within 3 preemptions. The flaws that were found, as bits; asserts that the search
 * was complete. */
unsigned explore_trial(const struct trial *trial);
/* As said by the last of these; and what its orders were told, as bits of 1 << enum outcome. */
extern struct exploration trial_result;
extern unsigned trial_told[MODEL_ORDERS + 1];
/* Explores it with and without the table of states: states that are taken for one go on alike. */
void assert_table_leaves_nothing_out(struct trial trial);

/* The move can be made now. */
bool is_offered(struct model_world *world, enum model_move_kind kind, int who);
/* Make the moves of a schedule's id, each of which is offered. */
void make_moves(struct model_world *world, const char *id);

/* The ledger has a unit twice. */
bool has_twins(const struct model_world *world);
/* Orders under a spec, on two instances. */
struct model_setup setup_of(const char *spec, int orders, int stock);

#endif
