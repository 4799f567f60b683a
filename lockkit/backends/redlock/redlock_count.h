/* The counting of votes: what an ensemble has said, from what its nodes said. */
#ifndef LOCKKIT_REDLOCK_COUNT_H
#define LOCKKIT_REDLOCK_COUNT_H

#include "backend.h"

/* The nodes by their answer to one command. The sum may be less than `nodes`: a node that says yes
 * without a vote counts nowhere. */
struct redlock_count {
    unsigned nodes;
    unsigned yes; /* with a vote: granted, renewed; released or deleted, where no vote is needed */
    unsigned no;  /* held by another; not held by the owner */
    unsigned refused; /* with an error, without effect */
    unsigned unsent;
    unsigned unknown; /* no answer: it may have taken effect, with a vote where one is needed */
    unsigned pending; /* not answered yet */
    unsigned hopeful; /* of these, whose yes might still count */
};

/* More than half. */
static inline unsigned redlock_quorum(unsigned nodes) {
    return nodes / 2 + 1;
}

/* True when the outcome is certain, and then it is in `*status`. */
bool redlock_count_acquire(const struct redlock_count *count, enum lk_status *status);
bool redlock_count_raise(const struct redlock_count *count, enum lk_status *status);
bool redlock_count_renew(const struct redlock_count *count, enum lk_status *status);
bool redlock_count_release(const struct redlock_count *count, enum lk_status *status);
bool redlock_count_break(const struct redlock_count *count, enum lk_status *status);

/* The `rank`th smallest of `values`, from 0; they are put in order. */
int64_t redlock_rank(int64_t *values, unsigned count, unsigned rank);

#endif
