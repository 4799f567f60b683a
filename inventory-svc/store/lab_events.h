/* What an instance under --lab does on purpose, and to raw locks, told to the database: rows of the
 * table lab_event, from which loadgen tells what happened.
 *
 * Rows are written by a fiber of their own, over a connection of their own, in the order in which
 * they were noted: no sale waits for them but one that is about to fail, and none shares its
 * connections with them. */
#ifndef INVENTORY_LAB_EVENTS_H
#define INVENTORY_LAB_EVENTS_H

#include "store.h"

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#define LAB_KEY 128 /* of a lock command's key, with the NUL */

struct lab_events;

/* One event; texts are copied, and cut where they are too long. NULL is "". */
struct lab_event {
    const char *product_id, *order_id;
    const char *kind; /* "failpoint" or "lock" */
    const char *name, *detail;
    const char *key, *token;
    const char *result; /* of a lock command: "yes", "no" or "unknown" */
    int64_t lasts_ms;   /* of a pause; or the TTL that was set */
    int64_t ago_ns;     /* it happened: 0 for now */
    int64_t took_ns;    /* from sending a command to its result */
};

/* Open it, with a connection to the database. 0, or a negative libuv code, and then there is
 * nothing to undo. `instance` is not copied. */
__attribute__((warn_unused_result)) int lab_events_open(struct lab_events **events, uv_loop_t *loop,
                                                        const char *conninfo, const char *instance);
/* Write what is noted, as far as the database answers, and close. `events` may be NULL, and is gone
 * at the next turn of the loop or later. */
void lab_events_close(struct lab_events *events);

/* Note an event that is over: it is written soon. When too many wait, it is dropped, and the log
 * says so. */
void lab_events_note(struct lab_events *events, const struct lab_event *event);
/* In a fiber: note one that is about to happen, and wait until the database has it. False when it
 * did not take it in two seconds; the log says why. */
bool lab_events_tell(struct lab_events *events, const struct lab_event *event);

#endif
