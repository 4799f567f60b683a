/* The explorer: runs every schedule of a few orders within a bound, and judges each at its end.
 *
 * It goes depth first. A fiber cannot be copied, so each new choice runs its schedule from the
 * beginning. But the search does not go on from a state that was reached before with as many
 * preemptions left: it adds that state's counts. States form no cycles, because each step becomes
 * part of an order's past. So `schedules` counts all schedules, run or added up, and `runs` counts
 * only the run ones. The shortest way to a violation is exact.
 *
 * A preemption is a move of another order while the order that moved last could go on. Most bugs
 * need few of them (Musuvathi and Qadeer 2007, "Iterative context bounding"). */
#ifndef LAB_EXPLORE_H
#define LAB_EXPLORE_H

#include "schedule.h"

#define EXPLORE_MEMORY ((size_t)80 << 20) /* of the table */
#define EXPLORE_MOVES  400                /* of a schedule; with more an order counts as endless */

enum explore_end {
    EXPLORE_COMPLETE, /* it ran or added up all schedules within the bound */
    EXPLORE_ENDLESS,  /* stopped at an order that does not end: see `shortest` */
    EXPLORE_MEMORY_ENDED,
    EXPLORE_STOPPED, /* is_stopped() returned true */
};

struct exploration {
    /* Set by the caller before. */
    struct model_setup setup;
    int preemptions;
    bool is_naive;               /* run every schedule, without the table */
    const struct schedule *from; /* or NULL: the search begins after these moves */
    /* Called at the end of each schedule. Returns its anomalies as bits; 0: none. */
    unsigned (*judge)(void *data, const struct model_world *world);
    /* Or NULL. Called from time to time, with the counts so far. True ends the search. */
    bool (*is_stopped)(void *data, const struct exploration *so_far);
    void *data; /* for both callbacks */

    /* The result. */
    enum explore_end end;
    uint64_t schedules, violated, runs, states;
    struct schedule shortest; /* if `violated`, or ENDLESS: the nearest violation */
};

/* 0, or -1 without memory at its beginning. Not reentrant. */
__attribute__((warn_unused_result)) int explore(struct exploration *exploration);

/* The number of steps of one order without any other; -1 without memory. */
int explore_steps_alone(const struct model_setup *setup);

/* The actor of a line. For an order it is the order's index, and the text is a sentence without its
 * subject. */
enum replay_actor { REPLAY_FAULT = -1, REPLAY_CLOCK = -2 };

struct replay {
    void (*say)(void *data, const struct model_world *world, struct model_move move, int actor,
                const char *text);
    /* Called after each move that has said a line. The world now has the effects of those lines. */
    void (*made)(void *data, const struct model_world *world);
    void *data;
};

enum replay_end {
    REPLAY_ENDED,      /* the world is at the schedule's end */
    REPLAY_ENDLESS,    /* an order did not end within EXPLORE_MOVES */
    REPLAY_IMPOSSIBLE, /* the schedule's move number *at is not possible */
    REPLAY_NO_MEMORY
};

/* Run a schedule again in `world`; the caller has set its setup. If the schedule ends early, the
 * first possible move follows until the end, and these moves are added to it. `replay` may be NULL.
 */
__attribute__((warn_unused_result)) enum replay_end explore_replay(struct model_world *world,
                                                                   struct schedule *schedule,
                                                                   const struct replay *replay,
                                                                   size_t *at);

/* Run a schedule again in `world`, and stop after its last move. `replay` is told of the moves from
 * number `first` on. `next` gets the `count` moves that are possible then; 0: it has ended. */
__attribute__((warn_unused_result)) enum replay_end explore_follow(
    struct model_world *world, const struct schedule *schedule, const struct replay *replay,
    size_t first, struct model_move next[MODEL_MOVES], size_t *count);

#endif
