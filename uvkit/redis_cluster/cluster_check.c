/* A dead master still owns its slots until a replica takes over, so each owner must answer. */
#include "cluster_check.h"

#include "clock.h"
#include "fiber.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define MEND                                                                                       \
    "start it again, or wait for its replica; if none takes over: redis-cli --cluster fix %s:%d"

/* A question to a node. */
struct cluster_question {
    struct redis_call call; /* the first member */
    struct cluster_node *node;
    struct cluster_check *check;
    int slot; /* the first one of the node that matters */
    bool is_good;
};

struct cluster_check {
    struct cluster_map *map;
    unsigned running;
    struct fiber_event over; /* nothing runs any more */
    struct cluster_question questions[CLUSTER_NODES_MOST];
    unsigned count;
};

static void check_on_answer(struct redis_call *call, const redisReply *reply) {
    struct cluster_question *question = (struct cluster_question *)(void *)call;

    if (reply != NULL && reply->type == REDIS_REPLY_ARRAY)
        question->is_good = cluster_map_learn(question->check->map, question->node, reply);
    else if (reply != NULL && reply->type == REDIS_REPLY_STRING)
        question->is_good = strstr(reply->str, "cluster_state:ok") != NULL;
    if (--question->check->running == 0)
        fiber_event_set(&question->check->over);
}

/* Ask all nodes of the questions, and wait. */
static void check_ask(struct cluster_check *check, const char *what, int64_t deadline_ms) {
    check->over = (struct fiber_event)FIBER_EVENT_INIT;
    check->running = check->count;
    for (unsigned i = 0; i < check->count; i++) {
        struct cluster_question *question = &check->questions[i];

        question->call =
            (struct redis_call){.argc = 2, .argv = {"CLUSTER", what}, .deadline_ms = deadline_ms};
        question->is_good = false;
        redis_call_start(question->node->redis, &question->call, check_on_answer);
    }
    if (check->count > 0)
        fiber_event_wait(&check->over);
}

/* Learn the slots from the first node that answers. A node that stands still gets half of the time
 * that is left. */
static bool check_learn(struct cluster_check *check, int64_t deadline_ms) {
    const unsigned nodes = check->map->node_count; /* learning adds nodes */

    check->count = 1;
    for (unsigned i = 0; i < nodes; i++) {
        const int64_t now_ms = clock_now_ms();

        check->questions[0] =
            (struct cluster_question){.node = &check->map->nodes[i], .check = check};
        check_ask(check, "SLOTS", now_ms + (deadline_ms - now_ms) / 2);
        if (check->questions[0].is_good)
            return true;
    }
    return false;
}

static void check_add_master(struct cluster_check *check, struct cluster_node *node, int slot) {
    for (unsigned i = 0; i < check->count; i++)
        if (check->questions[i].node == node)
            return;
    assert(check->count < CLUSTER_NODES_MOST);
    check->questions[check->count++] =
        (struct cluster_question){.node = node, .check = check, .slot = slot};
}

/* The masters of the slots. -1: a slot has none. */
static int check_find_masters(struct cluster_check *check, const bool slots[CLUSTER_SLOTS],
                              struct why *why) {
    const struct cluster_node *any = &check->map->nodes[0];

    check->count = 0;
    for (int i = 0; i < CLUSTER_SLOTS; i++)
        if (slots[i] && check->map->slots[i] == NULL)
            return why_set(why,
                           "slot %d of the Redis Cluster has no master: redis-cli --cluster fix "
                           "%s:%d gives it one",
                           i, any->host, any->port);
        else if (slots[i])
            check_add_master(check, check->map->slots[i], i);
    return 0;
}

/* A master without an answer explains the refusal of the others, so it comes first. */
static int check_masters(struct cluster_check *check, int64_t deadline_ms, struct why *why) {
    const struct cluster_question *worst = NULL, *end = check->questions + check->count;
    const struct cluster_node *other = NULL;

    check_ask(check, "INFO", deadline_ms);
    for (const struct cluster_question *at = check->questions; at < end; at++) {
        if (at->call.status == REDIS_IS_OK)
            other = at->node;
        if (!at->is_good && (worst == NULL || at->call.status != REDIS_IS_OK))
            worst = at;
    }
    if (worst == NULL)
        return 0;
    if (worst->call.status == REDIS_IS_OK)
        return why_set(why,
                       "%s:%d, the master of slot %d of the Redis Cluster, refuses commands: it "
                       "sees too few masters, or a slot without one; start the masters that are "
                       "down, or: redis-cli --cluster fix %s:%d",
                       worst->node->host, worst->node->port, worst->slot, worst->node->host,
                       worst->node->port);
    if (other == NULL)
        other = worst->node;
    return why_set(why, "%s:%d, the master of slot %d of the Redis Cluster, does not answer: " MEND,
                   worst->node->host, worst->node->port, worst->slot, other->host, other->port);
}

int cluster_check(struct cluster_map *map, const bool slots[CLUSTER_SLOTS], int64_t deadline_ms,
                  struct why *why) {
    struct cluster_check *check = calloc(1, sizeof *check);
    int code = -1;

    if (check == NULL)
        return why_set(why, "no memory to look at the Redis Cluster");
    check->map = map;
    if (!check_learn(check, deadline_ms))
        (void)why_set(why,
                      "no node of the Redis Cluster can be reached: start them, or correct the "
                      "addresses in its URL");
    else if (check_find_masters(check, slots, why) == 0)
        code = check_masters(check, deadline_ms, why);
    free(check);
    return code;
}
