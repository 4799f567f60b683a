/* Writes the result of an exploration: prose and lanes, JSON, a page of one file, or step by step.
 */
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

/* The result to write. It owns the steps. */
struct tell {
    /* Set by the caller. The texts stay valid. */
    const char *spec, *options; /* as given; options may be "" */
    const char *replay;         /* "", or the id of the only schedule that was run */
    const char *command;        /* repeats the exploration: "lab explore none --stock 3" */
    struct exploration *explored;
    double seconds;
    json_t *choices; /* of choices_json(), for JSON and the page; or NULL */

    /* Set by tell_schedule(), and some by tell_follow(). */
    char id[SCHEDULE_TEXT];
    unsigned anomalies; /* the bits of view_judge() */
    char summary[VIEW_TEXT];
    struct tell_step *steps;
    size_t count, room;
    unsigned running; /* the orders that have not ended: bits */
    bool has_failed;
};

/* Run explored->shortest again, and keep its steps. This sets the world's setup. Returns the end
 * and `at` of explore_replay(). */
__attribute__((warn_unused_result)) enum replay_end tell_schedule(struct tell *tell,
                                                                  struct model_world *world,
                                                                  struct view *view, size_t *at);
/* Run a part of a schedule, and keep the steps of its moves from number `first` on. See
 * explore_follow(). */
__attribute__((warn_unused_result)) enum replay_end tell_follow(
    struct tell *tell, struct model_world *world, const struct schedule *schedule, size_t first,
    struct model_move next[MODEL_MOVES], size_t *count);
void tell_free(struct tell *tell);

/* True if a terminal shows `to`, and may show colours. */
bool tell_is_coloured(FILE *to);
/* "OVERSELL TWIN" */
void tell_names(unsigned anomalies, char text[VIEW_TEXT]);
/* 1,234,567 */
#define TELL_NUMBER 32
void tell_number(uint64_t number, char text[TELL_NUMBER]);

/* For people: the bound, the result, and the schedule if there is one. */
void tell_text(const struct tell *tell, FILE *to);
/* The head of a schedule's table, and one of its lines. */
void tell_heads(const struct tell *tell, FILE *to, bool is_coloured);
void tell_line(const struct tell *tell, size_t step, FILE *to, bool is_coloured);
/* The anomalies, their meaning, and the summary. */
void tell_violation(const struct tell *tell, FILE *to);

/* Write one JSON object. 0, or -1 if there is no memory or it cannot be written. */
__attribute__((warn_unused_result)) int tell_json(const struct tell *tell, FILE *to);
/* The object of a step; NULL without memory. */
json_t *tell_json_step(const struct tell *tell, size_t at);
/* An array of the faults' names; NULL without memory. */
json_t *tell_json_faults(unsigned faults);
/* Write a page of one file that loads nothing. 0, or -1 as of tell_json(). */
__attribute__((warn_unused_result)) int tell_page(const struct tell *tell, FILE *to);

/* Show the steps one by one. A line on `from` goes on (Enter), goes back ("b") or ends ("q"). */
void tell_steps(const struct tell *tell, FILE *from, FILE *to);

#endif
