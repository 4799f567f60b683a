/* How long the threads of a process group wait for a processor, as /proc shows it. On a machine that
 * others use a client may come too late although it did nothing wrong. */
#ifndef LOCKJUDGE_RUNQUEUE_H
#define LOCKJUDGE_RUNQUEUE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define RUNQUEUE_THREADS 512 /* more are not looked at */

struct runqueue {
    struct runqueue_thread {
        pid_t thread;
        int64_t waited_ns; /* since it began */
    } threads[RUNQUEUE_THREADS];
    size_t count;
};

/* Reads the threads of `group` now. A kernel that does not count shows none. */
void runqueue_read(struct runqueue *queue, pid_t group);
/* The longest that one thread waited between the two, in all. */
int64_t runqueue_waited_ns(const struct runqueue *before, const struct runqueue *after);

#endif
