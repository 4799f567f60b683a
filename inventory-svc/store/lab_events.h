/* The log of an instance under --lab: each failure on purpose and each raw lock command becomes a
 * row of the table lab_event, from which loadgen tells the story.
 *
 * A fiber with a connection of its own writes the rows in the order of their notes. Only a sale
 * that is about to fail waits for its row, and no sale shares its connections with the rows. */
#ifndef INVENTORY_LAB_EVENTS_H
#define INVENTORY_LAB_EVENTS_H

#include "store.h"

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#define LAB_KEY 128 /* of a lock command's key, with the NUL */

struct lab_events;

/* One event. Texts are copied, and cut where they are too long. NULL is "". */
struct lab_event {
    const char *product_id, *order_id;
    const char *kind; /* "failpoint" or "lock" */
    const char *name, *detail;
    const char *key, *token;
    const char *result; /* of a lock command: "yes", "no" or "unknown" */
    int64_t lasts_ms;   /* length of a pause, or the TTL that was set */
    int64_t ago_ns;     /* time since it happened: 0 for now */
    int64_t took_ns;    /* from sending a command to its result */
};

/* Open it, with a connection to the database. 0, or a negative libuv code, and then there is
 * nothing to undo. `instance` is not copied. */
__attribute__((warn_unused_result)) int lab_events_open(struct lab_events **events, uv_loop_t *loop,
                                                        const char *conninfo, const char *instance);
/* Write all notes, as far as the database answers, and close. `events` may be NULL. It is freed at
 * the next turn of the loop or later. */
void lab_events_close(struct lab_events *events);

/* Note an event that is over. It is written soon, or dropped with a line in the log if too many
 * wait. */
void lab_events_note(struct lab_events *events, const struct lab_event *event);
/* In a fiber: note an event that is about to happen, and wait until the database has it. False when
 * the database did not take it within two seconds; the log says why. */
bool lab_events_tell(struct lab_events *events, const struct lab_event *event);

#endif
