/* Locks on a majority of N independent Redis servers, in the manner of Redlock
 * (redis.io/docs/latest/develop/use/patterns/distributed-locks).
 *
 *   redlock:redis://a:6379,redis://b:6379,redis://c:6379[?longest=30000&quarantine=30000&cutoff=50]
 *
 * A comma or question mark in a password must be percent-encoded. The options, in milliseconds:
 *   longest     the longest TTL that anybody uses on these nodes; a longer one is refused [30,000]
 *   quarantine  how long a node has no vote after its start [longest]. Use 0 if the nodes forget
 *               nothing (appendfsync always), or start for the first time
 *   cutoff      how long a node may take to answer an ACQUIRE [a twentieth of the TTL, 10..50]
 *
 * It speaks to the nodes itself, with scripts of its own, not through N backends of one server
 * each. Those backends have a line of waiters, and each server would serve its line in another
 * order. And a vote is less than a lock: the grant of one node means nothing before it is counted,
 * the attempt that got it takes it back, and it carries a token on which the nodes agree.
 *
 * There is no semaphore and no shared lock: if each of N counters admits k, a majority admits more
 * than k in total.
 *
 * A ballot is one command on all nodes at once, from its start until none of its calls is under
 * way.
 *
 *     asked of every node -> answers counted -> the command answered -> the rest seen to
 *
 * The command is answered as soon as the answers decide it. The ballot lives on until every node
 * has answered or let its deadline pass, and until this is done on that node:
 *
 *     ACQUIRE  failed: a vote that we have got, or may have got, is given back, by the number of
 *              this ballot, so that a later attempt of the same owner does not lose it
 *              granted: a vote that comes later is ours as well, and renewals count it
 *     RENEW    confirmed: a node without the vote is given it again (see below)
 *     RELEASE  repeated on a node that has not answered, until the TTL has ended
 *
 * Commands of a connection take effect in their order. So if the answer to a vote is missing, the
 * vote is given back at once, by a command directly behind the request, and not only after a late
 * answer.
 *
 * Filling. Restarts take nodes away from a lease. If it never gained any, it would end some day,
 * even with few nodes away at a time. So after a confirmed renewal the client puts the vote on the
 * other nodes where it is free, and later renewals count it. This creates keys, but no lease: the
 * majority that confirms a renewal had the vote before it, and the core ignores a confirmation that
 * comes after the validity has ended. While the lease is valid nobody else has a majority. So no
 * one else held the lock between two confirmed renewals, and their votes stand on a majority that
 * was asked within them. A broken lock has no majority, and is not renewed.
 *
 * Fencing tokens. The client proposes the same token to all nodes: its clock in microseconds, or
 * one above the highest that it has seen. A node takes that token, or one above its last if that is
 * higher. The highest answer is the token. Before the grant is told, the token stands in the
 * counters of a majority; if the clocks differ too much for that, a second round puts it there. The
 * majority of the next grant shares a node with this one, and that node asks for more. So tokens
 * rise in the order of the grants, unless restarts lose counters, and a client's clock is behind
 * another's by more than the quarantine. */
#include "redlock_nodes.h"

#include "clock.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ACQUIRES_MOST   64 /* a node should vote within the cut-off */
#define CUTOFF_PART     20 /* of the TTL */
#define CUTOFF_MOST_MS  50
#define CUTOFF_LEAST_MS 10   /* a server that waits for a processor is not away */
#define NEW_MS          1000 /* the time for its first connection */

/* Votes left on a node that is away end with their TTL anyway. */
#define TIDY_MOST_MS 60000
#define TIDY_MOST    1024 /* on one node at a time */

/* How far to follow a client's clock that is ahead of ours. Beyond that each grant needs a second
 * round, so that one wrong counter does not carry ours away for all names. */
#define AHEAD_MOST_US 60000000

#define KEY_SIZE      (NAME_MAX_BYTES + sizeof REDLOCK_CHANNEL)

#define SPLIT_MS      25 /* the longest pause before split votes are asked for again */

enum redlock_answer { PENDING, YES, NO, REFUSED, UNSENT, UNKNOWN };

