/* Explores a strategy that is one function of a test. The ledger decides whether it is right. */
#ifndef TEST_LAB_TRIAL_H
#define TEST_LAB_TRIAL_H

#include "explore.h"

enum flaw {
    FLAW_TWIN = 1,  /* two sales of one unit */
    FLAW_STUCK = 2, /* the last customer cannot buy a unit that is left */
    FLAW_WRONG = 4, /* is_right() returned false */
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
    bool is_cart;  /* with 2 shards */
    bool is_naive; /* explore without a table of states */
    /* Or NULL. With it explore_trial() does not look for FLAW_STUCK. */
    bool (*is_right)(const struct model_world *world);
};

/* Explore all schedules within 3 preemptions. Returns the flaws as bits. Asserts that the search
 * was complete. */
unsigned explore_trial(const struct trial *trial);
/* The result of the last explore_trial(), and its orders' answers as bits of 1 << enum outcome. */
extern struct exploration trial_result;
extern unsigned trial_told[MODEL_ORDERS + 1];
/* Explores it with and without the table of states, and asserts equal results. */
void assert_table_leaves_nothing_out(struct trial trial);

/* True if the move is possible now. */
bool is_offered(struct model_world *world, enum model_move_kind kind, int who);
/* Make the moves of a schedule's id. Each of them must be possible. */
void make_moves(struct model_world *world, const char *id);

/* True if the ledger has a unit twice. */
bool has_twins(const struct model_world *world);
/* A setup for orders under a spec, on two instances. */
struct model_setup setup_of(const char *spec, int orders, int stock);

#endif
