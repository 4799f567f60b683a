/* A lock of a simulated server: one holder, a line of waiters, and a counter of fencing tokens. */
#ifndef LOCKKIT_TEST_SIM_LOCK_H
#define LOCKKIT_TEST_SIM_LOCK_H

#include "backend.h"

#define SIM_LINE 128 /* waiters; others are refused without a place */

struct sim_place {
    char owner[OWNER_SIZE];
    int client;
    uint64_t above;
    uint32_t more;
    int64_t until_ns; /* of the place, or of the lock */
};

struct sim_lock {
    bool is_session;                         /* it has no TTL */
    struct sim_place holder, line[SIM_LINE]; /* no holder: the owner is "" */
    unsigned waiting;
    uint64_t fence, last;
};

/* A command, and its answer. */
struct sim_ask {
    enum lk_verb verb;
    int client;
    char owner[OWNER_SIZE];
    int64_t ttl_ns, patience_ns;
    uint64_t above;
    uint32_t more;
    enum lk_status status;
    uint64_t fence;
    int64_t remaining_ms;
    bool is_queued;
};

/* A lock that is free goes to the first in line, for `ttl_ns`. True: it did, to `holder`. */
bool sim_lock_serve(struct sim_lock *lock, int64_t now_ns, int64_t ttl_ns);
/* The server carries out the command. Serve the lock before and afterwards. */
void sim_lock_carry_out(struct sim_lock *lock, struct sim_ask *ask, int64_t now_ns);

#endif
