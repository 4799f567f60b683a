/* A plan: what a student's strategy does after each sequence of answers that a sale may get.
 *
 * Apart from the answers of the store, a strategy is deterministic. So a plan is a tree: each node
 * is a call, and each edge an answer. plan->strategy sells by the tree, so the explorer runs it like
 * any other strategy, in the grader's process, against the grader's model. Where the tree ends, the
 * plan asks the pupil. So every schedule is run and judged here, and the student's process only says
 * what a sale does next. A check asks for tens to hundreds of nodes, while it runs thousands of
 * schedules.
 *
 * All questions are about the first order, under names that the file cannot know (names.h). Another
 * order does the same, with its own id, tokens and instance in place of those of the first one. So
 * the student's code cannot tell one order from another, and most questions are asked once for all of
 * them.
 *
 * plan_ask_again() asks for each way through the tree again, with other ids, tokens and addresses,
 * after other sales in the same process. A file that then does something else looks at them. */
#ifndef LAB_PLAN_H
#define LAB_PLAN_H

#include "model.h"
#include "names.h"
#include "pupil.h"

#define PLAN_NODES 20000
#define PLAN_SALES 8                   /* that plan_others() asks for */
#define PLAN_CALLS UINT64_C(100000000) /* of all schedules together */

enum plan_end {
    PLAN_OK,
    PLAN_DIED,      /* the student's code ended its process, or wrote over it */
    PLAN_ENDLESS,   /* a loop */
    PLAN_TOO_LARGE, /* more nodes than PLAN_NODES, or more calls than most_calls */
    PLAN_DIFFERS,   /* the same answers, and another call */
    PLAN_STOPPED,   /* by Ctrl-C */
    PLAN_BROKEN,    /* the machine is at fault */
};

struct plan_node;

struct plan {
    struct strategy strategy;
    struct pupil *pupil;
    /* The first call of each order, and of its preparation. */
    struct plan_node *roots[2 * (MODEL_ORDERS + 1)];
    struct names names;      /* that the pupil sees in the questions of the tree */
    struct names exchanged;  /* of the order that sells now; large for a fiber's stack */
    struct plan_node *room;  /* for PLAN_NODES, and for as many that are guessed */
    struct plan_node *nodes; /* all of them, the newest first */
    size_t count, guessed;
    struct guesses guesses, shown; /* of the store's answers; the same for the pupil */
    bool is_guessing;
    const struct plan_node *latest;            /* the end of the sale that ended last */
    const struct plan_node *sales[PLAN_SALES]; /* their ends */
    size_t sale_count;
    uint64_t calls, most_calls; /* made; PLAN_CALLS by default */
    enum plan_end end;          /* after a failure all sales end where the tree ends */
    struct why why;
    uintptr_t crashed_at; /* in the object, after DIED or ENDLESS; 0: unknown */
};

/* How a plan ends if its pupil ends so. */
enum plan_end plan_end_of(enum pupil_end end);
/* Begin a plan for the strategy that said `hello`. Only one plan sells at a time. The seed chooses
 * the names that the pupil sees. The file must not know them. */
void plan_begin(struct plan *plan, struct pupil *pupil, const struct pupil_hello *hello,
                uint64_t seed);
/* Ask `other` for each way through the tree again, from its begin to its end: each way twice, and at
 * least `least` questions. Sets plan->end and plan->why. */
void plan_ask_again(struct plan *plan, struct pupil *other, const struct sale_options *options,
                    size_t least);
/* Larger numbers in the answers of the store: of each row's version, fence and count. */
struct plan_shift {
    int64_t version, fence, count;
};

/* Ask `other` for some whole sales of the tree, with other numbers in the answers: once for each of
 * `count` shifts. Its hash is 0 if the file does the same. Otherwise it is one of what it does
 * instead. All are 0 after a failure, which sets plan->end and plan->why. Once for a plan. */
void plan_others(struct plan *plan, struct pupil *other, const struct sale_options *options,
                 const struct plan_shift *shifts, size_t count, uint64_t *hashes);
/* The next sale of the tree that ended with SOLD: its end; NULL: there is no other. Begin with NULL. */
const struct plan_node *plan_next_sold(const struct plan *plan, const struct plan_node *before);
/* The call at a node, and the node of the call before it, or NULL. */
const struct call *plan_call(const struct plan_node *node);
const struct plan_node *plan_above(const struct plan_node *node);
/* Free the tree. */
void plan_free(struct plan *plan);

#endif
