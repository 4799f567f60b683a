/* The pupil: a sealed process (seal.h) with a student's object, which answers questions about it.
 *
 * A question is: "these are the answers that the store has given to this sale so far; what does the
 * sale do next?" The pupil runs no code of the object. It forks a player, which plays the sale from
 * its beginning, writes its calls, and exits. So nothing of an earlier question can have stayed in
 * its memory. A player can also be asked several questions, one after the other: that is faster. Its
 * answers must not depend on the sales before.
 *
 * Neither can say that a check holds: they do not know the check. The player can write the paper, so
 * the reader of an answer checks it (call.h). It has no line to anybody, and no call that waits: it
 * cannot forge the word of the pupil, nor stand still. */
#ifndef LAB_PUPIL_H
#define LAB_PUPIL_H

#include "call.h"
#include "crash.h"
#include "guesses.h"
#include "strategy.h"
#include "student_file.h"
#include "why.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define PAPER_CALLS 800 /* of one sale; a schedule with 400 steps ends before */
#define PAPERS      16  /* questions for one player */

#define PAPER_TRACE (8 * TRACE_TEXT)

/* The small members come first: then a short sale uses few pages. */
struct paper {
    /* The question. */
    bool is_prepare; /* about the strategy's preparation, not about a sale */
    char order_id[40], instance[24];
    struct sale_options options;
    uint32_t shift;      /* moves the sale and its stack */
    uint32_t rehearsals; /* how often the player plays this sale before it answers */
    uint32_t replies_count;
    /* The answer: one call more than there are replies, and one for each reply that is guessed. */
    uint32_t is_answered;
    uint32_t calls_count;
    uint32_t guessed_count;
    char message[MESSAGE_BYTES]; /* of the sale, if the last call is END */
    struct crash crash;          /* or this: the student's code ended its process */
    char trace[PAPER_TRACE];     /* the texts shown since the call before, each with its NUL */
    struct guesses guesses;      /* a part of the question */
    struct reply replies[PAPER_CALLS];
    struct call calls[PAPER_CALLS];
};

/* The pupil's first word: the result of student_load(), and the numbers of the strategy. */
struct pupil_hello {
    enum student_end loaded;
    unsigned takes;
    int default_shards, default_handover;
    bool has_prepare;
    char why[512];
};

struct pupil {
    pid_t process, group;     /* the group also has what the process forks */
    int line;                 /* to the process */
    struct paper *papers;     /* PAPERS */
    uint32_t asked, answered; /* of them */
    const volatile bool *is_interrupted;
    uintptr_t crashed_at; /* in the object, after DIED or ENDLESS; 0: unknown */
};

enum pupil_end {
    PUPIL_OK,
    PUPIL_DIED,    /* the student's code ended its process: a wild pointer, a system call */
    PUPIL_ENDLESS, /* it used up its CPU time: a loop without a call */
    PUPIL_STOPPED, /* by Ctrl-C */
    PUPIL_BROKEN,  /* the machine is at fault */
};

/* Start a pupil for the object at `path`. `shift` moves the addresses of everything that the
 * student's code can see, by so many pages. Anything but OK: there is no pupil; see `why`. Even OK
 * may come with a hello that says that the object could not be loaded. */
__attribute__((warn_unused_result)) enum pupil_end pupil_start(struct pupil *pupil,
                                                               const char *path, unsigned shift,
                                                               const volatile bool *is_interrupted,
                                                               struct pupil_hello *hello,
                                                               struct why *why);
/* A blank paper for one more question, at most PAPERS. Nothing of an earlier answer is left on it. */
struct paper *pupil_paper(struct pupil *pupil);
/* Answer the questions on the papers, in their order. Then pupil->answered of them have calls_count
 * calls, which may be anything: all, if it returns OK; otherwise the next one has ended so. The
 * answers stay until the next pupil_paper(). */
__attribute__((warn_unused_result)) enum pupil_end pupil_ask(struct pupil *pupil, struct why *why);
/* End the process, and all that it has forked. */
void pupil_stop(struct pupil *pupil);

#endif