/* The last request to a node. */
enum redlock_asked { VOTE, RAISE, RENEW, RELEASE, INSPECT, TIDY /* its answer changes nothing */ };

struct redlock_slot {
    struct redlock_ballot *ballot;
    struct redlock_node *node;
    enum redlock_asked asked;
    enum redlock_answer answer; /* to the last request before TIDY */
    bool has_vote, is_running;
    unsigned connection;
    unsigned sends;
    int64_t number; /* from the answer: see redlock_nodes.h */
    char *held;     /* INSPECT: the value */
    struct redis_call call;
};

struct redlock_ballot {
    struct redlock *redlock;
    struct lk_command *command; /* NULL once it is answered */
    enum lk_verb verb;
    enum lk_status status; /* the answer of the command */
    LIST_ENTRY(redlock_ballot) entry;
    uint64_t number;
    int64_t fence; /* proposed, or decided */
    uint32_t ttl_ms;
    bool is_raising; /* the token is decided, and goes to a majority */
    unsigned running;
    int64_t answer_by_ms;
    int64_t until_ms; /* TIDY is repeated until then */
    char why[sizeof((struct redis_call *)NULL)->message];
    char owner[OWNER_SIZE];
    char name[NAME_MAX_BYTES + 1];
    struct redlock_slot slots[]; /* one per node */
};

/* ---- Decisions, from the answers of the nodes */

/* Start the next call on a node that has none under way. */
static void ballot_ask(struct redlock_slot *slot, enum redlock_asked asked);

/* Whether the answer to a command that is sent now may count. */
static bool node_may_vote(const struct redlock_node *node) {
    if (node->is_twin)
        return false;
    return node->redlock->url.quarantine_ms == 0 || !node->is_known ||
           node->votes_from_ms <= clock_now_ms();
}

/* Whether the answer counts that has just come over `connection`. */
static bool node_has_vote(const struct redlock_node *node, unsigned connection) {
    return node_may_vote(node) && (node->redlock->url.quarantine_ms == 0 ||
                                   (node->is_known && node->connection == connection));
}

static struct redlock_count ballot_count(const struct redlock_ballot *ballot, bool is_vote_needed) {
    struct redlock_count count = {.nodes = ballot->redlock->node_count};

    for (unsigned i = 0; i < count.nodes; i++) {
        const struct redlock_slot *slot = &ballot->slots[i];
        bool counts = !is_vote_needed || slot->has_vote;
        bool may_count = !is_vote_needed || node_may_vote(slot->node);

        count.yes += slot->answer == YES && counts;
        count.no += slot->answer == NO;
        count.refused += slot->answer == REFUSED;
        count.unsent += slot->answer == UNSENT;
        count.unknown += slot->answer == UNKNOWN && may_count;
        count.pending += slot->answer == PENDING;
        count.hopeful += slot->answer == PENDING && may_count;
    }
    assert(count.hopeful <= count.pending);
    assert(count.yes + count.no + count.refused + count.unsent + count.unknown + count.pending <=
           count.nodes);
    return count;
}

static int redlock_compare(const void *left, const void *right) {
    const int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

    return (a > b) - (a < b);
}

/* The `rank`th smallest of `values`, from 0. Sorts them. */
static int64_t redlock_rank(int64_t *values, unsigned count, unsigned rank) {
    assert(rank < count);
    qsort(values, count, sizeof *values, redlock_compare);
    return values[rank];
}

/* The time until a majority of the votes may be free. */
static int64_t remaining_ms(const struct redlock_ballot *ballot) {
    const unsigned nodes = ballot->redlock->node_count, spare = nodes - redlock_quorum(nodes);
    int64_t values[REDLOCK_NODES_MOST];
    unsigned busy = 0;

    for (unsigned i = 0; i < nodes; i++)
        if (ballot->slots[i].answer == NO && ballot->slots[i].number >= 0)
            values[busy++] = ballot->slots[i].number;
    if (busy > spare)
        return redlock_rank(values, busy, busy - spare - 1);
    /* Votes are split, or left over: perhaps nobody has the lock. Ask again soon, but not at the
     * same time as the others that got some of the votes. */
    return 1 + nrand48(ballot->redlock->random) % SPLIT_MS;
}

/* The highest token of any node. */
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
        ballot_ask(slot, RAISE);
    }
}

