/* A schedule's end as loadgen's judge sees a round: records of what customers were told, the ledger
 * and the stock. So a schedule is VIOLATED by the very rules that judge live runs.
 *
 * Only the order of what happened is known of a schedule, so the times are made up: whoever came
 * after another had been answered is sent after that answer, and all others overlap. The last
 * customer, who comes alone when all has ended, shows what is left to be had.
 *
 * What the judge would need a crowd or a clock for is looked at here: STUCK is said when units are
 * left and the last customer was neither sold one nor told that there is none. */
#ifndef LAB_VIEW_H
#define LAB_VIEW_H

#include "anomaly.h"
#include "model.h"

/* Beside loadgen's anomalies: what no strategy may do. */
#define VIEW_ANOMALIES(X)                                                                          \
    X(NO_ANSWER, "NO-ANSWER", "a customer was told of a failure, and nothing had failed")          \
    X(ENDLESS, "ENDLESS", "an order does not end")

enum view_anomaly {
    VIEW_FIRST = ANOMALY_COUNT - 1,
#define X(id, name, text) VIEW_##id,
    VIEW_ANOMALIES(X)
#undef X
        VIEW_COUNT
};

/* Of enum anomaly or enum view_anomaly. */
const char *view_name(unsigned anomaly);
const char *view_meaning(unsigned anomaly);

#define VIEW_TEXT 1024

/* Judges schedules of one setup; what it judged before it knows again. */
struct view;

/* NULL without memory. */
struct view *view_make(void);
void view_free(struct view *view); /* or NULL */
/* The anomalies of a schedule that has ended: bits of 1 << anomaly. For `judge` of an exploration,
 * whose data is the view. */
unsigned view_judge(void *view, const struct model_world *world);
/* There was no memory to judge with, and a 0 may be wrong. */
bool view_has_failed(const struct view *view);
/* The same, judged anew; and why, in a sentence or more, with the orders' letters, "" when nothing
 * is wrong. */
unsigned view_tell(struct view *view, const struct model_world *world, char text[VIEW_TEXT]);

#endif
