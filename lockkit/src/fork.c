/* A handler in the child counts: looking at getpid() would cost a system call each time. */
#include "fork.h"

#include <pthread.h>
#include <stdatomic.h>

static atomic_uint depth;

static void on_forked(void) {
    (void)atomic_fetch_add(&depth, 1);
}

static void begin(void) {
    (void)pthread_atfork(NULL, NULL, on_forked); /* without memory no fork is noticed */
}

unsigned fork_depth(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    (void)pthread_once(&once, begin);
    return atomic_load(&depth);
}
