/* The explorer: every schedule of a few orders within a bound, each judged at its end.
 *
 * Depth first. A schedule is made again from its beginning for each new choice, since a fiber
 * cannot be copied; but a state that was reached before, with as many preemptions left, is not gone
 * on from again: what is known of it is added up. States form no cycles, as each step becomes part
 * of an order's past. So `schedules` counts all of them, whether they were run or added up, `runs`
 * those that were run, and the shortest way to a violation is exact.
 *
 * A preemption is a move of somebody else while the order that moved last could have gone on; a
 * bound on them finds most bugs with few (Musuvathi and Qadeer 2007, "Iterative context bounding").
 */
#ifndef LAB_EXPLORE_H
#define LAB_EXPLORE_H

#include "schedule.h"

#define EXPLORE_MEMORY ((size_t)80 << 20) /* of the table */
#define EXPLORE_MOVES  400                /* of a schedule: an order that needs more does not end */

enum explore_end {
    EXPLORE_COMPLETE, /* all schedules within the bound */
    EXPLORE_ENDLESS,  /* stopped at an order that does not end: see `shortest` */
    EXPLORE_MEMORY_ENDED,
    EXPLORE_STOPPED, /* is_stopped() said so */
};

struct exploration {
    /* The caller's, before. */
    struct model_setup setup;
    int preemptions;
    bool is_naive; /* every schedule is run: no table */
    /* At the end of a schedule: which anomalies it shows, as bits; 0: none. */
    unsigned (*judge)(void *data, const struct model_world *world);
    /* Or NULL: asked from time to time, with the counts as they are. */
    bool (*is_stopped)(void *data, const struct exploration *so_far);
    void *data; /* of the two */

    /* What came of it. */
    enum explore_end end;
    uint64_t schedules, violated, runs, states;
    struct schedule shortest; /* when `violated`, or ENDLESS: the nearest violation */
};

/* 0, or -1 without memory for its beginning. Not reentrant. */
__attribute__((warn_unused_result)) int explore(struct exploration *exploration);

/* The steps that the first order makes when nobody else comes; -1 without memory. */
int explore_steps_alone(const struct model_setup *setup);

/* What a schedule that is made again is told of, line by line: by whom, and in a sentence without
 * its subject where that is an order. */
enum replay_actor { REPLAY_FAULT = -1, REPLAY_CLOCK = -2 }; /* and the indexes of orders */

struct replay {
    void (*say)(void *data, const struct model_world *world, struct model_move move, int actor,
                const char *text);
    /* The move is made: the world is as the lines since the last call have left it. */
    void (*made)(void *data, const struct model_world *world);
    void *data;
};

enum replay_end {
    REPLAY_ENDED,      /* the world is as it is at the schedule's end */
    REPLAY_ENDLESS,    /* an order did not end within EXPLORE_MOVES */
    REPLAY_IMPOSSIBLE, /* its move number *at is none that there is */
    REPLAY_NO_MEMORY
};

/* Make a schedule again in `world`, whose setup is set. It may end early: then whoever can goes on
 * in turn until the end, and its moves are added. `replay` may be NULL. */
__attribute__((warn_unused_result)) enum replay_end explore_replay(struct model_world *world,
                                                                   struct schedule *schedule,
                                                                   const struct replay *replay,
                                                                   size_t *at);

#endif
