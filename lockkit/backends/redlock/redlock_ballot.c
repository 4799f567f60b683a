/* One command on all nodes at once, from its start until nothing of it is under way.
 *
 *     asked of every node -> answers counted -> the command answered -> the rest seen to
 *
 * The command is answered as soon as the answers decide it; the ballot lives on, until every node
 * has answered or let its deadline pass, and what is left to do on that node has been done:
 *
 *     ACQUIRE  failed: a vote that we have got, or may have got, is given back, by the number of
 *              this ballot, so that a later attempt of the same owner does not lose it
 *              granted: what comes later is ours as well, for renewals to count
 *     RENEW    confirmed: a node without the vote is given it again (see below)
 *     RELEASE  repeated on a node that has not answered, until the TTL has ended
 *
 * Commands of a connection take effect in their order. So where the answer is missing, the giving
 * back is sent behind the asking, and not only when a late answer comes.
 *
 * Filling. A lease that only ever lost nodes, by restarts, would end some day, however few were
 * away at a time. So a renewal that a majority has confirmed puts the vote on the other nodes where
 * it is free, and later renewals count it. This creates keys, but no lease: the majority that
 * confirms a renewal had the vote before it, and the core does not take a confirmation that comes
 * after the validity has ended. While it is valid nobody else has a majority. So no one else held
 * the lock between two confirmed renewals, and what they leave stands on a majority that was asked
 * within them. A lock that somebody broke has no majority, and is not renewed.
 *
 * Fencing tokens. All nodes are proposed the same one: this client's clock in microseconds, or one
 * above what it has seen. A node takes it, or one above its last when that is higher. The highest
 * answer is the token, and before the grant is told it stands in the counters of a majority, by a
 * second round if the clocks differ so much that it has to. The next grant's majority has a node in
 * common with this one, which asks for more. So tokens rise in the order of the grants; unless
 * counters are lost on restarts, and a client's clock is behind another's by more than the
 * quarantine. */
#include "redlock_ballot.h"
#include "clock.h"
#include "log.h"
#include "redlock_scripts.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CUTOFF_PART     20 /* of the TTL */
#define CUTOFF_MOST_MS  50
#define CUTOFF_LEAST_MS 10 /* a server that had to wait for a processor is not away */

/* What is left on a node that is away ends with its TTL anyway. */
#define TIDY_MOST_MS 60000
#define TIDY_MOST    1024 /* on one node at a time */

/* A client's clock that is ahead of ours is followed so far; beyond that each grant pays with a
 * second round, so that one mad counter does not carry ours away for all names. */
#define AHEAD_MOST_US 60000000

#define KEY_SIZE      (NAME_MAX_BYTES + sizeof REDLOCK_CHANNEL)

/* Any other reply than those of the scripts is no vote, and none against it. */
static void take_reply(struct redlock_slot *slot, const redisReply *reply) {
    const int64_t outcome = redis_reply_integer(reply, 0);
    const redisReply *held = outcome == 1 && reply->elements == 3 ? reply->element[1] : NULL;

    slot->node->heard_ms = clock_now_ms();
    slot->answer = outcome == 1 ? YES : outcome == 0 ? NO : UNKNOWN;
    slot->number = redis_reply_integer(reply, slot->asked == INSPECT ? 2 : 1);
    if (slot->answer == YES && slot->asked == VOTE && slot->number <= 0)
        slot->answer = UNKNOWN;
    if (slot->answer != YES || slot->asked != INSPECT)
        return;
    if (held && held->type == REDIS_REPLY_STRING)
        slot->held = strdup(held->str);
    else
        slot->answer = UNKNOWN;
}

static void see_fence(struct redlock *redlock, int64_t fence) {
    if (fence > redlock->seen_fence && fence < clock_wall_us() + AHEAD_MOST_US)
        redlock->seen_fence = fence;
}

static void take_answer(struct redlock_slot *slot, const redisReply *reply) {
    slot->has_vote = redlock_node_has_vote(slot->node, slot->connection);
    switch (slot->call.status) {
    case REDIS_IS_OK:
        take_reply(slot, reply);
        if (slot->asked == VOTE && slot->answer == YES)
            see_fence(slot->ballot->redlock, slot->number);
        return;
    case REDIS_IS_REJECTED:
        slot->answer = REFUSED;
        redlock_node_refused(slot->node, slot->call.message);
        break;
    case REDIS_IS_NOT_SENT:
        slot->answer = UNSENT;
        break;
    case REDIS_IS_UNKNOWN:
        slot->answer = UNKNOWN;
        break;
    }
    memcpy(slot->ballot->why, slot->call.message, sizeof slot->ballot->why);
}

