/* A process that sends its part of each round, as another one tells it (workers.h).
 *
 *   parent   TASK ->                     GO ->                 (the next TASK)
 *   worker           opens connections, <- READY   sends, <- DONE
 *
 * STOP may come at any time. A worker whose parent ends ends with it. */
#ifndef LOADGEN_WORKER_H
#define LOADGEN_WORKER_H

#include "sender.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdnoreturn.h>

enum worker_word {
    WORKER_TASK, /* host, port, items; with it comes the fd of the memory for the records */
    WORKER_READY,
    WORKER_GO,   /* at_ns: the first planned moment, on clock_now_ns() */
    WORKER_STOP, /* at_ns: how long to wait for answers */
    WORKER_DONE, /* rc of sender_run(), is_realtime */
};

/* One packet, between two processes of one program. */
struct worker_message {
    enum worker_word word;
    int rc;
    int64_t at_ns;
    size_t items;
    int port;
    bool is_realtime;
    char host[256];
};

/* Send what comes over `socket` for ever. `like` has what is the same in all rounds: the plan, the
 * path, the limits of this worker, and which one of how many it is. */
noreturn void worker_run(int socket, const struct sender *like, bool is_realtime_wanted);

#endif
