/* Shows a schedule's end to loadgen's judge as if it were a round: records of the customers'
 * answers, the ledger and the stock. So the rules that judge live runs also judge a schedule.
 *
 * A schedule has an order of events, but no times, so this module makes the times up. If an order
 * came after another order's answer, its request is sent after that answer. All other requests
 * overlap. The last customer comes alone, after all others have ended, and shows whether the shop
 * still sells.
 *
 * A cart is one request for each of the two products, with one answer. So each product is judged like
 * the product of a shop with two. Units that are left because the other product had fewer do not
 * count.
 *
 * The judge's own rule for STUCK needs a crowd and a clock. Here a schedule is STUCK if units are
 * left and the last customer heard neither "sold" nor "sold out". */
#ifndef LAB_VIEW_H
#define LAB_VIEW_H

#include "answers.h"
#include "explore.h"

/* Anomalies that no later move undoes. The other rules ask about a schedule's end. */
#define VIEW_LASTING (1U << ANOMALY_OVERSELL | 1U << ANOMALY_TWIN | 1U << ANOMALY_DUPLICATE)

/* `anomaly` is of enum anomaly or enum view_anomaly. */
const char *view_name(unsigned anomaly);
const char *view_meaning(unsigned anomaly);

#define VIEW_TEXT 1024

/* Judges schedules of one setup. It remembers the ends that it has judged. */
struct view;

/* NULL without memory. */
struct view *view_make(void);
void view_free(struct view *view); /* or NULL */
/* The anomalies of a schedule that has ended: bits of 1 << anomaly. It fits `judge` of an
 * exploration with the view as `data`. */
unsigned view_judge(void *view, const struct model_world *world);
/* explore() with a judge that calls view_judge() on this view. SKIPS-WORK and FREES-ANOTHERS are
 * often the nearest violation. If other anomalies exist, `shortest` is the nearest of those. */
__attribute__((warn_unused_result)) int view_explore(struct view *view,
                                                     struct exploration *exploration);
/* True: memory ran out, so a result of 0 may be wrong. */
bool view_has_failed(const struct view *view);
/* Judge it anew, and write the reason to `text`: a sentence or more with the orders' letters, or ""
 * if nothing is wrong. Returns the anomalies, as view_judge() does. */
unsigned view_tell(struct view *view, const struct model_world *world, char text[VIEW_TEXT]);

#endif