static void tidy(struct redlock_slot *slot) {
    if (slot->node->tidying >= TIDY_MOST || slot->ballot->redlock->is_shut)
        return;
    slot->node->tidying++;
    redlock_ask(slot, TIDY);
}

/* A release, or a break, has been sent to all nodes: a vote that is put behind it would stay. */
static bool is_given_up(const struct redlock_ballot *ballot) {
    const struct redlock_ballot *other;

    LIST_FOREACH (other, &ballot->redlock->ballots, entry)
        if (strcmp(other->name, ballot->name) == 0 &&
            (other->verb == LK_BREAK ||
             (other->verb == LK_RELEASE && strcmp(other->owner, ballot->owner) == 0)))
            return true;
    return false;
}

/* What is left to do on a node, once the command is answered. */
static void see_to(struct redlock_slot *slot) {
    const struct redlock_ballot *ballot = slot->ballot;

    assert(!slot->is_running && slot->asked != TIDY && !ballot->command);
    switch (ballot->verb) {
    case LK_ACQUIRE:
        if (ballot->status != LK_OK && (slot->answer == YES || slot->answer == UNKNOWN))
            tidy(slot);
        break;
    case LK_RENEW:
        if (ballot->status == LK_OK && slot->answer == NO && slot->number == 1 &&
            !is_given_up(ballot))
            tidy(slot);
        break;
    case LK_RELEASE:
        if (slot->answer == UNKNOWN || slot->answer == UNSENT)
            tidy(slot);
        break;
    case LK_INSPECT:
    case LK_BREAK:
        break;
    }
}

static void tidied(struct redlock_slot *slot) {
    const struct redlock_ballot *ballot = slot->ballot;

    slot->node->tidying--;
    if (slot->call.status == REDIS_IS_UNKNOWN && ballot->verb != LK_RENEW &&
        clock_now_ms() < ballot->until_ms)
        tidy(slot);
}

static void answer(struct redlock_ballot *ballot, enum lk_status status) {
    const struct redlock *redlock = ballot->redlock;
    struct lk_command *command = ballot->command;

    ballot->command = NULL;
    ballot->status = command->status = status;
    command->why = ballot->why[0] && status != LK_OK ? ballot->why : NULL;
    for (unsigned i = 0; i < redlock->node_count; i++)
        if (ballot->slots[i].sends > command->round_trips)
            command->round_trips = ballot->slots[i].sends;
    for (unsigned i = 0; i < redlock->node_count; i++)
        if (!ballot->slots[i].is_running)
            see_to(&ballot->slots[i]);
    if (status == LK_BUSY && command->patience_ms > 0)
        redlock_watch(ballot->redlock, ballot->name, command->patience_ms);
    command->on_answer(command);
}

static void destroy(struct redlock_ballot *ballot) {
    struct redlock *redlock = ballot->redlock;

    assert(!ballot->command);
    for (unsigned i = 0; i < redlock->node_count; i++)
        free(ballot->slots[i].held);
    LIST_REMOVE(ballot, entry);
    free(ballot);
    redlock_idle(redlock);
}

static void on_reply(struct redis_call *call, const redisReply *reply) {
    struct redlock_slot *slot = call->data;
    struct redlock_ballot *ballot = slot->ballot;
    struct lk_holder holder;
    enum lk_status status;

    slot->is_running = false;
    ballot->running--;
    if (slot->asked == TIDY) {
        tidied(slot);
    } else {
        take_answer(slot, reply);
        if (!ballot->command)
            see_to(slot);
        else if (redlock_decide(ballot, &holder, &status))
            answer(ballot, status);
    }
    if (ballot->running == 0)
        destroy(ballot);
}

static const struct redis_script *script_of(const struct redlock_slot *slot) {
    switch (slot->asked) {
    case VOTE:
    case RAISE:
        return redlock_scripts[REDLOCK_VOTES];
    case RENEW:
        return redlock_scripts[REDLOCK_RENEWS];
    case RELEASE:
        return redlock_scripts[REDLOCK_RELEASES];
    case INSPECT:
        return redlock_scripts[REDLOCK_INSPECTS];
    case TIDY:
        break;
    }
    return redlock_scripts[slot->ballot->verb == LK_RENEW ? REDLOCK_VOTES : REDLOCK_RELEASES];
}

/* For a node's vote it is not waited long: others are kept from those that we have got. A node
 * whose first connection is still being made has until the answer is due. */
