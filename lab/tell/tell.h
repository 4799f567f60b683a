/* What an exploration found, told: in prose and lanes, as JSON, as a page of one file, and step by
 * step. */
#ifndef LAB_TELL_H
#define LAB_TELL_H

#include "explore.h"
#include "view.h"

#include <jansson.h>
#include <stdio.h>

#define TELL_ACTION 200

/* One line of a schedule. */
struct tell_step {
    int actor;    /* the order's index, or enum replay_actor */
    int instance; /* -1: none */
    char action[TELL_ACTION];
    int64_t now_ms;
    int32_t stock[MODEL_SHARDS]; /* available, after it */
    int sold;                    /* rows of the ledger, after it */
};

/* What is told. It owns the steps. */
struct tell {
    /* The caller's. Texts stay valid. */
    const char *spec, *options; /* as given; options may be "" */
    const char *replay;         /* "", or the id of the schedule that was made again, no other */
    const char *command;        /* that explores the same again: "lab explore none --stock 3" */
    struct exploration *explored;
    double seconds;

    /* By tell_schedule(). */
    char id[SCHEDULE_TEXT];
    unsigned anomalies; /* bits, as of view_judge() */
    char summary[VIEW_TEXT];
    struct tell_step *steps;
    size_t count, room;
    bool has_failed;
};

/* Make explored->shortest again, and keep what happens. As of explore_replay(); the world's setup
 * is set by this. */
__attribute__((warn_unused_result)) enum replay_end tell_schedule(struct tell *tell,
                                                                  struct model_world *world,
                                                                  struct view *view, size_t *at);
void tell_free(struct tell *tell);

/* "OVERSELL TWIN" */
void tell_names(unsigned anomalies, char text[VIEW_TEXT]);
/* "a unit", "2 units"; and 1,234,567 */
#define TELL_NUMBER 32
void tell_number(uint64_t number, char text[TELL_NUMBER]);

/* For people: what was explored and what came of it, and then the schedule, if there is one. */
void tell_text(const struct tell *tell, FILE *to);
/* One line of it, and what it looks like above the first. */
void tell_heads(const struct tell *tell, FILE *to, bool is_coloured);
void tell_line(const struct tell *tell, size_t step, FILE *to, bool is_coloured);

/* One object, to be printed or embedded. 0, or -1 without memory, or when it cannot be written. */
__attribute__((warn_unused_result)) int tell_json(const struct tell *tell, FILE *to);
/* The names of faults; NULL without memory. */
json_t *tell_json_faults(unsigned faults);
/* A page of one file that loads nothing. The same. */
__attribute__((warn_unused_result)) int tell_page(const struct tell *tell, FILE *to);

/* Step by step: a line on `from` goes on (Enter), back ("b") or ends it ("q"). */
void tell_steps(const struct tell *tell, FILE *from, FILE *to);

#endif