static bool decide_acquire(struct redlock_ballot *ballot, enum lk_status *status) {
    struct redlock_count votes = ballot_count(ballot, true);

    if (!ballot->is_raising) {
        if (!redlock_count_decide(&votes, LK_ACQUIRE, status))
            return false;
        if (*status == LK_BUSY)
            ballot->command->remaining_ms = remaining_ms(ballot);
        if (*status != LK_OK)
            return true;
        choose_fence(ballot);
        ballot->is_raising = true;
    }
    raise_fence(ballot);
    votes = ballot_count(ballot, true);
    ballot->command->fence = (uint64_t)ballot->fence;
    *status = votes.yes >= redlock_quorum(votes.nodes) ? LK_OK : LK_UNKNOWN;
    return *status == LK_OK || votes.yes + votes.hopeful < redlock_quorum(votes.nodes);
}

static bool decide_renew(struct redlock_ballot *ballot, enum lk_status *status) {
    const struct redlock_count votes = ballot_count(ballot, true);

    choose_fence(ballot); /* the lease's token, for the nodes that get the vote again */
    return redlock_count_decide(&votes, LK_RENEW, status);
}

/* Split `owner:ballot:fence:label`, in place. */
static bool parse_held(char *held, struct lk_holder *holder) {
    char *rest = held;
    const char *owner = strsep(&rest, ":"), *fence;

    *holder = (struct lk_holder){.owner = owner, .mode = LK_EXCLUSIVE, .permits = 1};
    (void)strsep(&rest, ":");
    fence = strsep(&rest, ":");
    if (rest == NULL)
        return false;
    holder->fence = strtoull(fence, NULL, 10);
    holder->label = rest;
    return true;
}

/* On how many nodes the owner of `held` has the vote. `*left_ms`: how long it has a majority. */
static unsigned count_owner(const struct redlock_ballot *ballot, const char *held,
                            int64_t *left_ms) {
    const unsigned nodes = ballot->redlock->node_count, quorum = redlock_quorum(nodes);
    int64_t values[REDLOCK_NODES_MOST];
    unsigned found = 0;

    for (unsigned i = 0; i < nodes; i++) {
        const struct redlock_slot *slot = &ballot->slots[i];

        if (slot->held != NULL && strncmp(slot->held, held, OWNER_SIZE) == 0)
            values[found++] = slot->number;
    }
    assert(found > 0); /* its own slot, at least */
    if (found >= quorum)
        *left_ms = redlock_rank(values, found, found - quorum);
    return found;
}

