/* One command on all nodes: what has been asked of each, and what it said. */
#ifndef LOCKKIT_REDLOCK_BALLOT_H
#define LOCKKIT_REDLOCK_BALLOT_H

#include "redlock_internal.h"

enum redlock_answer { PENDING, YES, NO, REFUSED, UNSENT, UNKNOWN };

/* What has been asked of a node last. */
enum redlock_asked { VOTE, RAISE, RENEW, RELEASE, INSPECT, TIDY /* nobody waits for its answer */ };

struct redlock_slot {
    struct redlock_ballot *ballot;
    struct redlock_node *node;
    enum redlock_asked asked;
    enum redlock_answer answer; /* to what was asked before TIDY */
    bool has_vote, is_running;
    unsigned connection;
    unsigned sends;
    int64_t number; /* of the answer: see redlock_scripts.h */
    char *held;     /* INSPECT: the value */
    struct redis_call call;
};

struct redlock_ballot {
    struct redlock *redlock;
    struct lk_command *command; /* NULL once it is answered */
    enum lk_verb verb;
    enum lk_status status; /* that it was answered with */
    LIST_ENTRY(redlock_ballot) entry;
    uint64_t number;
    int64_t fence; /* proposed, or decided */
    uint32_t ttl_ms;
    bool is_raising; /* the token is decided, and is to stand with a majority */
    unsigned running;
    int64_t answer_by_ms;
    int64_t until_ms; /* how long TIDY is repeated */
    char why[sizeof((struct redis_call *)NULL)->message];
    char owner[OWNER_SIZE];
    char name[NAME_MAX_BYTES + 1];
    struct redlock_slot slots[]; /* one per node */
};

/* Ask something (else) of a node, of which nothing is under way. */
void redlock_ask(struct redlock_slot *slot, enum redlock_asked asked);

/* ---- redlock_decide.c */

/* True when the answers have decided the command; then the outcome is in it and in `*status`, and
 * its holder in `holder`. */
bool redlock_decide(struct redlock_ballot *ballot, struct lk_holder *holder,
                    enum lk_status *status);

#endif
