/* The processes of --parts and --hosts: each sends one part of a plan (seat.h).
 *
 * They have the moment of their start in common: those of this machine by its clock, those of hosts
 * up to the time that a line needs to get there. */
#ifndef LOADGEN_CREW_H
#define LOADGEN_CREW_H

#include "fiber.h"
#include "parts.h"
#include "record.h"
#include "seat.h"

#include <stdbool.h>
#include <uv.h>

/* The caller owns it, zeroes it and fills in the first part. */
struct crew {
    uv_loop_t *loop;
    size_t count;              /* of the parts */
    const char *hosts;         /* host_list.h; "": all on this machine */
    const char *ssh, *program; /* for hosts: the command that reaches them, and loadgen there */
    const char *database;      /* for hosts: each asks it for its time; NULL: nothing is judged */
    bool is_realtime_wanted;
    const char *directory;     /* of the histories that they send; NULL: $TMPDIR, or /tmp */
    struct recorder *recorder; /* of the round: has their counts while they send */
    /* Called when recorder->start_ns is set, which is in the future; and for each line that a
     * process writes to stderr. */
    void (*on_start)(void *data);
    void (*on_line)(void *data, const char *line);
    void *data;

    /* Private. */
    struct seat *seats;
    char folder[FOLDER_PATH - 32];
    char *plan, start[48];
    size_t plan_length;
    bool is_stopped;
    struct fiber_event ready, ended;
};

/* In a fiber: sends a round with its products, and adds all requests to its recorder (parts.h).
 * Returns 0; or an exit code with the reason in `why`, if they could not start. */
__attribute__((warn_unused_result)) int crew_send(struct crew *crew, const struct options *options,
                                                  const struct plan *plan, struct round *round,
                                                  struct why *why);
/* Stops them: each gives up requests without an answer soon, and writes its part. May be called at
 * any time while crew_send() runs, and more than once. */
void crew_stop(struct crew *crew);
/* Removes the histories that have come so far. Only for a process that ends inside crew_send(). */
void crew_remove_folder(const struct crew *crew);

#endif
