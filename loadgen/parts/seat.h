/* One process of a run by parts: `loadgen send --plan -` on this machine, or on a host by ssh.
 *
 *     this process                              the part
 *     the plan, an empty line,
 *     the database or an empty line    ->       opens its connections
 *                                      <-       ready
 *     start NS, or start +NS           ->       sends; lines of progress on stderr
 *                                      <-       its history, and the end of its output
 *
 * If its input ends before, the part gives up requests without an answer soon, and writes its
 * history so far. So it ends with this process, and with the connection to its host. */
#ifndef LOADGEN_SEAT_H
#define LOADGEN_SEAT_H

#include "buffer.h"
#include "folder.h"
#include "host_list.h"
#include "record.h"
#include "why.h"

#include <stdbool.h>
#include <stdio.h>
#include <uv.h>

/* A part tells its progress four times a second, and then sends its history. */
#define SEAT_SILENT_S 15

struct seat {
    /* The caller sets these and zeroes the rest. */
    uv_loop_t *loop;
    size_t number, count;      /* part number of count, from 1 */
    const char *ssh, *program; /* the command that reaches hosts, and loadgen there */
    char host[HOST_TEXT];      /* "": this machine */
    char folder[FOLDER_PATH];  /* exists; its history comes here */
    bool is_realtime_wanted;
    struct recorder *recorder;     /* of the round: gets its times while it sends */
    void (*on_change)(void *data); /* it is ready, has told progress, or has ended */
    void (*on_line)(void *data, const char *line); /* of its stderr, with its name before it */
    void *data;

    /* To read. */
    bool is_ready, has_exited;
    unsigned silent_s;     /* seat_pass_second() counts them */
    unsigned open_handles; /* 0: its memory may go, after seat_free() */
    size_t in_flight, sold, by_outcome[RECORD_OUTCOME_COUNT]; /* by its last progress */

    /* Private. */
    int64_t code;
    int signal, error; /* error: its history could not be kept */
    char last[200];    /* line of its stderr */
    uv_process_t process;
    uv_pipe_t in, out, errors;
    uv_write_t plan, word;
    struct buffer said, told; /* of its stdout and stderr, still without the end of the line */
    FILE *history;
    char read[64 * 1024];
};

/* Starts it, and sends it the plan, which must live until it has ended. Returns 0, or libuv's code:
 * then nothing is open. */
__attribute__((warn_unused_result)) int seat_start(struct seat *seat, const char *plan,
                                                   size_t length);
/* Sends it the start. `text` must live until it has ended. */
void seat_tell(struct seat *seat, const char *text);
/* Ends its input. May be called at any time after seat_start(), and more than once. */
void seat_stop(struct seat *seat);
/* Call it each second after the start: kills a process that says nothing for SEAT_SILENT_S. */
void seat_pass_second(struct seat *seat);
/* Whether it has written a history; if not, tells in `why` how it ended. */
bool seat_has_sent(const struct seat *seat, struct why *why);
void seat_free(struct seat *seat);

#endif