static int64_t deadline_ms(const struct redlock_slot *slot) {
    const struct redlock_ballot *ballot = slot->ballot;
    uint32_t cutoff_ms = ballot->redlock->url.cutoff_ms;
    int64_t due_ms;

    if (slot->asked == TIDY && ballot->verb != LK_RENEW)
        return ballot->until_ms;
    if (slot->asked != VOTE || redlock_node_is_new(slot->node))
        return ballot->answer_by_ms;
    if (cutoff_ms == 0) {
        cutoff_ms = ballot->ttl_ms / CUTOFF_PART;
        cutoff_ms = cutoff_ms > CUTOFF_MOST_MS ? CUTOFF_MOST_MS : cutoff_ms;
        cutoff_ms = cutoff_ms < CUTOFF_LEAST_MS ? CUTOFF_LEAST_MS : cutoff_ms;
    }
    due_ms = clock_now_ms() + cutoff_ms;
    return due_ms < ballot->answer_by_ms ? due_ms : ballot->answer_by_ms;
}

void redlock_ask(struct redlock_slot *slot, enum redlock_asked asked) {
    struct redlock_ballot *ballot = slot->ballot;
    char vote[KEY_SIZE], fence[KEY_SIZE], channel[KEY_SIZE], number[24] = "", ttl[16], token[24];

    assert(!slot->is_running);
    slot->asked = asked;
    slot->is_running = true;
    slot->connection = slot->node->connection;
    ballot->running++;
    (void)snprintf(vote, sizeof vote, REDLOCK_VOTE, ballot->name);
    (void)snprintf(fence, sizeof fence, REDLOCK_FENCE, ballot->name);
    (void)snprintf(channel, sizeof channel, REDLOCK_CHANNEL, ballot->name);
    if (ballot->verb == LK_ACQUIRE || ballot->verb == LK_RENEW)
        (void)snprintf(number, sizeof number, "%" PRIu64, ballot->number);
    (void)snprintf(ttl, sizeof ttl, "%" PRIu32, ballot->ttl_ms);
    (void)snprintf(token, sizeof token, "%" PRId64, ballot->fence);
    slot->call = (struct redis_call){
        .argc = 12,
        .argv = {[2] = "2",
                 vote,
                 fence,
                 ballot->owner,
                 number,
                 ttl,
                 token,
                 asked == VOTE ? "mint" : "",
                 ballot->redlock->config.label,
                 ballot->verb == LK_ACQUIRE ? "" : channel},
        .script = script_of(slot),
        .sends = &slot->sends,
        .deadline_ms = deadline_ms(slot),
        .data = slot,
    };
    redis_call_start(slot->node->redis, &slot->call, on_reply);
}

/* The same for all nodes: this client's clock, or above what it has seen. */
static int64_t propose_fence(const struct redlock *redlock, const struct lk_command *command) {
    int64_t fence = clock_wall_us();

    if (redlock->seen_fence >= fence)
        fence = redlock->seen_fence + 1;
    if (command->fence_above < INT64_MAX && (int64_t)command->fence_above >= fence)
        fence = (int64_t)command->fence_above + 1;
    return fence;
}

static struct redlock_ballot *new_ballot(struct redlock *redlock, struct lk_command *command) {
    const int64_t now_ms = clock_now_ms();
    const uint32_t tidy_ms = command->ttl_ms < TIDY_MOST_MS ? command->ttl_ms : TIDY_MOST_MS;
    struct redlock_ballot *ballot =
        calloc(1, sizeof *ballot + redlock->node_count * sizeof ballot->slots[0]);

    if (!ballot)
        return NULL;
    ballot->redlock = redlock;
    ballot->command = command;
    ballot->verb = command->verb;
    ballot->number = ++redlock->ballots_started;
    ballot->fence = command->verb == LK_ACQUIRE ? propose_fence(redlock, command) : 0;
    ballot->ttl_ms = command->ttl_ms;
    ballot->answer_by_ms = now_ms + command->reply_ms;
    ballot->until_ms = ballot->answer_by_ms + tidy_ms;
    (void)snprintf(ballot->owner, sizeof ballot->owner, "%s", command->owner ? command->owner : "");
    (void)snprintf(ballot->name, sizeof ballot->name, "%s", command->name);
    LIST_INSERT_HEAD(&redlock->ballots, ballot, entry);
    return ballot;
}

bool redlock_ballot_start(struct redlock *redlock, struct lk_command *command) {
    static const enum redlock_asked asked[] = {[LK_ACQUIRE] = VOTE,
                                               [LK_RENEW] = RENEW,
                                               [LK_RELEASE] = RELEASE,
                                               [LK_INSPECT] = INSPECT,
                                               [LK_BREAK] = RELEASE};
    struct redlock_ballot *ballot = new_ballot(redlock, command);

    if (!ballot)
        return false;
    for (unsigned i = 0; i < redlock->node_count; i++) {
        ballot->slots[i].ballot = ballot;
        ballot->slots[i].node = &redlock->nodes[i];
        redlock_node_check(&redlock->nodes[i]);
        redlock_ask(&ballot->slots[i], asked[ballot->verb]);
    }
    return true;
}
