/* A chapter's checks, read from its chapter.json. */
#ifndef LAB_CHAPTER_H
#define LAB_CHAPTER_H

#include "technique.h"
#include "why.h"

#include <stdbool.h>
#include <stddef.h>

#define CHAPTER_CHECKS 12
#define CHAPTERS       15 /* the last one */
#define CHAPTER_SHOP   13 /* about a shop of one's own: lab grade leaves it out */
#define CHAPTER_PATH   512

/* A seed chooses a number from the first to the last (values.h). */
struct range {
    int least, most;
};

/* The ways in which a file can fail a check. A finding gives its own advice if the check's advice is
 * about other findings. */
#define FINDINGS(X)                                                                                \
    X(OVERSELL, "oversell",                                                                        \
      "Look at the sale that wrote last: another sale wrote between its read and its write. "      \
      "Either no other sale may come between, or the write must notice it.")                       \
    X(TURNED_AWAY, "turned-away",                                                                  \
      "Look at each return of sell(): does the sale wait, or try again, while a unit is left? "    \
      "Does it give back its lock, key or transaction on each way out?")                           \
    X(UNDERSELL, "undersell",                                                                      \
      "Answer SOLD_OUT only after the sale has read that no unit is left. BUSY and CONFLICT are "  \
      "other answers: pass them on, or try again.")                                                \
    X(ANSWER, "answer",                                                                            \
      "The customer must hear what the store said: return the write's own answer. After UNKNOWN "  \
      "a unit may have been sold.")                                                                \
    X(STEPS, "steps", "An order alone needs fewer store calls: which one could be left out?")

enum finding {
#define X(name, word, advice) FINDING_##name,
    FINDINGS(X)
#undef X
        FINDING_COUNT
};
const char *finding_advice(enum finding finding);

/* One exploration that a student's file must pass. */
struct check {
    char name[80];
    char options[80]; /* of the spec, such as "work=2s,ttl=1s"; "": none */
    char advice[400]; /* for a student with a file that fails it by one of `finds` */
    unsigned finds;   /* 1 << enum finding */
    int points;
    int orders, others, instances, stall_ms, preemptions;
    struct range stock, version, fence; /* version and fence: of the rows, at the beginning */
    unsigned faults;                    /* bits of 1 << enum sale_fault */
    int max_steps;                      /* of an order that is alone; 0: no limit */
    struct techniques techniques;       /* of the chapter */
    bool serves_all; /* no customer is turned away, unless a fault other than a crash struck */
    bool knows_all;  /* no customer is told UNKNOWN: a fault ends, and the store answers again */
};

struct chapter {
    int number;
    char folder[CHAPTER_PATH]; /* "lab/03-setnx" */
    char title[80];
    struct check checks[CHAPTER_CHECKS];
    size_t check_count;
};

/* Read chapter `number` among the folders in `lab`. 0, or -1 with the reason in `why`. */
__attribute__((warn_unused_result)) int chapter_read(struct chapter *chapter, const char *lab,
                                                     int number, struct why *why);

#endif
