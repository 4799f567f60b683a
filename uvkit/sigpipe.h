/* SIGPIPE, which would end the process when it writes to a peer that is gone: neither libuv nor
 * hiredis asks for the error alone. So what opens sockets with them ignores it, once for all. */
#ifndef UVKIT_SIGPIPE_H
#define UVKIT_SIGPIPE_H

#include <signal.h>
#include <stddef.h>

/* Unless the program handles the signal itself. */
static inline void sigpipe_ignore(void) {
    struct sigaction now;

    if (sigaction(SIGPIPE, NULL, &now) == 0 && now.sa_handler == SIG_DFL)
        (void)signal(SIGPIPE, SIG_IGN);
}

#endif