/* The holder has a majority of the votes. Fewer votes are an attempt, or its remains. */
static bool decide_inspect(struct redlock_ballot *ballot, struct lk_holder *holder,
                           enum lk_status *status) {
    const struct redlock_count votes = ballot_count(ballot, false);
    const unsigned quorum = redlock_quorum(votes.nodes);
    unsigned most = 0;
    int64_t left_ms = -1;

    for (unsigned i = 0; i < votes.nodes; i++) {
        char *held = ballot->slots[i].held;
        unsigned found = held != NULL ? count_owner(ballot, held, &left_ms) : 0;

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

/* True: the answers have decided the command. Its outcome is in the command and in `*status`, its
 * holder in `holder`. */
static bool ballot_decide(struct redlock_ballot *ballot, struct lk_holder *holder,
                          enum lk_status *status) {
    const struct redlock_count any = ballot_count(ballot, false);

    switch (ballot->verb) {
    case LK_ACQUIRE:
        return decide_acquire(ballot, status);
    case LK_RENEW:
        return decide_renew(ballot, status);
    case LK_INSPECT:
        return decide_inspect(ballot, holder, status);
    case LK_RELEASE:
    case LK_BREAK:
        break;
    }
    return redlock_count_decide(&any, ballot->verb, status);
}

/* ---- Ballots */

/* A malformed reply is no vote, and none against the command. */
static void ballot_take_reply(struct redlock_slot *slot, const redisReply *reply) {
    const int64_t outcome = redis_reply_integer(reply, 0);
    const redisReply *held = outcome == 1 && reply->elements == 3 ? reply->element[1] : NULL;

    slot->node->heard_ms = clock_now_ms();
    slot->answer = outcome == 1 ? YES : outcome == 0 ? NO : UNKNOWN;
    slot->number = redis_reply_integer(reply, slot->asked == INSPECT ? 2 : 1);
    if (slot->answer == YES && slot->asked == VOTE && slot->number <= 0)
        slot->answer = UNKNOWN;
    if (slot->answer != YES || slot->asked != INSPECT)
        return;
    if (held != NULL && held->type == REDIS_REPLY_STRING)
        slot->held = strdup(held->str);
    else
        slot->answer = UNKNOWN;
}

static void see_fence(struct redlock *redlock, int64_t fence) {
    if (fence > redlock->seen_fence && fence < clock_wall_us() + AHEAD_MOST_US)
        redlock->seen_fence = fence;
}

static void node_refused(struct redlock_node *node, const char *why) {
    char quoted[2 * sizeof node->info.message];
    unsigned left_out;

    if (log_limit_pass(&node->refusals, clock_now_ms(), &left_out))
        log_warn("redlock node refuses a command", "node=%s left_out=%u why=%s", node->place,
                 left_out, log_quote(quoted, sizeof quoted, why));
}

static void ballot_take_answer(struct redlock_slot *slot, const redisReply *reply) {
    slot->has_vote = node_has_vote(slot->node, slot->connection);
    switch (slot->call.status) {
    case REDIS_IS_OK:
        ballot_take_reply(slot, reply);
        if (slot->asked == VOTE && slot->answer == YES)
            see_fence(slot->ballot->redlock, slot->number);
        return;
    case REDIS_IS_REJECTED:
        slot->answer = REFUSED;
        node_refused(slot->node, slot->call.message);
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

static void ballot_tidy(struct redlock_slot *slot) {
    if (slot->node->tidying >= TIDY_MOST || slot->ballot->redlock->is_shut)
        return;
    slot->node->tidying++;
    ballot_ask(slot, TIDY);
}

/* A release or a break was sent to all nodes: a vote that is sent behind it would stay. */
static bool is_given_up(const struct redlock_ballot *ballot) {
    const struct redlock_ballot *other;

    LIST_FOREACH (other, &ballot->redlock->ballots, entry)
        if (strcmp(other->name, ballot->name) == 0 &&
            (other->verb == LK_BREAK ||
             (other->verb == LK_RELEASE && strcmp(other->owner, ballot->owner) == 0)))
            return true;
    return false;
}

/* Do the rest on a node, once the command is answered. */
static void ballot_see_to(struct redlock_slot *slot) {
    const struct redlock_ballot *ballot = slot->ballot;

    assert(!slot->is_running && slot->asked != TIDY && !ballot->command);
    switch (ballot->verb) {
    case LK_ACQUIRE:
        if (ballot->status != LK_OK && (slot->answer == YES || slot->answer == UNKNOWN))
            ballot_tidy(slot);
        break;
    case LK_RENEW:
        if (ballot->status == LK_OK && slot->answer == NO && slot->number == 1 &&
            !is_given_up(ballot))
            ballot_tidy(slot);
        break;
    case LK_RELEASE:
        if (slot->answer == UNKNOWN || slot->answer == UNSENT)
            ballot_tidy(slot);
        break;
    case LK_INSPECT:
    case LK_BREAK:
        break;
    }
}

static void ballot_tidied(struct redlock_slot *slot) {
    const struct redlock_ballot *ballot = slot->ballot;

    assert(slot->node->tidying > 0);
    slot->node->tidying--;
    if (slot->call.status == REDIS_IS_UNKNOWN && ballot->verb != LK_RENEW &&
        clock_now_ms() < ballot->until_ms)
        ballot_tidy(slot);
}

static void ballot_answer(struct redlock_ballot *ballot, enum lk_status status) {
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
            ballot_see_to(&ballot->slots[i]);
    if (status == LK_BUSY && command->patience_ms > 0)
        redlock_watch(ballot->redlock, ballot->name, command->patience_ms);
    command->on_answer(command);
}

static void ballot_destroy(struct redlock_ballot *ballot) {
    struct redlock *redlock = ballot->redlock;

    assert(!ballot->command && ballot->running == 0);
    for (unsigned i = 0; i < redlock->node_count; i++)
        free(ballot->slots[i].held);
    LIST_REMOVE(ballot, entry);
    free(ballot);
    redlock_nodes_idle(redlock);
}

static void on_ballot_reply(struct redis_call *call, const redisReply *reply) {
    struct redlock_slot *slot = call->data;
    struct redlock_ballot *ballot = slot->ballot;
    struct lk_holder holder;
    enum lk_status status;

    assert(slot->is_running && ballot->running > 0);
    slot->is_running = false;
    ballot->running--;
    if (slot->asked == TIDY) {
        ballot_tidied(slot);
    } else {
        ballot_take_answer(slot, reply);
        if (ballot->command == NULL)
            ballot_see_to(slot);
        else if (ballot_decide(ballot, &holder, &status))
            ballot_answer(ballot, status);
    }
    if (ballot->running == 0)
        ballot_destroy(ballot);
}

static const struct redis_script *ballot_script(const struct redlock_slot *slot) {
    static const struct redis_script *const scripts[] = {[VOTE] = &redlock_vote,
                                                         [RAISE] = &redlock_vote,
                                                         [RENEW] = &redlock_renew,
                                                         [RELEASE] = &redlock_release,
                                                         [INSPECT] = &redlock_inspect};

    if (slot->asked == TIDY)
        return slot->ballot->verb == LK_RENEW ? &redlock_vote : &redlock_release;
    return scripts[slot->asked];
}

/* A vote has a short deadline, because the votes already won keep others out. A node that is still
 * making its first connection has until the answer is due. */
static int64_t ballot_deadline_ms(const struct redlock_slot *slot) {
    const struct redlock_ballot *ballot = slot->ballot;
    const bool is_new = !slot->node->has_been_up && clock_now_ms() < slot->node->opened_ms + NEW_MS;
    uint32_t cutoff_ms = ballot->redlock->url.cutoff_ms;
    int64_t due_ms;

    if (slot->asked == TIDY && ballot->verb != LK_RENEW)
        return ballot->until_ms;
    if (slot->asked != VOTE || is_new)
        return ballot->answer_by_ms;
    if (cutoff_ms == 0) {
        cutoff_ms = ballot->ttl_ms / CUTOFF_PART;
        cutoff_ms = cutoff_ms > CUTOFF_MOST_MS ? CUTOFF_MOST_MS : cutoff_ms;
        cutoff_ms = cutoff_ms < CUTOFF_LEAST_MS ? CUTOFF_LEAST_MS : cutoff_ms;
    }
    due_ms = clock_now_ms() + cutoff_ms;
    return due_ms < ballot->answer_by_ms ? due_ms : ballot->answer_by_ms;
}

static void ballot_ask(struct redlock_slot *slot, enum redlock_asked asked) {
    struct redlock_ballot *ballot = slot->ballot;
    char vote[KEY_SIZE], fence[KEY_SIZE], channel[KEY_SIZE], number[24] = "", ttl[16], token[24];

    assert(!slot->is_running && ballot->running < ballot->redlock->node_count);
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
        .script = ballot_script(slot),
        .sends = &slot->sends,
        .deadline_ms = ballot_deadline_ms(slot),
        .data = slot,
    };
    redis_call_start(slot->node->redis, &slot->call, on_ballot_reply);
}

/* The same token for all nodes: this client's clock, or one above the highest that it has seen. */
static int64_t propose_fence(const struct redlock *redlock, const struct lk_command *command) {
    int64_t fence = clock_wall_us();

    if (redlock->seen_fence >= fence)
        fence = redlock->seen_fence + 1;
    if (command->fence_above >= INT64_MAX)
        return INT64_MAX; /* the nodes refuse it */
    if ((int64_t)command->fence_above >= fence)
        fence = (int64_t)command->fence_above + 1;
    return fence;
}

static struct redlock_ballot *new_ballot(struct redlock *redlock, struct lk_command *command) {
    const int64_t now_ms = clock_now_ms();
    const uint32_t tidy_ms = command->ttl_ms < TIDY_MOST_MS ? command->ttl_ms : TIDY_MOST_MS;
    struct redlock_ballot *ballot =
        calloc(1, sizeof *ballot + redlock->node_count * sizeof ballot->slots[0]);

    if (ballot == NULL)
        return NULL;
    ballot->redlock = redlock;
    ballot->command = command;
    ballot->verb = command->verb;
    ballot->number = ++redlock->ballots_started;
    ballot->fence = command->verb == LK_ACQUIRE ? propose_fence(redlock, command) : 0;
    ballot->ttl_ms = command->ttl_ms;
    ballot->answer_by_ms = now_ms + command->reply_ms;
    ballot->until_ms = ballot->answer_by_ms + tidy_ms;
    (void)snprintf(ballot->owner, sizeof ballot->owner, "%s",
                   command->owner != NULL ? command->owner : "");
    (void)snprintf(ballot->name, sizeof ballot->name, "%s", command->name);
    LIST_INSERT_HEAD(&redlock->ballots, ballot, entry);
    return ballot;
}

/* False: out of memory, and nothing has started. */
static bool ballot_start(struct redlock *redlock, struct lk_command *command) {
    static const enum redlock_asked asked[] = {[LK_ACQUIRE] = VOTE,
                                               [LK_RENEW] = RENEW,
                                               [LK_RELEASE] = RELEASE,
                                               [LK_INSPECT] = INSPECT,
                                               [LK_BREAK] = RELEASE};
    struct redlock_ballot *ballot = new_ballot(redlock, command);

    if (ballot == NULL)
        return false;
    for (unsigned i = 0; i < redlock->node_count; i++) {
        ballot->slots[i].ballot = ballot;
        ballot->slots[i].node = &redlock->nodes[i];
        redlock_node_check(&redlock->nodes[i]);
        ballot_ask(&ballot->slots[i], asked[ballot->verb]);
    }
    return true;
}

/* ---- The backend */

static void redlock_run(struct lk_backend *backend, struct lk_command *command) {
    struct redlock *redlock = (struct redlock *)backend;
    const struct redlock_url *url = &redlock->url;

    assert(strlen(command->name) <= NAME_MAX_BYTES && !redlock->is_closing);
    command->remaining_ms = -1;
    /* After a restart a node would vote before the forgotten vote has ended. lk_abandon() may hold
     * a lock for longer than that: few know such a lock, and a longer quarantine for all would cost
     * more than it is worth. */
    if (command->verb == LK_ACQUIRE && url->quarantine_ms > 0 &&
        command->ttl_ms > url->longest_ms) {
        command->why = "the TTL is above `longest` of the URL";
        answer_later(&redlock->answers, command, LK_REFUSED);
    } else if (!ballot_start(redlock, command)) {
        answer_later(&redlock->answers, command, LK_NOMEM);
    }
}

static void close_redlock(struct lk_backend *backend, lk_close_cb cb, void *data) {
    struct redlock *redlock = (struct redlock *)backend;

    backend->on_closed = cb;
    backend->data = data;
    redlock_nodes_close(redlock);
}

static enum lk_status open_redlock(struct lk_backend **backend,
                                   const struct lk_backend_config *config) {
    struct redlock *redlock = calloc(1, sizeof *redlock);
    const int64_t now_ns = clock_now_ns();
    enum lk_status status = LK_NOMEM;

    if (redlock == NULL)
        return LK_NOMEM;
    status = redlock_url_parse(&redlock->url, config->url + strlen(backend_redlock.scheme));
    if (status != LK_OK) {
        free(redlock);
        return status;
    }
    redlock->base.ops = &backend_redlock;
    redlock->base.acquires_most = ACQUIRES_MOST;
    redlock->config = *config;
    memcpy(redlock->random, &now_ns, sizeof redlock->random);
    status = redlock_nodes_open(redlock);
    if (status == LK_OK)
        *backend = &redlock->base;
    return status;
}

const struct lk_backend_ops backend_redlock = {
    .scheme = "redlock:",
    .caps = LK_CAP_TTL | LK_CAP_EVENTS | LK_CAP_FENCE_BEST | LK_CAP_CROSS_PROCESS | LK_CAP_BREAK,
    .open = open_redlock,
    .close = close_redlock,
    .run = redlock_run,
};
