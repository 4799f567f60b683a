/* A lock of another library, in a process of its own. The process reads orders, a line each, and
 * answers each with a line. */
#ifndef LOCKKIT_TEST_PEER_H
#define LOCKKIT_TEST_PEER_H

#include "fixture.h"

#include <sys/types.h>

struct peer {
    pid_t pid; /* 0: it has ended */
    int to, from;
    char heard[256];
    size_t length;
    uv_loop_t *loop; /* runs while the test awaits an answer, and may change meanwhile */
};

/* Run `arguments`, up to a NULL, and wait until the process says "ready". It ends with this
 * process. */
void peer_start(struct peer *peer, uv_loop_t *loop, const char *const *arguments);
__attribute__((format(printf, 2, 3))) void peer_tell(struct peer *peer, const char *format, ...);
/* Wait for its next line, which must be `line`. */
void peer_assert_answer(struct peer *peer, const char *answer);
/* The process ends, because its input ends, or has ended already. */
void peer_end(struct peer *peer);

#endif
