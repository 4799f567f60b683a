/* A lock of another library, in a process of its own: it is told what to do, a line each, and
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
    uv_loop_t *loop; /* that runs while an answer is awaited: it may change in between */
};

/* Run `arguments`, up to a NULL, and wait until it says "ready". It ends with this process. */
void peer_start(struct peer *peer, uv_loop_t *loop, const char *const *arguments);
__attribute__((format(printf, 2, 3))) void peer_tell(struct peer *peer, const char *format, ...);
/* Wait for its next line, which must be this one. */
void peer_assert_answer(struct peer *peer, const char *answer);
/* It ends, because it is told nothing any more, or has ended already. */
void peer_end(struct peer *peer);

#endif
