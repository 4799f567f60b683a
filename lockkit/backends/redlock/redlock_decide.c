/* What the answers of the nodes decide. */
#include "redlock_ballot.h"

#include <stdlib.h>
#include <string.h>

#define SPLIT_MS 25 /* the longest pause before votes that were split are asked for again */

static struct redlock_count count(const struct redlock_ballot *ballot, bool is_vote_needed) {
    struct redlock_count count = {.nodes = ballot->redlock->node_count};

    for (unsigned i = 0; i < count.nodes; i++) {
        const struct redlock_slot *slot = &ballot->slots[i];
        bool counts = !is_vote_needed || slot->has_vote;
        bool may_count = !is_vote_needed || redlock_node_may_vote(slot->node);

        count.yes += slot->answer == YES && counts;
        count.no += slot->answer == NO;
        count.refused += slot->answer == REFUSED;
        count.unsent += slot->answer == UNSENT;
        count.unknown += slot->answer == UNKNOWN && may_count;
        count.pending += slot->answer == PENDING;
        count.hopeful += slot->answer == PENDING && may_count;
    }
    return count;
}

/* How long until a majority of the votes may be free. */
static int64_t remaining_ms(const struct redlock_ballot *ballot) {
    const unsigned nodes = ballot->redlock->node_count, spare = nodes - redlock_quorum(nodes);
    int64_t values[REDLOCK_NODES_MOST];
    unsigned busy = 0;

    for (unsigned i = 0; i < nodes; i++)
        if (ballot->slots[i].answer == NO && ballot->slots[i].number >= 0)
            values[busy++] = ballot->slots[i].number;
    if (busy > spare)
        return redlock_rank(values, busy, busy - spare - 1);
    /* Votes that are split, or left over: nobody need have the lock. Asked again soon, but not at
     * the same time as the others who got some of them. */
    return 1 + nrand48(ballot->redlock->random) % SPLIT_MS;
}

/* The highest that any node has answered. */
static void choose_fence(struct redlock_ballot *ballot) {
    for (unsigned i = 0; i < ballot->redlock->node_count; i++) {
        const struct redlock_slot *slot = &ballot->slots[i];

        if (slot->answer == YES && slot->number > ballot->fence)
            ballot->fence = slot->number;
    }
}

static void raise_fence(struct redlock_ballot *ballot) {
    for (unsigned i = 0; i < ballot->redlock->node_count; i++) {
        struct redlock_slot *slot = &ballot->slots[i];

        if (slot->answer != YES || slot->number >= ballot->fence)
            continue;
        slot->answer = PENDING;
        redlock_ask(slot, RAISE);
    }
}

static bool decide_acquire(struct redlock_ballot *ballot, enum lk_status *status) {
    struct redlock_count votes = count(ballot, true);

    if (!ballot->is_raising) {
        if (!redlock_count_acquire(&votes, status))
            return false;
        if (*status == LK_BUSY)
            ballot->command->remaining_ms = remaining_ms(ballot);
        if (*status != LK_OK)
            return true;
        choose_fence(ballot);
        ballot->is_raising = true;
    }
    raise_fence(ballot);
    votes = count(ballot, true);
    ballot->command->fence = (uint64_t)ballot->fence;
    return redlock_count_raise(&votes, status);
}

static bool decide_renew(struct redlock_ballot *ballot, enum lk_status *status) {
    const struct redlock_count votes = count(ballot, true);

    choose_fence(ballot); /* of the lease: for the nodes that are to be filled */
    return redlock_count_renew(&votes, status);
}

/* Take `owner:ballot:fence:label` apart, in place. */
static bool parse_held(char *held, struct lk_holder *holder) {
    char *rest = held;
    const char *owner = strsep(&rest, ":"), *fence;

    *holder = (struct lk_holder){.owner = owner, .mode = LK_EXCLUSIVE, .permits = 1};
    (void)strsep(&rest, ":");
    fence = strsep(&rest, ":");
    if (!rest)
        return false;
    holder->fence = strtoull(fence, NULL, 10);
    holder->label = rest;
    return true;
}

/* On how many nodes the owner of this slot's vote has it, and the time for which it is a majority.
 */
static unsigned count_owner(const struct redlock_ballot *ballot, const char *held,
                            int64_t *left_ms) {
    const unsigned nodes = ballot->redlock->node_count, quorum = redlock_quorum(nodes);
    int64_t values[REDLOCK_NODES_MOST];
    unsigned found = 0;

    for (unsigned i = 0; i < nodes; i++) {
        const struct redlock_slot *slot = &ballot->slots[i];

        if (slot->held && strncmp(slot->held, held, OWNER_SIZE) == 0)
            values[found++] = slot->number;
    }
    if (found >= quorum)
        *left_ms = redlock_rank(values, found, found - quorum);
    return found;
}

/* Who holds a majority of the votes is the holder; fewer are an attempt, or what is left of one. */
static bool decide_inspect(struct redlock_ballot *ballot, struct lk_holder *holder,
                           enum lk_status *status) {
    const struct redlock_count votes = count(ballot, false);
    const unsigned quorum = redlock_quorum(votes.nodes);
    unsigned most = 0;
    int64_t left_ms = -1;

    for (unsigned i = 0; i < votes.nodes; i++) {
        char *held = ballot->slots[i].held;
        unsigned found = held ? count_owner(ballot, held, &left_ms) : 0;

        if (found > most)
            most = found;
        if (found < quorum || !parse_held(held, holder))
            continue;
        holder->remaining_ms = left_ms;
        ballot->command->holders = holder;
        ballot->command->holder_count = 1;
        *status = LK_OK;
        return true;
    }
    if (votes.yes + votes.no >= quorum && most + votes.pending < quorum) {
        *status = LK_OK;
        return true;
    }
    *status = votes.unknown > 0 ? LK_UNKNOWN : LK_UNAVAILABLE;
    return votes.pending == 0;
}

bool redlock_decide(struct redlock_ballot *ballot, struct lk_holder *holder,
                    enum lk_status *status) {
    const struct redlock_count any = count(ballot, false);

    switch (ballot->verb) {
    case LK_ACQUIRE:
        return decide_acquire(ballot, status);
    case LK_RENEW:
        return decide_renew(ballot, status);
    case LK_RELEASE:
        return redlock_count_release(&any, status);
    case LK_INSPECT:
        return decide_inspect(ballot, holder, status);
    case LK_BREAK:
        return redlock_count_break(&any, status);
    }
    *status = LK_UNSUPPORTED;
    return true;
}
