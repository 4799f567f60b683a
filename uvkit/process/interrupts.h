/* The signals that ask a program to end in good order: SIGINT, SIGTERM, SIGQUIT, and SIGHUP, by
 * which a terminal that closes takes its programs along. An ignored SIGHUP stays ignored: nohup(1)
 * means it. */
#ifndef UVKIT_INTERRUPTS_H
#define UVKIT_INTERRUPTS_H

#include <stdbool.h>
#include <uv.h>

#define INTERRUPTS 4

struct interrupts {
    uv_signal_t handles[INTERRUPTS];
    size_t count; /* of these; 0: it watches none */
    bool has_hung_up;
    void (*on_signal)(void *data, int number);
    void *data;
};

/* `on_signal` runs for each signal, on the loop, which these handles do not keep alive. It runs for
 * the first SIGHUP alone: the shell passes on the one that it gets, and the kernel sends another
 * when the shell ends. */
void interrupts_watch(struct interrupts *interrupts, uv_loop_t *loop,
                      void (*on_signal)(void *data, int number), void *data);

/* For the end of the program, whose exit code is settled: it blocks the signals, which would kill
 * it from here on. May run again. The memory may go when the loop has run. */
void interrupts_close(struct interrupts *interrupts);

#endif
