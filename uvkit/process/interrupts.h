/* The signals that ask a program to end in good order: SIGINT, SIGTERM, SIGQUIT, and SIGHUP, which
 * a closing terminal sends to its programs. An ignored SIGHUP stays ignored: nohup(1) means it. */
#ifndef UVKIT_INTERRUPTS_H
#define UVKIT_INTERRUPTS_H

#include <stdbool.h>
#include <uv.h>

#define INTERRUPTS 4

struct interrupts {
    uv_signal_t handles[INTERRUPTS];
    size_t count; /* handles in use; 0: it watches none */
    bool has_hung_up;
    void (*on_signal)(void *data, int number);
    void *data;
};

/* `on_signal` runs on the loop for each signal. These handles do not keep the loop alive. Only the
 * first SIGHUP counts: the shell passes on its own, and the kernel sends another one when the shell
 * ends. */
void interrupts_watch(struct interrupts *interrupts, uv_loop_t *loop,
                      void (*on_signal)(void *data, int number), void *data);

/* For the end of the program, when its exit code is settled, or of a part of it. It blocks the
 * signals, which would kill the program from here on; the next interrupts_watch() gets them. May be
 * called again. The memory may go when the loop has run. */
void interrupts_close(struct interrupts *interrupts);

#endif
