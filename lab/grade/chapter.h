/* A chapter's checks, as its chapter.json has them. */
#ifndef LAB_CHAPTER_H
#define LAB_CHAPTER_H

#include "why.h"

#include <stdbool.h>
#include <stddef.h>

#define CHAPTER_CHECKS 12
#define CHAPTERS       12
#define CHAPTER_PATH   512

/* One exploration that a student's file must stand. */
struct check {
    char name[80];
    char options[80]; /* of the spec, such as "work=2s,ttl=1s"; "": none */
    char advice[400]; /* what to look at when it fails */
    int points;
    int orders, instances, stock, preemptions;
    unsigned faults; /* bits of 1 << enum sale_fault */
    int max_steps;   /* of an order that is alone; 0: any */
    bool serves_all; /* nobody is turned away, unless by a fault that is no crash */
};

struct chapter {
    int number;
    char folder[CHAPTER_PATH]; /* "lab/03-setnx" */
    char title[80];
    struct check checks[CHAPTER_CHECKS];
    size_t check_count;
};

/* Chapter `number` among the folders in `lab`: 0; or -1, and `why` says what is wrong with it. */
__attribute__((warn_unused_result)) int chapter_read(struct chapter *chapter, const char *lab,
                                                     int number, struct why *why);

#endif
