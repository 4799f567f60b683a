/* Finds the place in a shared object, or in this program, at which a signal struck.
 *
 * A crash often strikes in a function that the object calls, such as strlen(). Then the place is
 * the call: the address nearest to the top of the stack that points into the object's code. */
#ifndef UVKIT_CRASH_H
#define UVKIT_CRASH_H

#include <stdbool.h>
#include <stdint.h>

struct crash {
    int signal;
    bool is_overflow; /* the stack is full */
    uintptr_t at;     /* in the object, as addr2line counts; 0: not in it */
};

/* Runs in a signal's handler, on a stack of its own. If it returns, the process dies by the signal;
 * only after SIGXCPU it goes on. */
typedef void (*crash_cb)(const struct crash *crash);

/* Call `cb` when SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT or SIGXCPU strikes. `symbol` is
 * any address in the object. For this thread, for the life of the process. 0, or -1 with errno. */
__attribute__((warn_unused_result)) int crash_watch(const void *symbol, crash_cb cb);
/* The likely mistake, in words. It may be called in a signal's handler. */
const char *crash_advice(int signal, bool is_overflow);

#endif
