/* The processes of --parts: each runs loadgen send on this machine, and sends one part of a plan.
 *
 *     crew     starts them                        start NS ->              (SIGINT, to stop)
 *     process  opens its connections,   <- ready              sends,  <- progress, and writes its
 *                                                                        part to a folder
 *
 * When this process dies, they get SIGTERM. */
#ifndef LOADGEN_CREW_H
#define LOADGEN_CREW_H

#include "buffer.h"
#include "fiber.h"
#include "folder.h"
#include "parts.h"
#include "record.h"

#include <stdbool.h>
#include <uv.h>

struct crew;

struct crew_seat {
    struct crew *crew;
    uv_process_t process;
    uv_pipe_t in, out, errors;
    struct buffer said, told; /* of its stdout and stderr, still without the end of the line */
    bool is_ready, has_exited;
    int64_t code;
    int signal;                                               /* the signal that ended it, or 0 */
    size_t in_flight, sold, by_outcome[RECORD_OUTCOME_COUNT]; /* by its last progress */
    char folder[FOLDER_PATH];
};

/* The caller owns it, zeroes it and fills in the first part. */
struct crew {
    uv_loop_t *loop;
    size_t count; /* of the parts, at least 2 */
    bool is_realtime_wanted;
    const char *directory;     /* of the files that they exchange; NULL: $TMPDIR, or /tmp */
    struct recorder *recorder; /* of the round: has their counts while they send */
    /* Called when recorder->start_ns is set, which is in the future; and for each line that a
     * process writes to stderr. */
    void (*on_start)(void *data);
    void (*on_line)(void *data, const char *line);
    void *data;

    /* Private. */
    struct crew_seat *seats;
    char folder[FOLDER_PATH - 32];
    bool is_stopped;
    unsigned open_handles;
    struct fiber_event ready, ended;
    char read[16 * 1024];
};

/* In a fiber: sends a round with its products, and adds all requests to its recorder (parts.h).
 * Returns 0; or -1 with the reason in `why`, if they could not start. */
__attribute__((warn_unused_result)) int crew_send(struct crew *crew, const struct options *options,
                                                  const struct plan *plan, struct round *round,
                                                  struct why *why);
/* Stops them: each gives up requests without an answer soon, and writes its part. May be called at
 * any time while crew_send() runs, and more than once. */
void crew_stop(struct crew *crew);

#endif
